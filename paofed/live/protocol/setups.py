"""What a manifest says of a setup, with which the three ask who make a fleet or plan one."""

from paofed.algorithms.admitted import admitted_as
from paofed.algorithms.setup import Setup
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.served import SHARED, own_options, require_options, usual_shared

# Options of any method that are keys of a manifest.
_KEYS = ("step_size", "max_age", SHARED, "clip", "aside", "bound", "learner", "forgetting")


def manifest_of(setup: Setup, *, features: int, step_size: float, max_age: int) -> Manifest:
    """Return the manifest of some fleet that does what a setup says; refuse what none can say.

    The numbers are those of a scenario, for what the setup leaves open; whatever else a fleet
    agrees on stands for any fleet's. The setup's exchange is left out: a fleet has its own.
    """
    row, options = setup.row, setup.values
    if (why := setup.algorithm().unserved) is not None:
        raise ManifestError(why)
    own, method = own_options(row), admitted_as(row)
    others = [key for key in options if key not in (*_KEYS, *own, "exchange")]
    if others:
        raise ManifestError(f"no manifest says {' and '.join(others)}")
    shaping = {key: options[key] for key in own if key in options}
    if shaping:
        require_options(row, shaping)
    keys = {
        "step_size": step_size,
        "max_age": max_age,
        SHARED: usual_shared(row, features),
        **{key: options[key] for key in _KEYS if key in options},
    }
    if keys.get("learner") == "lms":
        keys["learner"] = None
    made = Manifest(
        algorithm=row if method is None else method.name,
        code=None if method is None else method.code,
        options=shaping or None,
        features=features,
        **keys,
        kernel_width=1.0,
        seed=0,
        tick_seconds=1.0,
        start=1.0,
        epoch=0,
        inputs=(Quantity("x"),),
        target=Quantity("y"),
    )
    _ = made.parts  # refuses what only the method can judge
    return made
