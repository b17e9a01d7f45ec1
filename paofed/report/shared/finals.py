"""The table of final errors and traffic."""

import math
from collections.abc import Mapping

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.shared.captions import best_places, rank
from paofed.report.shared.markup import code, number, table
from paofed.simulate.results.result import Result

_IN_COORDINATES = {"coordinates up": "sent_up", "coordinates down": "sent_down"}
TRAFFIC = {
    **_IN_COORDINATES,
    "messages up": "messages_up",
    "messages down": "messages_down",
    "bytes up": "wire_up",
    "bytes down": "wire_down",
}


def finals(result: Result, tariff: Tariff | None = None) -> str:
    """Return final errors and traffic, the best first; without a tariff, as the paper counts."""
    counts = _IN_COORDINATES if tariff is None else TRAFFIC
    lines = sorted(result.summary(tariff or PAYLOAD), key=lambda line: rank(line["db"]))
    rows = [
        [
            code(line["algorithm"]),
            *(number(line[key]) for key in ("db", "standard_error")),
            *sent(line, counts),
        ]
        for line in lines
    ]
    header = ["algorithm", "error (dB)", "s.e.", *counts]
    best = {(j, 1) for j in best_places([line["db"] for line in lines])}
    return table(header, rows, range(1, len(header)), best)


def sent(line: Mapping[str, float], counts: Mapping[str, str]) -> list[str]:
    """Return what one algorithm sent in a run; a dash where an earlier version did not count it."""
    return ["–" if math.isnan(line[key]) else f"{line[key]:,.0f}" for key in counts.values()]
