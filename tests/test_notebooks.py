"""The notebooks of docs/notebooks run from top to bottom, each in a kernel of its own."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt

from tests.effort import long

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHEAPEST = ROOT / "docs" / "notebooks" / "fleet-journal.ipynb"

DRAWS = re.compile(
    r"\.plot\(|subplots\(|^figures\.(?!save)", re.MULTILINE
)  # a cell shows a picture


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def test_the_code_of_one_runs_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kernel, which takes seconds to start."""
    monkeypatch.chdir(tmp_path)
    plt.close("all")  # of other tests
    code = ["".join(cell["source"]) for cell in cells(CHEAPEST) if cell["cell_type"] == "code"]
    try:
        exec(compile("\n".join(code), CHEAPEST.name, "exec"), {})  # noqa: S102 (our own notebook)
        drawn = [plt.figure(number).axes for number in plt.get_fignums()]
    finally:
        plt.close("all")
    assert len(drawn) == sum(bool(DRAWS.search(cell)) for cell in code) > 0
    assert all(drawn)


@long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
# nbclient's own: they are about its event loop, and nothing of ours.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(notebook, as_version=4)
    nbformat.validate(read)
    client = NotebookClient(read, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    for cell in (cell for cell in read.cells if cell.cell_type == "code"):
        assert [one.text for one in cell.outputs if one.get("name") == "stderr"] == []
        if DRAWS.search(cell.source):
            assert any("image/png" in one.get("data", {}) for one in cell.outputs), cell.source


def test_they_are_kept_without_outputs() -> None:
    """A change of the text is then a change of the text alone, and no number grows old."""
    for notebook in NOTEBOOKS:
        for cell in cells(notebook):
            assert re.fullmatch(rf"{notebook.stem}-\d+", cell["id"])
            if cell["cell_type"] == "code":
                assert (cell["outputs"], cell["execution_count"]) == ([], None)
        written = json.dumps(json.loads(notebook.read_text()), indent=1, ensure_ascii=False) + "\n"
        assert notebook.read_text(encoding="utf-8") == written
