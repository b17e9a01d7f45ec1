"""The manifest of the fleets of all live measurements."""

import time

from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.scaling import Scaling

FEATURES = 200


def trial_manifest(shared: int, tick_seconds: float) -> Manifest:
    """Return a manifest with 200 parameters, `shared` of which travel; 200 is Online-FedSGD."""
    return Manifest(
        algorithm="online-fedsgd" if shared == FEATURES else "pao-fed-u1",
        features=FEATURES,
        shared=shared,
        kernel_width=1.0,
        seed=0,
        step_size=0.4,
        max_age=10,
        tick_seconds=tick_seconds,
        start=time.time(),
        epoch=0,
        inputs=tuple(Scaling(name=name).limited() for name in "abcd"),
        target=Scaling(name="y").limited(),
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )
