"""Learn from samples on standard input and contact the fleet; needs NumPy and paho-mqtt alone.

A line is a sample: CSV (with a header, or the inputs in their order and then the target), or JSON
by name; where the fleet's inputs look back or go by the calendar, `time` says when it was measured
(now). Prints what it would have predicted before it learns from the line; a line without a target
is only predicted, with the fleet's model where no line has one. A line that cannot be used is told
on stderr, passed over, and answered with an empty line: the output has a line for each sample, in
their order.
"""

import logging
import math
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paofed.cli.shared.own_method import add_method, admit_given
from paofed.errors import InputError
from paofed.files import require_writable
from paofed.live.model.sample_lines import HeaderError, Row, SampleReader
from paofed.words import counted

if TYPE_CHECKING:  # imported where it is used: it needs paho-mqtt
    from paofed.live.device.device import Device

EXAMPLE = "measure | paofed device run 0-north-wall.json --state north-wall.npz"
_LINGER = 5.0  # seconds for a last contact
_LONGEST_WAIT = 1e6  # seconds


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="file of the device that `paofed fleet add` wrote")
    add_method(parser)
    add("--state", type=Path, metavar="FILE",
        help="file that keeps model and unconfirmed updates for the next start (default: nothing "
        "is kept)")  # fmt: skip
    add("--save-every", type=float, default=60.0, metavar="SECONDS",
        help="least time between two writes of that file (default: %(default)g)")  # fmt: skip
    add("--every", type=int, default=1, metavar="N",
        help="number of samples from one contact to the next (default: %(default)s)")  # fmt: skip
    add("--contacts", type=float, default=1.0, metavar="SHARE",
        help="share of those contacts that are made, by chance, as a plan says (default: "
        "%(default)g)")  # fmt: skip
    add(
        "--leave", action="store_true", help="disconnect between contacts (default: stay connected)"
    )
    add("--wait", type=float, default=5.0, metavar="SECONDS",
        help="longest wait for a reply where there is a connection (default: "
        "%(default)g)")  # fmt: skip
    add("--join-within", type=float, metavar="SECONDS",
        help="time after which to give up if the fleet was not heard of (default: "
        "never)")  # fmt: skip
    add("--interval", action="store_true",
        help="print the ends of the 90 %% interval after each prediction and a comma")  # fmt: skip
    add("--quiet", action="store_true", help="print no predictions")


def run(args: Namespace) -> int:
    """Read until the input ends, or a signal ends it."""
    from paofed.live.device.device import Device

    admit_given(args)
    waits = (args.wait, args.save_every, args.join_within or 0.0)
    if args.every < 1 or not all(0 <= wait < _LONGEST_WAIT for wait in waits):
        raise InputError("expected --every of at least 1, and seconds of at least 0")
    if not 0 < args.contacts <= 1:
        raise InputError(f"--contacts is {args.contacts:g}: expected a share above 0, at most 1")
    if args.state is not None:
        require_writable(args.state)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Device(
            args.file, state=args.state, save_every=args.save_every, stay=not args.leave
        ) as device:
            life = _Run(device, args)
            try:
                life.all()
            except KeyboardInterrupt:
                _say("interrupted")
            life.sum_up()
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


