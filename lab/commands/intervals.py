"""Count how often the interval around a server's prediction held what was then measured.

A fleet lives through each scenario in this process, and its server's model of every tick predicts
the readings of that tick before devices learn from them. The interval is to hold 90 % of them.
"""

import json
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paofed.cli.shared.progress import say
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.files import require_writable
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.reported import ReportedInterval
from paofed.live.protocol.coordinator import Coordinator, Effect, Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest, short
from paofed.live.protocol.quantity import Quantity
from paofed.table import COUNT, ShownColumn, ShownTable, number, numeric
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace

EXAMPLE = "python -m lab intervals --out intervals.csv"
_SCENARIOS = ("setting-1", "air-quality")
_QUARTERS = 4


class HeldRow(NamedTuple):
    """One quarter of a scenario's readings, in the order of time, or all of them."""

    scenario: str
    quarter: str
    readings: int
    held: float  # share of the readings that were inside their interval
    least: float  # the smallest such share of a device; `most` is the largest
    most: float
    half_width: float  # mean half width of the intervals, in scales of the target
    error: float  # root mean square error of the server's model


class _Judged(NamedTuple):
    """Readings in the order of time, (M,) each."""

    device: IntArray
    error: FloatArray
    half_width: FloatArray

    @property
    def held(self) -> BoolArray:
        inside: BoolArray = np.abs(self.error) <= self.half_width
        return inside

    def part(self, begin: int, end: int) -> "_Judged":
        now = slice(begin, end)
        return _Judged(self.device[now], self.error[now], self.half_width[now])


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--scenario", nargs="+", default=[*_SCENARIOS], metavar="SCENARIO",
        help=f"presets or files to live through (default: {' '.join(_SCENARIOS)})")  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="CSV file to write the rows to")
    add("--json", action="store_true", help="print the rows as JSON")


def run(args: Namespace) -> int:
    """Run a fleet over each scenario, then print."""
    if args.out is not None:
        require_writable(args.out)
    found: list[HeldRow] = []
    for name in args.scenario:
        say(f"{name}: a fleet lives through it")
        scenario = Scenario.load(name)
        found += held(scenario, realize(scenario))
    shown = ShownTable(_COLUMNS, found)
    if args.out is not None:
        shown.csv(args.out)
    print(json.dumps(shown.json()) if args.json else shown.text())
    return 0


_SHARE, _SIZE = numeric(lambda share: f"{share:.1%}"), numeric(lambda size: number(size, 3))
_COLUMNS = (
    ShownColumn("scenario", "scenario"),
    ShownColumn("quarter", "quarter"),
    ShownColumn("readings", "readings", COUNT),
    ShownColumn("held", "held", _SHARE),
    ShownColumn("least", "least", _SHARE),
    ShownColumn("most", "most", _SHARE),
    ShownColumn("half_width", "half width", _SIZE),
    ShownColumn("error", "error", _SIZE),
)


def held(scenario: Scenario, trace: Trace) -> list[HeldRow]:
    """Run a fleet over a trace; return a row for each quarter of it, and one for all."""
    judged = _lived(trace, agreed(scenario, trace))
    size = judged.device.size
    ends = [size * i // _QUARTERS for i in range(_QUARTERS + 1)]
    parts = {f"{i + 1}": judged.part(ends[i], ends[i + 1]) for i in range(_QUARTERS)}
    parts["all"] = judged
    return [_row(scenario.name, name, part) for name, part in parts.items()]


def _row(scenario: str, quarter: str, judged: _Judged) -> HeldRow:
    shares = [judged.held[judged.device == k].mean() for k in np.unique(judged.device)]
    return HeldRow(
        scenario=scenario,
        quarter=quarter,
        readings=judged.device.size,
        held=float(judged.held.mean()),
        least=float(min(shares)),
        most=float(max(shares)),
        half_width=float(judged.half_width.mean()),
        error=float(np.sqrt(np.mean(judged.error**2))),
    )


def agreed(scenario: Scenario, trace: Trace) -> Manifest:
    """Return the manifest of a fleet of today that learns what the scenario's devices learn."""
    linear = zip(trace.linear_low.tolist(), trace.linear_high.tolist(), strict=True)
    return Manifest(
        algorithm="pao-fed-u1",
        features=trace.features,
        shared=4,
        kernel_width=scenario.kernel_width or 1.0,  # any number will do: the trace has the map
        seed=0,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        tick_seconds=1.0,
        start=1.0,
        epoch=0,
        inputs=tuple(Quantity(name=f"x{i}") for i in range(trace.x.shape[2])),
        target=Quantity(name="y"),
        linear=tuple(linear) or None,
        personal=(trace.linear_low.size > 0 and scenario.personal) or None,
        start_model=short(trace.start) if trace.start.any() else None,
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )


def _lived(trace: Trace, manifest: Manifest) -> _Judged:
    server = Coordinator(manifest)
    # Large enough that no message counts as lost.
    never = {"patience": manifest.max_age + 1, "lost_after": trace.ticks}
    devices = [Edge(manifest, k, **never) for k in range(trace.clients)]
    for device in range(trace.clients):
        server.add(device)
    on_their_way: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    judged = []
    for n in range(trace.ticks):
        here = np.flatnonzero(trace.has_data[n])
        z, y = trace.fourier_map(trace.x[n, here]), trace.y[n, here]
        interval = ReportedInterval.of(FleetModel.of(server).levels)
        if interval is not None and here.size:
            half = np.full(here.size, interval.half_width)
            judged.append(_Judged(here, y - z @ server.w, half))
        for i, k in enumerate(here.tolist()):
            devices[k].learn_mapped(z[i], float(y[i]))
            message = devices[k].contact(float(n)) if trace.available[n, k] else None
            if message is not None:
                on_their_way[n + int(trace.delay[n, k])].append((k, message))
        for k, message in on_their_way.pop(n, []):
            _deliver(devices, server.receive(k, message), n)
        _deliver(devices, [*server.committed()], n)
        server.close(n + 1)
    return _Judged(*map(np.concatenate, zip(*judged, strict=True)))


def _deliver(devices: list[Edge], effects: list[Effect], tick: int) -> None:
    for effect in effects:
        if isinstance(effect, Send):
            devices[effect.device].receive(effect.payload, float(tick))
