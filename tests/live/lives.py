"""What happens to the devices of docs/vectors/lives.json, event by event.

An event is a time by the device's own clock, a word and numbers: `learn` (inputs, target),
`predict` (inputs), `contact`, `reply` (the server's tick, the tick it answers), `answer` (to a
read: the server's tick), `model` (tick), `reread` (epoch), `adopt` (which of the changes),
`restart`. Where the time of a sample matters it comes first: `measure` (time, inputs, target),
`foresee` (time, inputs), `remember` (time, inputs, target; None is what is missing).
"""

from dataclasses import dataclass, field
from typing import Any

from paofed.core.columns.calendar import Calendar
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import Seen
from tests.live.fleets import manifest

Event = tuple[Any, ...]


@dataclass(frozen=True)
class Life:
    """A device and what happens to it."""

    about: str
    manifest: Manifest
    events: tuple[Event, ...]
    device: int = 3
    changes: tuple[dict[str, Any], ...] = field(default=())


_RANGED = {
    "inputs": (
        Quantity(name="a", low=-5.0, high=5.0),
        Quantity(name="b", offset=0.5, scale=2.0),
    ),
    "target": Quantity(name="y", offset=10.0, scale=4.0, high=50.0),
}

_JOINED: tuple[Event, ...] = (
    (0.0, "contact"),
    (0.1, "model", 7),
    (0.2, "learn", 0.3, 1.7, 11.0),
    (0.2, "predict", 0.3, 1.7),
)


def _told(at: float) -> tuple[Event, ...]:
    """Something is learned, and a contact made."""
    return (at, "learn", 0.3, 1.7, 11.0), (at, "contact")


_USUAL = Life(
    "joins, is answered, loses messages, hears late ones, and repeats",
    manifest(**_RANGED),
    (
        (0.0, "learn", 0.3, 1.7, 11.0),
        (0.5, "contact"),  # a hello, not answered
        (1.5, "contact"),
        (1.6, "model", 100),
        (1.7, "learn", 0.3, 1.7, 11.0),
        (1.8, "learn", -1.0, 0.2, 6.5),
        (1.9, "contact"),
        (2.0, "reply", 100, 100),
        (2.1, "contact"),  # nothing more in this tick
        (2.7, "learn", 0.6, -2.0, 12.5),
        (2.7, "contact"),  # lost
        (2.8, "contact"),  # the same again
        (3.7, "learn", 0.1, 0.1, 9.0),
        (3.7, "contact"),
        *_told(4.7),
        (4.8, "reply", 103, 102),  # the one of before
        (4.9, "reply", 102, 101),  # later still: not merged
        (5.0, "reply", 103, 103),
        (5.1, "learn", 9.0, 0.0, 11.0),  # not plausible
        (5.1, "learn", 0.0, 0.0, 51.0),
        (5.2, "predict", 0.0, 0.0),
        *_told(5.7),
        (5.8, "reply", 110, 104),  # the server is ahead of the device's clock
        *_told(6.0),
        (6.1, "reply", 109, 110),  # the device is ahead of the server
    ),
)

_SURE = Life(
    "is in no doubt any more, 256 ticks after it joined: replies confirm repeats, too",
    manifest(**_RANGED),
    (
        *_JOINED,
        (300.2, "contact"),  # lost
        (301.2, "learn", 0.3, 1.7, 11.0),
        (301.2, "contact"),  # lost
        *_told(302.2),
        (302.3, "reply", 309, 309),
        *_told(303.2),
        *_told(304.2),
        (304.3, "contact"),
        *_told(305.3),
        (305.4, "reply", 315, 311),  # of what it carried, one was too old by then
        *(event for tick in range(6) for event in _told(306.2 + tick)),
    ),
)

