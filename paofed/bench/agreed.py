"""What the fleets of all live measurements have agreed on."""

import time

from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.scaling import Scaling

FEATURES = 200


def trial_manifest(shared: int, tick_seconds: float) -> Manifest:
    """200 parameters, of which so many travel; all of them make it Online-FedSGD."""
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
