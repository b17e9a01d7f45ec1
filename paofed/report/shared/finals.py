"""The table of final errors and traffic."""

from paofed.core.tariffs import PAYLOAD, Tariff
from paofed.report.shared.captions import rank
from paofed.simulate.results.result import Result
from paofed.table import COUNT, ERROR, NAME, NUMBER, Column, Table

COORDINATES = (
    Column("sent_up", "coordinates up", COUNT),
    Column("sent_down", "coordinates down", COUNT),
)
MESSAGES = (
    Column("messages_up", "messages up", COUNT),
    Column("messages_down", "messages down", COUNT),
)
TRAFFIC = (
    *COORDINATES,
    *MESSAGES,
    Column("wire_up", "bytes up", COUNT),
    Column("wire_down", "bytes down", COUNT),
)


def finals(result: Result, tariff: Tariff | None = None) -> Table:
    """Return final errors and traffic, the best first; without a tariff, as the paper counts."""
    lines = sorted(result.summary(tariff or PAYLOAD), key=lambda line: rank(line["db"]))
    columns = (
        Column("algorithm", "algorithm", NAME),
        Column("db", "error", ERROR, "dB", best="least"),
        Column("standard_error", "s.e.", NUMBER),
        *(COORDINATES if tariff is None else TRAFFIC),
    )
    return Table(columns, [[line[column.keys[0]] for column in columns] for line in lines])
