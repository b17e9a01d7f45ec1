"""Many settings over the same worlds: a design of points, run once, then asked many questions.

axes      what is tried for a key, and which combinations: all, or some drawn at random
points    what a combination is: a scenario and a method with options
asked     a sweep as it is asked for, checked whole; read from TOML
choice    which point is best, how sure that is, and which points cannot be told from it
swept     what was found: a record to ask, to save and to load
forms     what a saved sweep must hold before it is believed
sweep     runs a sweep
"""

RUNS = 8  # the number of worlds by default
