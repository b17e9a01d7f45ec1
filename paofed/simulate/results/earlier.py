"""Makes traffic from the coordinates of earlier results, which counted no messages and no bytes.

Such a file says how many coordinates were sent until each point, both directions together, and how
many in each direction by the end. Every contact then had one message up and one down. So where all
messages of a direction have the same size, as those of windows have, the seven counts of Traffic
follow. For any other schedule, messages and contacts stay unknown (NaN), and coordinates before the
last point are split into up and down in the proportion of the end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.metrics import BYTES_PER_COORDINATE, Traffic
from paofed.forms import Form

Counts = NDArray[Any]

SENT = {
    "sent": Form("iu", "RAP"),
    "sent_up": Form("iu", "RA"),
    "sent_down": Form("iu", "RA"),
}


def traffic_of(sent: Counts, sent_up: Counts, about: Mapping[str, Any]) -> Counts:
    """Make the traffic (R, A, 7, P) of a result from its coordinates and its provenance.

    `sent` (R, A, P) are the coordinates until each point, `sent_up` (R, A) those sent up in all.
    """
    features = about["scenario"]["features"]
    return np.stack(
        [
            np.stack(_counts(described, features, sent[:, a], sent_up[:, a]), axis=1)
            for a, described in enumerate(about["algorithms"])
        ],
        axis=1,
    )


def _counts(described: Mapping[str, Any], features: int, sent: Counts, sent_up: Counts) -> Traffic:
    """Return the traffic of one algorithm, (R, P) each."""
    up, down = (_size(described.get(side), features) for side in ("uplink", "downlink"))
    if up and down:
        contacts, rest = np.divmod(sent, up + down)
        if not rest.any() and np.array_equal(up * contacts[:, -1], sent_up):
            return Traffic.of_floats(contacts, up, down)
    share = sent_up / np.maximum(sent[:, -1], 1)
    coordinates_up = sent * share[:, None]
    coordinates_up[:, -1] = sent_up  # a whole number, however the share was rounded
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
    """Return how many coordinates each message of a schedule has, or 0 where messages differ."""
    if not isinstance(schedule, dict) or schedule.get("kind") != "Windows":
        return 0
    width = schedule.get("width")
    size = features if width is None else width
    return size if type(size) is int and size > 0 else 0
