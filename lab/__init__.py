"""The laboratory: what only a checkout of paofed needs. Nothing in paofed imports it.

benchmarks       what verbs that measure have in common: engines, fleets, crowds, packets
compare          methods at equal bytes, each with its best settings
interpretations  the paper's disputed statements, judged under every interpretation of it
rehearsal        whole federations in one process, with every fault there is
commands         one file per verb of `python -m lab`, with what it alone measures
study_folder     where a long study leaves its files, and a store from which it goes on
"""
