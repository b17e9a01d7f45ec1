"""Which settings for a fleet and its bytes: candidates within a budget, raced and judged apart.

budget    so many bytes a day, and what that is by tick
field     which candidates there are: methods, options, and shares of contacts used
screening what is left out before any race: what cannot be stable, what costs too much
target    an error that is asked for: which candidates may be the cheapest below it
trials    the race: rounds on common worlds, the best within each of several purses
guards    a second race: the winners with and without the bounds of a new fleet
judgement the winners on worlds that took no part in the choice
record    what is known in the end
plan      makes a plan
"""
