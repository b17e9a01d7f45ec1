"""Note which devices run firmware in C; without a label, list them.

Such a device was built with what the fleet had agreed on, and cannot follow every change of it. The
server cannot tell it from others, so somebody has to say so: `paofed fleet change` then names the
devices that a change would cut off, and asks.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet firmware greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="name of a device")
    parser.add_argument("--off", action="store_true", help="these devices run no firmware in C")


def run(args: Namespace) -> int:
    """Note the devices that were named, and say which run firmware in C."""
    with Fleet(args.folder).store() as store:
        devices = [store.member(label).device for label in args.labels]
        if devices:
            store.note_firmware(devices, on=not args.off)
        labels = [member.label for member in store.firmware()]
    say_result(args, f"firmware in C: {', '.join(labels) or 'no device'}", labels=labels)
    return 0
