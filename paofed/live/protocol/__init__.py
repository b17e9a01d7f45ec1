"""What travels, what a fleet has agreed on, and both sides as state machines.

No socket, clock or disk in this room: events go in, effects come out.
"""
