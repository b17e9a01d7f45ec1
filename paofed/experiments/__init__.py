"""Settings tried over common worlds: in a race, in a sweep, in a plan for a fleet.

arena       where arms meet, and what they score there
candidates  which setups of a method are tried, and the grids of step sizes
experiment  arms over common worlds: how they are run, what they did, what they spent
rejection   who is clearly worse, who wins, and how much better anything tried can be
trials      rounds of arms: who is dropped, and who wins within each purse
race/       the best of some candidates, before a run: `auto` in the place of a value
sweep/      many settings over the same worlds: a record to ask
plan/       settings for a fleet and its bytes
paper/      the study of the paper, stage by stage
"""

TOLERANCE = 0.1  # dB that a cheaper candidate may be worse than the best
