"""Which settings for a fleet and its bytes: candidates within a budget, raced and judged apart.

budget    so many bytes a day, and what that is by tick
field     which candidates there are: methods, options, and shares of contacts used
screening what is left out before any race: what cannot be stable, what costs too much
meetings  where candidates meet, each share of contacts in a scenario of its own
guards    a second race: the winners with and without the bounds of a new fleet
judgement the winners on worlds that took no part in the choice
record    what is known in the end
plan      makes a plan
use       how to use a plan: its scenario as a file, and the commands to type next
"""
