"""All grids of step sizes that the laboratory tries; experiments/candidates.py has the package's.

In the comparison all methods have as many candidates: the fewer options a method has beside its
step size, the more step sizes. The interpretations interpolate between theirs.
"""

import numpy as np

COMPARED = (0.3, 0.7, 1.2)
COMPARED_FINE = (0.2, 0.4, 0.6, 0.9, 1.2, 1.5)
COMPARED_FINEST = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
INTERPRETED = tuple(float(step) for step in np.geomspace(0.0125, 1.6, 15))  # 0.4 is among them
GLANCED = (0.1, 0.4, 1.6)  # in a first look at the interpretations
