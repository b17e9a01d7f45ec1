"""A small comparison: few ticks, few clients, methods of the paper's family."""

from pathlib import Path

from lab.compare.comparison import Plan
from lab.compare.settings import Extent
from paofed.experiments.candidates import Entrant

SMALL = """
name = "small"
ticks = 60
clients = 8
features = 24
kernel_width = 2.0
step_size = 0.5
max_age = 5
test_samples = 50

[stream]
samples = [60]

[availability]
kind = "bernoulli"
probabilities = [0.5]

[delay]
kind = "geometric"
base = 0.4
"""
ENTRANTS = {
    "pao-fed-u": Entrant.of("pao-fed-u1", {"shared": (1, 4, 12), "step_size": (0.1, 0.5)}),
    "online-fed": Entrant.of("online-fed", {"subset": (0.02, 0.5), "step_size": (0.1, 0.5, 40.0)}),
}


def small_plan(folder: Path) -> Plan:
    """Write the scenario into a folder, and plan to compare two methods there."""
    file = folder / "small.toml"
    file.write_text(SMALL)
    return Plan([str(file)], ENTRANTS, ["payload", "mqtt"], Extent((2, 2), 3), seed=5)
