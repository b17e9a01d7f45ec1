"""What every page must have, whatever it is about: an order, links, heads, titles, and letters."""

import re
from collections.abc import Sequence

from tests.page_tree import Node

WIDE = 960  # pixels that a page gives to its figures on a desk
SMALLEST = 11.0  # pixels of letters in a figure


def assert_sound(page: Node, second: str = "What to do") -> None:
    """Hold a page to what all pages share; `second` is the section after the lead."""
    (body,) = page.all("body")
    nodes = [child for child in body.children if isinstance(child, Node)]
    _assert_order(nodes, second)
    _assert_contents(page)
    for head in page.all("th"):
        assert head.attributes.get("scope") in ("col", "row", "colgroup"), head.text()
    for figure in page.all("figure"):
        _assert_figure(figure)
    _assert_schemes(page)


def _assert_order(nodes: Sequence[Node], second: str) -> None:
    """A sentence and a picture come before any section, and what to do is the first of these."""
    tags = [node.tag for node in nodes]
    first = tags.index("h2")
    assert tags[:2] == ["h1", "nav"]
    lead = [node for node in nodes[:first] if node.attributes.get("class") == "lead"]
    assert [len(node.text()) > 20 for node in lead] == [True]
    assert "figure" in tags[:first]
    assert nodes[first].text() == second


def _assert_contents(page: Node) -> None:
    (nav,) = page.all("nav")
    links = [(link.attributes["href"], link.text()) for link in nav.all("a")]
    headings = [(f"#{node.attributes['id']}", node.text()) for node in page.all("h2")]
    assert links == headings
    assert len(set(links)) == len(links)


def _assert_figure(figure: Node) -> None:
    """A drawing has a title and a description, and letters that can be read on a desk."""
    (drawing,) = figure.all("svg")
    assert drawing.attributes["role"] == "img"
    for tag in ("title", "desc"):
        (said,) = (c for c in drawing.children if isinstance(c, Node) and c.tag == tag)
        assert len(said.text(but=())) > 10
    sizes = [
        float(size)
        for node in drawing.all("text", "tspan")
        for size in re.findall(r"font-size: ([\d.]+)px", node.attributes.get("style", ""))
    ]
    points = float(drawing.attributes["viewbox"].split()[2])
    (rem,) = re.findall(r"max-width: ([\d.]+)rem", drawing.attributes["style"])
    assert len(sizes) > 3
    assert min(sizes) * min(16 * float(rem), WIDE) / points >= SMALLEST


def _assert_schemes(page: Node) -> None:
    (style,) = (node for node in page.all("style") if "--page" in node.text(but=()))
    rules = style.text(but=())
    assert "@media screen and (prefers-color-scheme: dark)" in rules
    assert "@media print" in rules
