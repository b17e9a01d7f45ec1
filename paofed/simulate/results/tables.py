"""A result as tidy tables: errors with the traffic beside them, one observation in each row."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff
from paofed.errors import InputError, needs_extra, unknown
from paofed.table import ShownTable, in_files

if TYPE_CHECKING:
    from paofed.simulate.results.result import Result

TableOf = Literal["curves", "run_curves", "runs", "finals"]
Columns = dict[str, list[Any]]


def table_of(result: "Result", of: TableOf, tariff: Tariff) -> Columns:
    """Return the columns of a table by name; the rows go algorithm by algorithm.

    `of` says which table: "curves" has a row for each point of each mean curve, "run_curves" one
    for each point of each run's curve, "runs" one for the end of each run, and "finals" one for
    each algorithm.
    """
    if of not in _TABLES:
        raise InputError(unknown("table", str(of), get_args(TableOf)))
    parts = [_TABLES[of](result, name, tariff) for name in result.algorithms]
    rows = [max(len(np.atleast_1d(values)) for values in part.values()) for part in parts]
    return {
        column: [
            value
            for part, count in zip(parts, rows, strict=True)
            for value in np.broadcast_to(np.asarray(part[column], dtype=object), count).tolist()
        ]
        for column in parts[0]
    }


def tidy(result: "Result", of: TableOf, tariff: Tariff) -> ShownTable:
    """Return the same table in rows, as files have it."""
    columns = table_of(result, of, tariff)
    return in_files(columns, zip(*columns.values(), strict=True))


def _curves(result: "Result", name: str, tariff: Tariff) -> Mapping[str, Any]:
    (mse, mse_se), (db, db_se) = result.curve(name), result.curve_db(name)
    return {
        "algorithm": name,
        "tick": result.ticks.tolist(),
        "runs": result.runs,
        **_numbers(mse=mse, mse_se=mse_se, db=db, db_se=db_se),
        **_numbers(**result.mean_sent(name, tariff)),
        "tariff": tariff.name,
    }


def _run_curves(result: "Result", name: str, tariff: Tariff) -> Mapping[str, Any]:
    mse, sent = result.run_curves(name), result.run_sent_by_column(name, tariff)
    points = result.ticks.size
    return {
        "algorithm": name,
        "world": [world for world, _ in result.places for _ in range(points)],
        "run": [run for _, run in result.places for _ in range(points)],
        "tick": result.ticks.tolist() * result.runs,
        **_numbers(mse=mse.ravel(), db=decibels(mse).ravel()),
        **_numbers(**{column: counts.ravel() for column, counts in sent.items()}),
        "tariff": tariff.name,
    }


def _runs(result: "Result", name: str, tariff: Tariff) -> Mapping[str, Any]:
    mse, sent = result.run_finals(name), result.run_sent_by_column(name, tariff)
    told = {
        "algorithm": name,
        "world": [world for world, _ in result.places],
        "run": [run for _, run in result.places],
        **_numbers(mse=mse, db=decibels(mse)),
    }
    if "device" in result.judged_models:
        device = result.run_finals(name, "device")
        told |= _numbers(device_mse=device, device_db=decibels(device))
    ends = {column: counts[:, -1] for column, counts in sent.items()}
    return {**told, **_numbers(**ends), "tariff": tariff.name}


def _finals(result: "Result", name: str, tariff: Tariff) -> Mapping[str, Any]:
    final, sent = result.final(name), result.mean_sent(name, tariff)
    told = {"algorithm": name, "runs": result.runs, "db": final.db, "db_se": final.standard_error}
    if "device" in result.judged_models:
        device = result.final(name, "device")
        told |= {"device_db": device.db, "device_db_se": device.standard_error}
    ends = {column: float(counts[-1]) for column, counts in sent.items()}
    return {**told, **ends, "tariff": tariff.name, "diverged_runs": result.diverged(name)[0]}


def _numbers(**arrays: Any) -> Columns:
    return {name: np.asarray(array, dtype=np.float64).tolist() for name, array in arrays.items()}


_TABLES: Mapping[str, Callable[["Result", str, Tariff], Mapping[str, Any]]] = {
    "curves": _curves,
    "run_curves": _run_curves,
    "runs": _runs,
    "finals": _finals,
}


def to_xarray(result: "Result", tariff: Tariff) -> Any:
    """Return the curves of all runs, with the traffic until each point, as a dataset of xarray.

    Its dimensions are algorithm, run and tick; a run also has the number of its world.
    """
    with needs_extra("to_xarray"):
        import xarray as xr
    names, axes = result.algorithms, ("algorithm", "run", "tick")
    sent = [result.run_sent_by_column(name, tariff) for name in names]
    mse = np.moveaxis(result.mse, 1, 0)
    curves = {"mse": mse, "db": decibels(mse)}
    curves |= {column: np.stack([one[column] for one in sent]) for column in sent[0]}
    return xr.Dataset(
        {column: (axes, values) for column, values in curves.items()},
        coords={
            "algorithm": names,
            "run": result.provenance["runs_finished"],
            "tick": result.ticks,
            "world": ("run", [world for world, _ in result.places]),
        },
        attrs={"tariff": tariff.name, "provenance": json.dumps(result.provenance)},
    )
