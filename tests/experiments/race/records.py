"""What a race may have found, without one."""

from paofed.algorithms.setup import resolve
from paofed.experiments.race.record import Race
from paofed.experiments.trials import Tried
from paofed.simulate.results.estimates import Estimate


def won_by(*words: str, score: float = -5.0) -> Race:
    """A race of variants of one algorithm, the best first."""
    known = Estimate(score, score - 1, score + 1, 3)
    tried = tuple(
        Tried(
            candidate=f"pao-fed-u1:{word}",
            score=known,
            behind=known,
            payload=1.0,
            kept=9,
            worlds=4,
            dropped=None,
        )
        for word in words
    )
    return Race(
        asked=(),
        winner=tried[0].candidate,
        usual="",
        where="",
        over="",
        tolerance=0.1,
        options={},
        methods={one.candidate: resolve(one.candidate) for one in tried},
        tried=tried,
    )
