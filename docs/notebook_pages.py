"""A small Sphinx extension: Jupyter notebooks (.ipynb) are pages of the site, as they are saved.

No notebook is run. Its text becomes Markdown and its code blocks of Python; of each output the site
shows the picture where there is one, else the plain text.
"""

import json
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


class NotebookParser(MystParser):
    """Reads a notebook as Markdown."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Fill the document with the notebook's cells."""
        super().parse(markdown(json.loads(inputstring)), document)


def markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook, given as the JSON of format 4, as Markdown."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    return [_fenced("python", source), *map(_output, cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f"![](data:image/png;base64,{''.join(data['image/png']).replace(chr(10), '')})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return _fenced("text", text.rstrip("\n")) if text else ""


def _fenced(language: str, text: str) -> str:
    return f"``````{language}\n{text}\n``````"


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx that files with the suffix .ipynb are read by NotebookParser."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
