"""A network that loses, doubles, delays and reorders messages, and cuts devices off for a while."""

import heapq
from typing import NamedTuple

import numpy as np

from lab.rehearsal.fate import Fate

NETWORK = ("drop", "duplicate", "delay", "reorder", "partition")


class _Letter(NamedTuple):
    due: int  # when the message arrives
    shuffle: int  # its random place among those that arrive together
    number: int  # its place in the order of sending
    device: int
    payload: bytes


Queue = list[_Letter]


class Network:
    """Messages on their way in both directions."""

    def __init__(self, fate: Fate, devices: int, latest: int) -> None:
        """Make an empty network; no message is late by more than `latest` seconds."""
        self.to_server: Queue = []
        self.to_devices: Queue = []
        self._fate = fate
        self._latest = latest
        self._cut_off = np.zeros(devices, dtype=np.int64)  # until when each device is cut off
        self._sent = 0
        self._newest: dict[int, int] = {}  # by device, the number of the last message heard

    def travel(self, queue: Queue, device: int, payload: bytes) -> None:
        """Send a message to or from a device."""
        fate, random = self._fate, self._fate.random
        if fate.calm:
            self._post(queue, device, payload, 0)
            return
        if fate.now < self._cut_off[device]:
            fate.hits["partition"] += 1
            return
        if random.random() < 0.02:
            self._cut_off[device] = fate.now + 1 + int(random.integers(8))
        if random.random() < 0.1:
            fate.hits["drop"] += 1
            return
        copies = 2 if random.random() < 0.1 else 1
        fate.hits["duplicate"] += copies - 1
        for _ in range(copies):
            delay = int(random.integers(1, self._latest + 1))
            late = random.random() < 0.2
            fate.hits["delay"] += late
            self._post(queue, device, payload, delay if late else 0)

    def _post(self, queue: Queue, device: int, payload: bytes, delay: int) -> None:
        self._sent += 1
        shuffle = int(self._fate.random.integers(1000))
        heapq.heappush(queue, _Letter(self._fate.now + delay, shuffle, self._sent, device, payload))

    def heard(self) -> list[tuple[int, bytes]]:
        """Return the messages that reach the server now."""
        letters = self._due(self.to_server)
        for letter in letters:
            newest = self._newest.get(letter.device, -1)
            self._fate.hits["reorder"] += letter.number < newest
            self._newest[letter.device] = max(letter.number, newest)
        return [(letter.device, letter.payload) for letter in letters]

    def answered(self) -> list[tuple[int, bytes]]:
        """Return the messages that reach the devices now."""
        return [(letter.device, letter.payload) for letter in self._due(self.to_devices)]

    def _due(self, queue: Queue) -> Queue:
        taken = []
        while queue and queue[0].due <= self._fate.now:
            taken.append(heapq.heappop(queue))
        return taken