_LOST = Life(
    "is not answered for long and set back; loses power; is told to read other manifests",
    manifest(**_RANGED),
    (
        *_JOINED,
        *(event for tick in range(11) for event in _told(1.0 + tick)),
        (12.5, "contact"),  # more than max_age + 5 of them: a hello
        (12.6, "model", 12),
        (12.7, "contact"),
        *_told(13.7),
        (13.8, "learn", 1.0, 1.0, 14.0),
        (13.9, "restart"),
        (0.0, "predict", 1.0, 1.0),
        (0.1, "contact"),  # a hello: the clock is gone
        (0.2, "model", 15),
        (0.3, "contact"),
        (0.4, "reply", 15, 15),
        *_told(1.4),
        (1.5, "reread", 3),  # its own epoch: nothing new
        (1.6, "reread", 4),
        (1.7, "learn", 1.0, 1.0, 14.0),
        (2.0, "adopt", 0),
        (2.1, "contact"),
        (2.2, "model", 17),  # it has a model already
        (3.3, "contact"),
        (3.4, "reply", 18, 18),
        (4.0, "adopt", 1),  # another lineage
        (4.1, "predict", 1.0, 1.0),
        (4.2, "contact"),
        (4.3, "model", 19),
        (4.4, "predict", 1.0, 1.0),
        *_told(5.4),
        (6.0, "adopt", 2),  # another map
        (6.1, "contact"),
        (6.2, "model", 21),
        *_told(7.3),
    ),
    changes=(
        {"step_size": 0.2, "shared": 3},
        {"lineage": 1},
        {"seed": 2, "algorithm": "pao-fed-c2"},
    ),
)

_WILD = Life(
    "measures nonsense where nothing is implausible: its model cannot travel, and it joins anew",
    manifest(),
    (
        *_JOINED,
        (1.2, "contact"),
        (1.3, "reply", 8, 8),
        (1.4, "learn", 0.3, 1.7, 1e9),
        (1.5, "predict", 0.3, 1.7),
        (2.2, "contact"),
        (2.3, "model", 9),
        (2.4, "learn", 0.3, 1.7, 11.0),
        (3.3, "contact"),
    ),
)

_WHOLE = Life(
    "shares its whole model",
    manifest(algorithm="online-fedsgd", shared=8),
    (*_JOINED, (1.2, "contact"), (1.3, "reply", 8, 8), *_told(2.2)),
)

_BOUNDED = Life(
    "has a bound: one wild sample counts for little, and what it knows of its errors goes on",
    manifest(bound=3.0),
    (
        (0.0, "learn", 0.3, 1.7, 11.0),
        *_JOINED,
        *((1.0, "learn", 0.1 * k, 1.0 - 0.2 * k, 10.0 + k) for k in range(1, 20)),
        (1.1, "learn", 0.3, 1.7, 1e6),
        (1.2, "learn", 0.3, 1.7, -1e6),
        (1.3, "contact"),
        (2.0, "restart"),
        (0.1, "learn", 0.3, 1.7, 1e6),
        (0.2, "contact"),
        (0.3, "model", 9),
        (0.4, "contact"),
        (0.5, "adopt", 0),
        (0.6, "learn", 0.3, 1.7, 1e6),
        (1.0, "adopt", 1),  # another lineage: its errors were another model's
        (1.1, "learn", 0.3, 1.7, 11.0),
        (1.2, "learn", 0.3, 1.7, 1e3),
    ),
    changes=({"bound": 2.0}, {"lineage": 1}),
)

_T = 1_711_846_790.0  # 10 seconds before clocks go forward in Europe, on a Sunday
_SEEING = Life(
    "looks back, goes by the calendar, and has words among its inputs",
    manifest(
        features=20,
        start=_T - 1000.5,
        inputs=(
            Quantity(name="a", low=-5.0, high=50.0),
            Quantity(name="wind"),
            Quantity(name="kind"),
        ),
        target=Quantity(name="y", low=0.0, high=500.0),
        seen=Seen(
            (
                Number("a", 2.0, 4.0),
                Number("a", 0.5, 0.25, logarithm=True, lag=2),
                Number("a", scale=3.0, diff=1),
                Number("y", 3.0, 1.5, logarithm=True, lag=1),
                Cyclic("a", 7.0),
                Compass("wind"),
                OneHot("kind", ("wet", "dry")),
                Calendar("time", "hour", "Europe/Oslo"),
                Calendar("time", "weekday", "Europe/Oslo"),
                Calendar("time", "yearday"),
                Cyclic("time", 86400.0, time=True),
            ),
            Number("y", 3.0, 1.5, logarithm=True),
        ),
    ),
    (
        (0.0, "measure", _T, 1.0, "NNE", "wet", 20.0),  # nothing to look back at
        (1.0, "measure", _T + 1, 2.0, "w", "dry", 30.0),
        (2.0, "foresee", _T + 2, 3.0, "N", "dry"),
        (2.0, "measure", _T + 2, 3.0, "N", "dry", 25.0),
        (3.0, "measure", _T + 3, 3.5, "N", "odd", 35.0),  # a kind that nobody knows
        (4.0, "measure", _T + 4, -7.0, "S", "wet", 15.0),  # not plausible, and not remembered
        (5.0, "measure", _T + 5, 1.5, "S", "wet", 15.0),
        (6.0, "remember", _T + 6, 1.0, None, None, None),
        (7.0, "foresee", _T + 7, 1.5, "S", "wet"),  # the target of before is missing
        (7.1, "measure", _T + 7.1, 1.5, "S", "wet", 15.0),
        (8.0, "measure", _T + 8, 1.5, "S", "wet", 15.0),
        (8.5, "contact"),
        (8.6, "model", 1008),
        (9.0, "restart"),
        (0.0, "foresee", _T + 9, 1.5, "SE", "wet"),
        (0.1, "measure", _T + 9, 4.5, "SE", "wet", 12.0),
        (0.5, "measure", _T + 9.4, 4.0, "SE", "wet", 13.0),  # again in this tick
        (1.0, "measure", _T + 10, 4.5, "SE", "dry", 14.0),  # clocks went forward
        (2.0, "adopt", 0),
        (3.0, "foresee", _T + 11, 4.5, "SE", "dry"),  # what was remembered is forgotten
    ),
    changes=({"step_size": 0.2},),
)

