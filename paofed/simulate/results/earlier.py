"""Results of before messages and bytes were counted: coordinates, made into traffic.

Such a file says how many coordinates were sent until each point, both directions together, and in
each direction in all. Every contact had a message each way then. So where all messages of a
direction have the same size, as those of windows have, the seven counts follow. Of any other
schedule, messages and contacts stay unknown (NaN), and before the last point up and down are told
apart as they are in the end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.metrics import BYTES_PER_COORDINATE
from paofed.core.traffic import Traffic
from paofed.forms import Form

Counts = NDArray[Any]

SENT = {
    "sent": Form("iu", "RAP"),
    "sent_up": Form("iu", "RA"),
    "sent_down": Form("iu", "RA"),
}


def traffic_of(sent: Counts, sent_up: Counts, about: Mapping[str, Any]) -> Counts:
    """Make the traffic (R, A, 7, P) of a result from what it kept, and from its provenance."""
    features = about["scenario"]["features"]
    return np.stack(
        [
            np.stack(_counts(described, features, sent[:, a], sent_up[:, a]), axis=1)
            for a, described in enumerate(about["algorithms"])
        ],
        axis=1,
    )


def _counts(described: Mapping[str, Any], features: int, sent: Counts, sent_up: Counts) -> Traffic:
    """Traffic (R, P) of one algorithm."""
    up, down = (_size(described.get(side), features) for side in ("uplink", "downlink"))
    if up and down:
        contacts, rest = np.divmod(sent, up + down)
        if not rest.any() and np.array_equal(up * contacts[:, -1], sent_up):
            return Traffic.of_floats(contacts, up, down)
    share = sent_up / np.maximum(sent[:, -1], 1)
    coordinates_up = sent * share[:, None]
    coordinates_up[:, -1] = sent_up  # whole, however the share was rounded
    unknown = np.full(sent.shape, np.nan)
    return Traffic(
        coordinates_up=coordinates_up,
        coordinates_down=sent - coordinates_up,
        messages_up=unknown,
        messages_down=unknown,
        payload_up=BYTES_PER_COORDINATE * coordinates_up,
        payload_down=BYTES_PER_COORDINATE * (sent - coordinates_up),
        contacts=unknown,
    )


def _size(schedule: object, features: int) -> int:
    """How many coordinates each message of a described schedule has, or 0 where that differs."""
    if not isinstance(schedule, dict) or schedule.get("kind") != "Windows":
        return 0
    width = schedule.get("width")
    size = features if width is None else width
    return size if type(size) is int and size > 0 else 0
