"""What travels, what a fleet has agreed on, and both sides as state machines.

There is no socket, clock or disk in this package: events go in, effects come out.
"""
