"""The laboratory: what only a checkout of paofed needs. Nothing in paofed imports it.

benchmarks       engines, bytes on the wire, load, tables: measured on this machine
compare          methods at equal bytes, each with its best settings
interpretations  the paper's disputed statements, judged under every interpretation of it
rehearsal        whole federations in one process, with every fault there is
commands         one file per verb of `python -m lab`
pieces           the finished pieces of a long study, from which a second start goes on
"""
