"""What to cite: BibTeX entries of paofed, of the paper it implements, and of the methods that ran.

All entries are in `paofed/algorithms/references.bib`. The keywords of an entry are the methods that
it describes; the entries with the keyword `paofed` are for every result.
"""

import re
from collections.abc import Iterable
from importlib.resources import files

from paofed.algorithms.outside import split

ALWAYS = "paofed"
_KEYWORDS = re.compile(r"^  keywords = \{(.*)\}$", re.MULTILINE)


def entries() -> dict[str, frozenset[str]]:
    """Return all entries as they are in the file, each with its keywords."""
    text = files("paofed.algorithms").joinpath("references.bib").read_text(encoding="utf-8")
    return {one: _keywords(one) for one in text.strip().split("\n\n")}


def cited(methods: Iterable[str], version: str) -> str:
    """Return the entries for some methods of a version of paofed; unpublished ones are a comment.

    A method is named as results name it, as in pao-fed-u1:shared=2 or mine.py:block:every=5.
    """
    rows = {split(name)[0]: None for name in methods}
    wanted = {ALWAYS, *rows}
    found = [entry for entry, about in entries().items() if about & wanted]
    known = frozenset[str]().union(*map(_keywords, found))
    own = [
        f"% {row}: no publication is known here, cite its own" for row in rows if row not in known
    ]
    return "\n\n".join([*found, *own]).replace("{VERSION}", f"{{{version}}}") + "\n"


def _keywords(entry: str) -> frozenset[str]:
    found = _KEYWORDS.search(entry)
    return frozenset(found[1].split(", ")) if found else frozenset()
