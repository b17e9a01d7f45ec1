"""The best of some candidates: paired over common worlds, the clearly worse drop out.

record    what is known after a race
race      runs a race
choosing  what a run takes in the place of `auto`
"""
