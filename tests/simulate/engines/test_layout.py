"""Whatever a run is made of, the kernels meet one layout: compiling takes ten seconds each time."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import algorithm
from paofed.core.rules import Newest
from paofed.simulate.engines import Precision
from paofed.simulate.engines.fast import engine as fast
from paofed.simulate.engines.fast import kernels
from paofed.simulate.montecarlo import run
from paofed.world.realize import realize
from paofed.world.trace import Trace
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, write

U1 = algorithm("pao-fed-u1")
ODD: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "order": np.asfortranarray,
    "strides": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "read only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
}


def made_odd(trace: Trace, how: str) -> Trace:
    """The same trace in arrays that are laid out otherwise."""
    arrays = {field.name: getattr(trace, field.name) for field in fields(trace)}
    return replace(trace, **{name: ODD[how](array) for name, array in arrays.items() if array.size})


def test_the_kernels_are_compiled_once_per_precision(tmp_path: Path) -> None:
    readings = fleet(table(write(tmp_path / "t.csv", hourly(3, 80))))
    drawn = small_scenario()
    presence = np.ones((drawn.ticks, drawn.clients), order="F")
    law: dict[str, Any] = {"kind": "recorded", "file": str(tmp_path / "one.npy")}
    np.save(law["file"], presence)
    whole = replace(U1, name="whole", server=Newest(lambda _: 1))
    for precision in get_args(Precision):
        run(drawn, [whole], precision=precision)
        run(small_scenario(availability=law, delay=law), [U1], precision=precision)
        run(readings, [U1], precision=precision, cold_starts=1)
    for how in ODD:
        fast.replay(made_odd(realize(drawn), how), U1)
    assert len(kernels.advance.signatures) == 2
    assert len(kernels.evaluate.signatures) == 2
