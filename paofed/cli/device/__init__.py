"""Be a device of a fleet."""

ACTIONS = {"run": "learn from samples on standard input, and contact the fleet"}
EXAMPLE = "measure | paofed device run north-wall.json --state north-wall.npz"
