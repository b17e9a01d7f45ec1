"""Fed-ridge: devices share sums over their samples, which add up, instead of models, which do not.

device    adds up samples, and corrects the shared model
links     copies of the sums, window by window, and coefficients
server    collects copies and fits the shared model
pooling   adds up the sums of devices, so that none can ruin the total
deciding  which size of model and which ridge
"""

from paofed.algorithms.base import LONGEST, Algorithm
from paofed.algorithms.fed_ridge.device import summing
from paofed.algorithms.fed_ridge.links import coefficients, copies
from paofed.algorithms.fed_ridge.server import collecting
from paofed.algorithms.rivals.options import count, positive
from paofed.core.two_speed import FORGETTING

# Devices only correct what the fleet knows: smaller steps than the paper's will do.
_STEP_SIZE = 0.1


def fed_ridge(
    *, shared: int = 16, most: int = 40, ridge: float | None = None, keeps: float = FORGETTING
) -> Algorithm:
    """Devices share sums over samples; the server fits one ridge regression to all of them.

    A message holds `shared` numbers. Of the map's features, at `most` so many are summed; the
    server takes as many of them as later samples say, and a `ridge` worth as many samples as they
    say, unless it is given. Each device corrects the shared model at two speeds; `keeps` is the
    part of its lead that the quick one keeps from one sample to the next.
    """
    width, features = count("shared", shared), count("most", most, least=2)
    kept = positive("keeps", keeps, most=1.0)
    worth = 0.0 if ridge is None else positive("ridge", ridge)
    return Algorithm(
        name="fed-ridge",
        downlink=coefficients(width),
        uplink=copies(width),
        learner=summing(features, kept),
        server=collecting(features, worth),
        learns_while_away=True,
        step_size=_STEP_SIZE,
        max_age=LONGEST,
    )
