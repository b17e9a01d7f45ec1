"""Ask a server on this machine for predictions while thousands of contacts go on.

Prints questions per second and their latency over 1 and 8 connections that stay, with 1 and 100
readings in each question, beside the contacts of devices at a steady rate. The applications that
ask run on this machine, too, and take their part of its time.
"""

import json
import math
import multiprocessing
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from typing import NamedTuple

import numpy as np

from lab.benchmarks.crowd import LoadOutcome, crowded
from lab.benchmarks.trial import served, trial_fleet, trial_manifest
from paofed.cli.shared.progress import say
from paofed.errors import InputError, PaofedError
from paofed.words import table

EXAMPLE = "python -m lab predict"
_SHARES = (50, 99)
# Pairs: number of connections, number of readings in a question.
CASES = ((1, 1), (8, 1), (1, 100), (8, 100))
_TICK = 1.0
_WARM = 20  # questions of each connection that are not counted, at the beginning
Report = Callable[[str], None]


class Asked(NamedTuple):
    """What came of asking over some connections, and of the devices' contacts meanwhile."""

    connections: int
    batch: int
    questions: LoadOutcome | None  # None: nobody asked
    contacts: LoadOutcome


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--devices", type=int, default=200, metavar="N",
        help="number of devices that are connected at the same time (default: "
        "%(default)s)")  # fmt: skip
    add("--rate", type=float, default=500.0, metavar="R",
        help="contacts per second of the devices (default: %(default)g)")  # fmt: skip
    add("--seconds", type=float, default=5.0, metavar="S",
        help="length of each load (default: %(default)g)")  # fmt: skip
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print a table."""
    right = args.devices >= 1 and 0 < args.seconds < math.inf and 0 < args.rate < math.inf
    if not right:
        raise InputError("expected --devices, --rate and --seconds above 0")
    found = measure_asking(say, devices=args.devices, rate=args.rate, seconds=args.seconds)
    print(json.dumps([_numbers(one) for one in found]) if args.json else _text(found))
    return 0


def _numbers(one: Asked) -> dict[str, object]:
    questions = one.questions and one.questions.as_json(_SHARES)
    contacts = one.contacts.as_json(_SHARES)
    return {**one._asdict(), "questions": questions, "contacts": contacts}


def _text(found: list[Asked]) -> str:
    half, most = (f"{share} %, ms" for share in _SHARES)
    load = [half, most, "lost"]
    header = ["connections", "readings each", "questions/s", *load, "contacts/s", *load]
    rows = [
        [f"{one.connections}", f"{one.batch}", *_cells(one.questions), *_cells(one.contacts)]
        for one in found
    ]
    return table(header, rows, left=())


def _cells(load: LoadOutcome | None) -> list[str]:
    if load is None:
        return ["-"] * 4
    times = (f"{load.percentile(share):.1f}" for share in _SHARES)
    return [f"{load.rate:,.0f}", *times, f"{load.lost}"]


def measure_asking(report: Report, *, devices: int, rate: float, seconds: float) -> list[Asked]:
    """Let devices contact at a steady rate: first alone, then while applications ask."""
    manifest = trial_manifest(4, _TICK)
    spawn = multiprocessing.get_context("spawn")
    with trial_fleet(manifest, "none") as fleet, ProcessPoolExecutor(1, spawn) as other:
        with fleet.store() as store:
            store.roster.add_all(f"device {k}" for k in range(devices))
        with served(fleet), crowded(fleet, devices) as crowd:
            time.sleep(2 * _TICK)  # until the server has made a model from what it has heard
            steady = partial(crowd.load, seconds=seconds, window=devices, rate=rate)
            report("contacts alone")
            found = [Asked(0, 0, None, steady())]
            for connections, batch in CASES:
                report(f"{connections} connections, {batch} readings in a question")
                place = fleet.settings.http_place()
                asking = other.submit(ask, *place, connections, batch, seconds)
                contacts = steady()
                found.append(Asked(connections, batch, asking.result(), contacts))
    return found


def ask(host: str, port: int, connections: int, batch: int, seconds: float) -> LoadOutcome:
    """Ask over each connection, the next question as soon as the last is answered."""
    latencies: list[list[float]] = [[] for _ in range(connections)]
    failed: list[str] = []
    end = time.monotonic() + seconds

    def work(mine: list[float]) -> None:
        try:
            with closing(HTTPConnection(host, port, timeout=20)) as connection:
                _ask(connection, batch, end, mine)
        except (OSError, PaofedError) as error:
            failed.append(str(error))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in latencies]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = np.array([latency for mine in latencies for latency in mine])
    return LoadOutcome(every.size, time.monotonic() - begin, len(failed), every)


def _ask(connection: HTTPConnection, batch: int, end: float, latencies: list[float]) -> None:
    random = np.random.default_rng(0)
    readings = [dict(zip("abcd", row, strict=True)) for row in random.normal(size=(batch, 4))]
    content = json.dumps(readings)
    asked = 0
    while time.monotonic() < end:
        begin = time.monotonic()
        connection.request("POST", "/predict", content)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise PaofedError(said.decode())
        asked += 1
        if asked > _WARM:
            latencies.append(time.monotonic() - begin)
