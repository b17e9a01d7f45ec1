"""Applications that ask a server for predictions, while its devices are served."""

import json
import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from typing import NamedTuple

import numpy as np

from lab.benchmarks.crowd import LoadOutcome
from lab.benchmarks.load import crowded
from lab.benchmarks.trial import served, trial_fleet, trial_manifest
from paofed.errors import PaofedError

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


def measure_asking(report: Report, *, devices: int, rate: float, seconds: float) -> list[Asked]:
    """Let devices contact at a steady rate: first alone, then while applications ask."""
    manifest = trial_manifest(4, _TICK)
    spawn = multiprocessing.get_context("spawn")
    with trial_fleet(manifest, "none") as fleet, ProcessPoolExecutor(1, spawn) as other:
        with fleet.store() as store:
            store.add_all(f"device {k}" for k in range(devices))
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
