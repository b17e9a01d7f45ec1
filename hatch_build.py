"""The README as a package index shows it, where no image and no document stands beside it."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Hands the README on."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": alone(text)}


def alone(text: str) -> str:
    """Return Markdown that can be read without the files that it names.

    A picture becomes the words that stand for it, a link to a file becomes its own words.

    >>> alone("![A curve](docs/curve.png) and [more](docs/more.md), [paper](https://doi.org/1)")
    '*A curve.* and more, [paper](https://doi.org/1)'
    """
    text = re.sub(r"!\[([^\]]*)\]\((?!https?:)[^)]*\)", r"*\1.*", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)
