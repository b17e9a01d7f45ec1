"""Measure what a live contact costs server and device, without a network: time, bytes, memory."""

import json
import time
from argparse import ArgumentParser, Namespace
from typing import NamedTuple

import numpy as np

from lab.benchmarks.trial import trial_manifest
from paofed.live.protocol.coordinator import Coordinator, Send
from paofed.live.protocol.devices import Devices
from paofed.live.protocol.edge import Edge
from paofed.words import table

EXAMPLE = "python -m lab contact"
_DEVICES, _TICKS = 500, 12


class ContactCost(NamedTuple):
    """The cost of one contact; times in microseconds on one core, the best of several ticks."""

    server_us: float  # receive, judge, reply, apply
    device_us: float  # make the message, take the reply
    learn_us: float  # one sample on the device
    bytes_up: int
    bytes_down: int
    bytes_per_device: float  # what the server keeps of each device


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


def contact_cost() -> ContactCost:
    """Measure a fleet over a few ticks in which every device has a contact."""
    manifest = trial_manifest(4, 1.0)
    server = Coordinator(manifest)
    edges = [Edge(manifest, k) for k in range(_DEVICES)]
    random = np.random.default_rng(0)
    for k in range(_DEVICES):
        server.add(k)
    served, talked, learned = np.inf, np.inf, np.inf
    up, down = b"", b""
    for n in range(_TICKS):
        samples = random.standard_normal((_DEVICES, 4))
        times = [time.perf_counter()]
        for edge, x in zip(edges, samples, strict=True):
            edge.learn(x, float(x[0]))
        times.append(time.perf_counter())
        messages = [edge.contact(float(n)) for edge in edges]
        times.append(time.perf_counter())
        answers: list[Send] = []
        for k, message in enumerate(messages):
            if message is not None:
                effects = server.receive(k, message)
                answers += (effect for effect in effects if isinstance(effect, Send))
        answers += server.committed()
        server.close(n + 1)
        times.append(time.perf_counter())
        for answer in answers:
            edges[answer.device].receive(answer.payload, float(n))
        times.append(time.perf_counter())
        learn, send, serve, hear = (np.diff(times) / _DEVICES * 1e6).tolist()
        if n:  # the first tick is left out: every device says hello
            served, talked = min(served, serve), min(talked, send + hear)
            learned = min(learned, learn)
            up, down = messages[0] or b"", answers[0].payload
    return ContactCost(served, talked, learned, len(up), len(down), bytes_per_device())


def bytes_per_device(devices: int = 100_000, max_age: int = 60) -> float:
    """Return how many bytes the server keeps of each device of a large fleet."""
    columns = Devices(max_age + 3)
    columns.add(devices - 1)
    return sum(column.nbytes for column in columns.arrays().values()) / devices
