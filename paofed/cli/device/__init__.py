"""Be a device of a fleet."""

ACTIONS = {
    "actions": {
        "run": "learn from samples on standard input, and contact the fleet",
        "c": "write what a microcontroller needs to be one, in C",
    },
}
EXAMPLE = "measure | paofed device run 0-north-wall.json --state north-wall.npz"