class _Run:
    """A device from start to end of the command."""

    def __init__(self, device: "Device", args: Namespace) -> None:
        self.device = device
        self.args = args
        self.samples = self.untold = self.bad = 0  # lines in all, without target, passed over
        self.told = True  # whether the fleet has what was learned last
        self.meant = False  # whether this contact is made: not every contact is
        self.chance = np.random.default_rng().random
        self.away = ""  # why the fleet is not reached, as it was told last

    def all(self) -> None:
        """Join the fleet, then process the samples as they come."""
        self._join()
        _say(f"{self.device.label} of {self.device.fleet}: {self.device.footprint}")
        for learned in self._taken():
            self.samples += 1
            self.told = self.told and not learned
            if self._due and self._decided():
                self._contact(self.args.wait if self._hopeful() else 0.0)
        if not self.told and (self.meant if self._due else self._decided()):
            self._contact(_LINGER)

    def sum_up(self) -> None:
        """Say what came of the run."""
        device = self.device
        covered = device.coverage if device.knows_fleet() else math.nan
        past = device.unknown_past
        _say(
            f"{counted(self.samples, 'sample')}, "
            f"{f'{self.untold} without a target, ' if self.untold else ''}"
            f"{device.implausible} implausible, "
            f"{f'{past} without the past that they need, ' if past else ''}"
            f"{counted(self.bad, 'line')} passed over; "
            f"{device.answered} of "
            f"{device.contacts} messages answered; {device.bytes_sent} bytes sent, "
            f"{device.bytes_received} received"
            f"{'' if math.isnan(covered) else f'; intervals covered {covered:.0%} until now'}"
        )

    @property
    def _due(self) -> bool:
        """Whether a contact may be made after the last sample."""
        return self.samples % int(self.args.every) == 0

    def _decided(self) -> bool:
        """Decide by chance, once for each contact, whether it is made."""
        self.meant = self.chance() < self.args.contacts
        return self.meant

    def _hopeful(self) -> bool:
        """Whether a reply can be expected; if not, there is nothing to wait for."""
        if self.args.leave:
            return True
        return not self.device.why_not() and not self.device.edge.unanswered

    def _join(self) -> None:
        """Ask until the fleet's manifest is known, and begin with the fleet's model if one answers.

        A device with a saved state knows the manifest, and has begun.
        """
        told, limit = "", self.args.join_within
        end = math.inf if limit is None else time.monotonic() + limit
        while not self.device.knows_fleet():
            self.device.contact(min(_LINGER, max(end - time.monotonic(), 0.0)))
            why = self.device.why_not()
            if time.monotonic() >= end and not self.device.knows_fleet():
                raise InputError(f"the fleet was not reached: {why or 'there was no time'}")
            if why not in ("", told):
                _say(f"the fleet is not reached yet ({why}); trying on")
                told = why
        if not self.device.edge.joined:
            self.device.contact(min(self.args.wait, max(end - time.monotonic(), 0.0)))

    def _taken(self) -> Iterator[bool]:
        """Read line by line, by the names that the fleet has agreed on.

        Yields after each sample whether it had a target.
        """
        rows = SampleReader(self.device.manifest)
        for line in sys.stdin:
            try:
                rows.follow(self.device.manifest)  # the fleet may have been changed meanwhile
                row = rows.parse(line)
                learned = row is not None and self._take(row)
            except HeaderError:
                raise  # until a right header comes, no line of CSV can be used
            except InputError as error:
                self.bad += 1
                self.device.edge.not_plausible()  # the fleet's people hear of a sensor that fails
                _say(f"passed over: {error}")
                self._print("")
            else:
                if row is not None:
                    yield learned

    def _take(self, row: Row) -> bool:
        """Predict, and learn if there is a target; return whether there was one."""
        x, y, at = row.x, row.y, time.time() if row.at is None else row.at
        told, learned = [self.device.predict(x, at)], not math.isnan(y)
        told += self.device.interval(x, at) if self.args.interval else ()
        if learned:
            self.device.learn(x, y, at)
        else:
            self.device.remember(x, None, at)
            if not self.untold:
                _say(
                    "a line has no target: it is only predicted; while there are no targets, this "
                    "device reads the fleet's model and has no vote"
                )
            self.untold += 1
        self._print("" if math.isnan(told[0]) else ",".join(f"{number:.9g}" for number in told))
        return learned

    def _print(self, text: str) -> None:
        if not self.args.quiet:
            print(text, flush=True)

    def _contact(self, wait: float) -> None:
        self.told = self.device.contact(wait)
        why = self.device.why_not()
        if why not in ("", self.away):
            _say(f"the fleet is not reached ({why}); it goes on learning")
        if self.away and not why:
            _say("the fleet is reached again")
        self.away = why


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    # At once, since several devices may share a terminal.
    sys.stderr.write(f"paofed device run: {text}\n")
    sys.stderr.flush()
