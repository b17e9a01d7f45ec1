"""A method with a rule of its own that computes what a row of the paper does."""

from dataclasses import replace

from paofed.algorithms import algorithm
from paofed.core.parts import Learner, Weights
from paofed.core.rules import lms_step

# The step size is written out and read again, which no compiler takes; that is known at once by the
# argument that can only be named, and without it after seconds. And pickle takes no lambda.
IN_WORDS = Learner(
    learn=lambda state, z, y, mu, _, *, text=str: Weights(  # type: ignore[misc]
        lms_step(state.w, z, y, float(text(mu)))
    )
)
OWN = replace(algorithm("pao-fed-u1"), name="own", learner=IN_WORDS)
