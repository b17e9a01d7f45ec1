"""The table of final errors and traffic."""

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.shared.captions import rank
from paofed.simulate.results.result import Result
from paofed.table import COUNT, ERROR, NAME, NUMBER, ShownColumn, ShownTable

COORDINATES = (
    ShownColumn("sent_up", "coordinates up", COUNT),
    ShownColumn("sent_down", "coordinates down", COUNT),
)
MESSAGES = (
    ShownColumn("messages_up", "messages up", COUNT),
    ShownColumn("messages_down", "messages down", COUNT),
)
TRAFFIC = (
    *COORDINATES,
    *MESSAGES,
    ShownColumn("wire_up", "bytes up", COUNT),
    ShownColumn("wire_down", "bytes down", COUNT),
)


def finals(result: Result, tariff: Tariff | None = None) -> ShownTable:
    """Return final errors and traffic, the best first; without a tariff, as the paper counts."""
    lines = sorted(result.summary(tariff or PAYLOAD), key=lambda line: rank(line["db"]))
    columns = (
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("db", "error", ERROR, "dB", best="least"),
        ShownColumn("standard_error", "s.e.", NUMBER),
        *(COORDINATES if tariff is None else TRAFFIC),
    )
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])
