"""The documents as a site: built without a warning, with search, and nothing from a network."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from sphinx.util.inventory import InventoryFile

import paofed
from docs.notebook_pages import markdown
from tests.effort import long

ROOT = Path(__file__).parents[1]


@long
def test_the_site(tmp_path: Path) -> None:
    """Built once, since that takes long: what is asked of it stands below, one question each."""
    site = tmp_path / "site"
    strictly = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    built = subprocess.run(  # noqa: S603 (our own documents)
        [sys.executable, "-m", "sphinx", *strictly, "--doctree-dir", tmp_path / "trees",
         "docs", site],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    every_document_is_a_page_that_can_be_found(site)
    every_public_name_is_in_the_reference(site)
    pages_load_nothing_from_a_network(site)


def every_document_is_a_page_that_can_be_found(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index[index.index("{") : index.rindex("}") + 1])
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert names <= set(found["docnames"])
    assert {"newcom", "quarantin"} <= set(found["terms"])  # stems, as Sphinx keeps them


def every_public_name_is_in_the_reference(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    listed = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    public = [f"paofed.{name}" for name in paofed.__all__]
    rooms = [name for name in paofed.__all__ if isinstance(getattr(paofed, name), ModuleType)]
    for room in rooms:
        public += [f"paofed.{room}.{name}" for name in getattr(paofed, room).__all__]
    assert [name for name in public if name not in listed] == []


def pages_load_nothing_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"([^\"]*)\"", text)
        assert [source for source in loaded if "//" in source] == [], page.name


def test_a_notebook_is_a_page() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": ["print(1)"],
         "outputs": [{"output_type": "stream", "text": ["1\n"]},
                     {"output_type": "display_data",
                      "data": {"image/png": "QUJD\nRA==", "text/plain": "<Figure>"}}]},
    ]  # fmt: skip
    assert markdown({"cells": cells}) == (
        "# Title\ntext\n\n``````python\nprint(1)\n``````\n\n``````text\n1\n``````\n\n"
        "![](data:image/png;base64,QUJDRA==)"
    )
