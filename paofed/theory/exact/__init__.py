"""The exact recursion of means and second moments, for fleets so small that it can be carried out.

Nothing is approximated, so whatever predicts large fleets can be held against it.
"""
