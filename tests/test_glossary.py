"""Every page leads to what its words mean: where a word of the glossary is used, it is a link."""

import re

from tests.test_docs import DOCUMENTS

GLOSSARY = "docs/how-it-works.md"
# The words as running text has them; other things than the Fourier map are called a map as well.
WORDS = {
    "dB": r"\bdB\b",
    "tick": r"\bticks?\b",
    "world": r"\bworlds?\b",
    "contact": r"\bcontacts?\b",
    "window": r"\bwindows?\b",
    "map": r"\bFourier maps?\b",
    "tariff": r"\btariffs?\b",
}
WITHOUT_PROSE = ("README.md", "docs/index.md", GLOSSARY)
PAGES = [name for name in DOCUMENTS if name not in WITHOUT_PROSE]
# No running text: blocks; indented code, headings, tables, pictures, contents; code in a line.
NO_PROSE = (r"^```(?s:.*?)^```$", r"^(?:    |#|\||!\[|\d+\. \[).*$", r"`[^`]*`")


def unlinked(text: str, word: str) -> re.Match[str] | None:
    """Return where a word comes first in running text, if neither it nor a later one is a link."""
    prose = text
    for pattern in NO_PROSE:
        prose = re.sub(pattern, lambda found: " " * len(found[0]), prose, flags=re.MULTILINE)
    first = re.search(WORDS[word], prose)
    if first is None or f"](how-it-works.md#{word.lower()})" in prose:
        return None
    links = (link.span() for link in re.finditer(r"\[[^\]]*\]\([^)]*\)", prose))
    return None if any(start <= first.start() < end for start, end in links) else first


def test_words_lead_to_the_glossary_which_explains_them() -> None:
    for word in WORDS:
        assert f"\n### {word}\n".lower() in DOCUMENTS[GLOSSARY].lower()
        assert [page for page in PAGES if unlinked(DOCUMENTS[page], word)] == [], word


def test_a_word_without_a_link_is_found() -> None:
    assert unlinked("`tick` is code.\n\n| tick |\n\nOne tick, [two](x.md).", "tick")
    assert not unlinked("One [tick](x.md), two ticks.", "tick")
    assert not unlinked("`tick` is code.", "tick")