_BEGUN = Life(
    "has linear terms and begins with a model, alone until it joins and after nonsense",
    manifest(
        linear=((-1.0, 0.5), (-0.25, 3.0)),
        start_model=(0.1, -0.2, 0.3, -0.4, 0.5, 1.25, -2.5, 0.75),
    ),
    (
        (0.0, "predict", 0.3, 1.7),
        (0.0, "learn", 0.3, 1.7, 11.0),
        (0.1, "predict", 9.0, -99.0),  # beyond both ranges
        (0.2, "contact"),
        (0.3, "model", 7),
        (0.4, "learn", -5.0, 1.7, 11.0),
        (1.5, "contact"),
        (1.6, "reply", 8, 8),
        (1.7, "learn", 0.3, 1.7, 1e9),
        (1.8, "predict", 0.3, 1.7),
        (2.0, "adopt", 0),  # other ranges are another map
        (2.1, "learn", 0.3, 1.7, 11.0),
        (2.2, "contact"),
        (2.3, "model", 9),
        *_told(3.4),
    ),
    changes=({"linear": ((-1.0, 0.5), (-0.25, 2.0))},),
)

_READING = Life(
    "has few targets: it reads, sends what it has learned, and reads on",
    manifest(**_RANGED),
    (
        (0.0, "learn", 0.3, 1.7, 11.0),  # before it joins: the fleet's model takes its place
        (0.0, "contact"),
        (0.1, "model", 50),
        (0.2, "contact"),  # a read
        (0.3, "answer", 50),
        (0.4, "contact"),  # nothing more in this tick
        (1.2, "contact"),  # lost
        (1.3, "contact"),  # a read again
        (1.4, "learn", 9.0, 0.0, 11.0),  # not plausible: nothing is learned
        (1.4, "learn", 0.0, 0.0, 51.0),
        (1.5, "contact"),  # a read that tells of it
        *_told(1.6),  # an update in the tick of a read; lost
        (1.7, "answer", 51),  # to a read: it confirms nothing
        (2.2, "contact"),  # the update again
        (2.3, "reply", 52, 51),
        (3.2, "contact"),  # the sample gives four updates: one sweep over the model
        (3.3, "reply", 53, 53),
        (4.2, "contact"),
        (4.3, "reply", 54, 54),
        (5.0, "restart"),
        (0.1, "contact"),
        (0.2, "model", 56),
        (0.3, "contact"),  # the last update of the sweep
        (0.4, "reply", 56, 56),
        (1.3, "contact"),  # a read
        (1.4, "answer", 57),
        (2.0, "restart"),
        (0.1, "contact"),  # a hello: the clock is gone
        (0.2, "model", 60),  # it has a model already
        (0.3, "contact"),  # a read
        (0.4, "learn", 0.3, 1.7, 11.0),
        (0.5, "restart"),
        (0.1, "contact"),
        (0.2, "model", 61),
        (0.3, "contact"),  # an update: what was learned before the restart is news; lost
        (0.4, "adopt", 0),
        (0.5, "contact"),
        (0.6, "model", 62),
        (0.7, "contact"),  # an update: the sweep begins anew
    ),
    changes=({"step_size": 0.2},),
)

LIVES = (_USUAL, _SURE, _LOST, _WILD, _WHOLE, _BOUNDED, _SEEING, _BEGUN, _READING)
