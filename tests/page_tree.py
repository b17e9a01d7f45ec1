"""A page as a tree of its elements, for tests that read it."""

from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

# A section has the numbers of another study, which tests/test_compared.py holds.
UNREAD = {"svg", "pre", "details", "style", "title", "script", "section"}


class Node:
    """An element of a page."""

    def __init__(self, tag: str, attributes: Iterable[tuple[str, str | None]] = ()) -> None:
        self.tag = tag
        self.attributes = {name: value or "" for name, value in attributes}
        self.children: list[Node | str] = []

    def all(self, *tags: str, but: Iterable[str] = ()) -> Iterator["Node"]:
        """The elements in it with these tags (or any), in order, outside of others."""
        for child in self.children:
            if isinstance(child, Node) and child.tag not in but:
                if not tags or child.tag in tags:
                    yield child
                yield from child.all(*tags, but=but)

    def text(self, but: Iterable[str] = UNREAD) -> str:
        """What is written in it, spaces made one."""
        pieces = [
            child if isinstance(child, str) else child.text(but)
            for child in self.children
            if isinstance(child, str) or child.tag not in but
        ]
        return " ".join("".join(pieces).split())


class _Builder(HTMLParser):
    """Builds nodes; whatever is opened must be closed, save what HTML never closes."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Node("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, attrs)
        self._open[-1].children.append(node)
        if tag not in ("meta", "br", "hr", "img", "link", "input", "wbr"):
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def parse(text: str) -> Node:
    builder = _Builder()
    builder.feed(text)
    builder.close()
    return builder.root
