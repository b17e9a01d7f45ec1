"""A table that somebody recorded: one row per tick, one column per client."""

import warnings
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from paofed.archives import load_array
from paofed.errors import FileError
from paofed.world.value import Value


def _named(file: str) -> str:
    if "\0" in file:
        raise ValueError("expected the name of a file, without NUL characters")
    return file


class Recorded(Value):
    """What really happened, from a `.csv` (numbers only, no header) or `.npy` file."""

    kind: Literal["recorded"] = "recorded"
    file: Annotated[str, AfterValidator(_named)]
    most: ClassVar[int] = 2**31 - 1  # the largest entry that is allowed

    def table(self, ticks: int, clients: int) -> NDArray[np.int64]:
        """Read the table and refuse one that does not fit the scenario."""
        path = Path(self.file)
        try:
            raw = load_array(path) if path.suffix == ".npy" else _read_csv(path)
        except FileError:
            raise
        except FileNotFoundError:
            raise FileError(f"{path} does not exist") from None
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be read as a table of numbers: {error}") from None
        if raw.shape != (ticks, clients):
            raise FileError(
                f"{path} has shape {raw.shape}: expected one row per tick and one column per "
                f"client, ({ticks}, {clients})"
            )
        with np.errstate(invalid="ignore"):  # infinity has no remainder: the next line refuses it
            whole = raw.dtype.kind in "biuf" and bool(((raw >= 0) & (raw % 1 == 0)).all())
        if not whole:
            raise FileError(f"{path} holds something else than whole numbers from 0 on")
        if raw.max() > self.most:
            raise FileError(f"{path} holds {raw.max():g}: expected at most {self.most}")
        return raw.astype(np.int64)


def _read_csv(path: Path) -> NDArray[Any]:
    with warnings.catch_warnings():
        # NumPy warns of an empty file, which its shape already shows
        warnings.simplefilter("ignore", UserWarning)
        return np.loadtxt(path, delimiter=",", ndmin=2)
