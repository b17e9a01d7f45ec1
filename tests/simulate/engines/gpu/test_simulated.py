"""The kernels agree with the other engines, on a machine without a card: CUDA is simulated."""

import json
import os
import subprocess
import sys

from tests.effort import effort

ROUNDING = 1e-12  # all of it is in float64, of numbers around 1


def test_the_kernels_agree_with_the_other_engines() -> None:
    ticks, runs = effort(everyday=6, thorough=12), effort(everyday=1, thorough=2)
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-m", "tests.simulate.engines.gpu.simulated", f"{ticks}", f"{runs}"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= effort(everyday=5, thorough=12)
    for name, apart in found.items():
        assert max(apart.values()) < ROUNDING, (name, apart)
