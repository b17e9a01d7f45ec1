"""The documents as a site: built without a warning, with search, and nothing from a network."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import paofed
from docs.notebook_pages import markdown
from tests.effort import long

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    strictly = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    built = subprocess.run(  # noqa: S603 (our own documents)
        [sys.executable, "-m", "sphinx", *strictly, "--doctree-dir", folder / "trees",
         "docs", folder / "site"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder / "site"


@long
def test_every_document_is_a_page_that_can_be_found(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index[index.index("{") : index.rindex("}") + 1])
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert names <= set(found["docnames"])
    assert {"newcom", "quarantin"} <= set(found["terms"])  # stems, as Sphinx keeps them


@long
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    listed = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    rooms = [name for name in paofed.__all__ if f"paofed.{name}" in sys.modules]
    public = [f"paofed.{name}" for name in paofed.__all__]
    for room in rooms:
        public += [f"paofed.{room}.{name}" for name in import_module(f"paofed.{room}").__all__]
    assert [name for name in public if name not in listed] == []


@long
def test_pages_load_nothing_from_a_network(site: Path) -> None:
    for page in site.glob("*.html"):
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
