"""Which kind of file somebody has named, before it is read."""

from pathlib import Path

from paofed.archives import names_of


def is_run(path: Path) -> bool:
    """Whether a file is what `paofed run --out` writes, rather than a fleet's model."""
    return {"models", "provenance"} <= names_of(path)
