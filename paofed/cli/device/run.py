"""Learn from samples on standard input and contact the fleet; needs NumPy and paho-mqtt alone.

A line is a sample: CSV (with a header, or the inputs in their order and then the target), or JSON
by name; where the fleet's inputs look back or go by the calendar, `time` says when it was measured
(now). Prints what it would have predicted before it learns from the line; a line without a target
is only predicted, with the fleet's model where no line has one. A line that cannot be used is told
on stderr, passed over, and answered with an empty line: the output has a line for each sample, in
their order.
"""

import logging
import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.own_method import add_method, admit_given
from paofed.files import require_writable

EXAMPLE = "measure | paofed device run 0-north-wall.json --state north-wall.npz"


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
    from paofed.live.device.over_lines import OverLines, Rhythm, require_seconds

    admit_given(args)
    rhythm = Rhythm(
        every=args.every, contacts=args.contacts, wait=args.wait, join_within=args.join_within
    )
    require_seconds("save_every", args.save_every)
    if args.state is not None:
        require_writable(args.state)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Device(
            args.file, state=args.state, save_every=args.save_every, stay=not args.leave
        ) as device:
            life = OverLines(device, rhythm, intervals=args.interval, say=_say)
            try:
                life.join()
                for answer in life.answers(sys.stdin):
                    if not args.quiet:
                        print(answer, flush=True)
            except KeyboardInterrupt:
                _say("interrupted")
            _say(str(life))
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    # At once, since several devices may share a terminal.
    sys.stderr.write(f"paofed device run: {text}\n")
    sys.stderr.flush()
