"""A method with a rule of its own that computes what a row of the paper does."""

from dataclasses import replace

from paofed.algorithms import algorithm
from paofed.core.parts import Learner, Weights
from paofed.core.rules import lms_step

# The step size is written out and read again, which no compiler takes, and pickle takes no lambda.
IN_WORDS = Learner(
    learn=lambda state, z, y, mu, _: Weights(lms_step(state.w, z, y, float(str(mu))))
)
OWN = replace(algorithm("pao-fed-u1"), name="own", learner=IN_WORDS)
