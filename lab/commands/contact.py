"""Measure what a live contact costs server and device, without a network: time, bytes, memory."""

import json
from argparse import ArgumentParser, Namespace

from lab.benchmarks.contact import contact_cost
from paofed.words import table

EXAMPLE = "python -m lab contact"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    cost = contact_cost()
    if args.json:
        print(json.dumps(cost._asdict()))
        return 0
    rows = [
        ["server, per contact", f"{cost.server_us:.1f} us"],
        ["device, per contact", f"{cost.device_us:.1f} us"],
        ["device, per sample learned", f"{cost.learn_us:.1f} us"],
        ["payload up", f"{cost.bytes_up} B"],
        ["payload down", f"{cost.bytes_down} B"],
        ["kept by the server, per device", f"{cost.bytes_per_device:.0f} B"],
    ]
    print(table(["live, 4 of 200 parameters", ""], rows))
    return 0
