"""The exact recursion of means and second moments, for fleets small enough to carry it out.

Nothing is approximated, so predictions for large fleets can be compared with it.
"""
