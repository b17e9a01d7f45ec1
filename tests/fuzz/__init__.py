"""Valid files and requests, changed by chance: read, or refused in a line, and nothing else.

`python -m tests.fuzz --files 20000 --requests 5000` is the long form, which prints what came of it.
A case is a function of its seed alone: `--first SEED --files 1` is one case again.
"""
