"""See a fleet learn on this machine: a broker, a server and 20 devices, each a process of its own.

Devices and server are killed and links are cut while you watch. It ends by itself after about a
minute, with the learning curve beside that of the simulator, in which nothing fails, as a picture.
Needs mosquitto, or nats-server from the extra `paofed[demo]`.
"""

import json
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paofed.cli.shared.outputs import require_figure
from paofed.cli.shared.progress import Screen, say
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.files import make_folder, require_writable
from paofed.live.server.status import DeviceStatus, Status
from paofed.words import table

if TYPE_CHECKING:
    from paofed.demo.play import Play, Scene
    from paofed.demo.scene import Account

EXAMPLE = "paofed demo --devices 20 --out demo.png"
_PREPARE = 4.0, 0.35  # seconds that the server, and each device, has to start
_FEWEST_TICKS, _MOST_DEVICES = 20, 200
_SHORTEST_TICK, _LONGEST_TICK = 0.02, 60.0
_COLUMNS = 4


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--devices", type=int, default=20, metavar="K",
        help="number of devices (default: %(default)s)")  # fmt: skip
    add("--ticks", type=int, default=400, metavar="N",
        help="number of ticks (default: %(default)s)")  # fmt: skip
    add("--tick", type=float, default=0.15, metavar="SECONDS",
        help="length of a tick (default: %(default)g)")  # fmt: skip
    add("--seed", type=int, default=0, metavar="S",
        help="seed of the stream and of what fails (default: %(default)s)")  # fmt: skip
    add("--calm", action="store_true", help="let nothing fail")
    add("--out", type=Path, default=Path("out/demo.png"), metavar="FILE",
        help="picture to write (default: %(default)s)")  # fmt: skip
    add("--json", action="store_true", help="print what came of it as JSON")


def run(args: Namespace) -> int:
    """Run the fleet, compare it with the simulator, draw both; return 1 if `verify` fails."""
    from paofed.demo.play import Play
    from paofed.demo.scene import account_of, first_tick, manifest_of, scenario_of
    from paofed.report.shared.figures import live_beside, save
    from paofed.world.realize import realize

    if not 1 <= args.devices <= _MOST_DEVICES:
        raise InputError(f"--devices is {args.devices}: expected 1 to {_MOST_DEVICES}")
    if args.ticks < _FEWEST_TICKS:
        raise InputError(f"--ticks is {args.ticks}: expected at least {_FEWEST_TICKS}")
    if not _SHORTEST_TICK <= args.tick <= _LONGEST_TICK:
        raise InputError(
            f"--tick is {args.tick:g}: expected {_SHORTEST_TICK} to {_LONGEST_TICK} seconds"
        )
    require_figure(args.out)
    make_folder(args.out.parent)
    require_writable(args.out)
    scenario = scenario_of(args.devices, args.ticks)
    trace = realize(scenario, seed=args.seed)
    with tempfile.TemporaryDirectory(prefix="paofed-demo-") as place:
        first = first_tick((_PREPARE[0] + _PREPARE[1] * args.devices) / args.tick, scenario)
        manifest = manifest_of(scenario, args.seed, args.tick, time.time())
        play = Play(Path(place) / "fleet", manifest, trace, first, args.seed)
        name = Path(play.broker.program).name
        say(f"{name}, a server and {args.devices} devices, each a process of its own, are starting")
        screen = Screen()
        with play.running():
            for scene in play.scenes(calm=args.calm):
                screen.show(_lines(scene))
        account = account_of(play.folder, trace, first)
    marks = [tick - first for tick, kind in play.events if kind.endswith(("server", "broker"))]
    traffic = _traffic(account, play)
    save(live_beside(account.live, account.simulated, traffic, _title(play), marks), args.out)
    print(json.dumps(_numbers(account, play)) if args.json else _text(account, play, args.out))
    return 0 if account.verified else 1


def _lines(scene: "Scene") -> list[str]:
    """Return the fleet at a moment, as the lines of a table."""
    status = scene.status
    if status is None:
        why = "the server is down" if scene.begun else "everybody gets ready"
        return [f"{scene.seconds_left:3.0f} s left; {why}"]
    cells = [
        f"{device.device:>3} {scene.away.get(device.device, _seen(device, status)):<9}"
        f"{device.messages:>5}"
        for device in status.devices
    ]
    rows = [cells[i : i + _COLUMNS] for i in range(0, len(cells), _COLUMNS)]
    head = (
        f"{scene.seconds_left:3.0f} s left; tick {max(status.tick - scene.first, 0):,}; "
        f"{status.counts.get('accepted', 0):,} updates accepted, "
        f"{status.counts.get('duplicates', 0):,} repeated; {_listed(scene.misfortunes)}"
    )
    names = ["device, seen, messages"] * min(_COLUMNS, len(cells))
    padded = [[*row, *[""] * (len(names) - len(row))] for row in rows]
    return [head, *table(names, padded, left=range(_COLUMNS)).splitlines()]


def _seen(device: DeviceStatus, status: Status) -> str:
    if device.last_seen is None:
        return "-"
    ticks = max(status.tick - device.last_seen, 0)
    return "now" if ticks <= 1 else f"{ticks} ago"


def _listed(counts: Counter[str]) -> str:
    names = {"kill device": "devices killed", "cut link": "links cut"}
    names |= {"kill server": "x server killed", "kill broker": "x broker killed"}
    return ", ".join(f"{counts[k]} {name}" for k, name in names.items() if counts[k]) or "calm"


def _traffic(account: "Account", play: "Play") -> dict[str, tuple[FloatArray, FloatArray]]:
    from paofed.demo.scene import SHARED

    ticks, measured = np.array(play.bytes, dtype=np.float64).T
    ticks -= play.first
    every = np.arange(1.0, account.contacts.size + 1)
    return {
        f"{SHARED} parameters a contact, measured": (ticks, measured),
        "all of them, the same contacts": (every, account.contacts * account.full_bytes),
    }


def _title(play: "Play") -> str:
    return f"{len(play.files)} devices; {_listed(play.misfortunes)}"


def _numbers(account: "Account", play: "Play") -> dict[str, object]:
    last = slice(-max(len(account.live) // 20, 1), None)
    return {
        "verified": account.verified,
        "live_db": float(decibels(account.live[last].mean())),
        "simulated_db": float(decibels(account.simulated[last].mean())),
        "updates": int(account.contacts[-1]),
        "bytes": play.bytes[-1][1],
        "bytes_full": int(account.contacts[-1]) * account.full_bytes,
        "misfortunes": dict(play.misfortunes),
    }


def _text(account: "Account", play: "Play", out: Path) -> str:
    numbers = _numbers(account, play)
    verdict = "equals" if account.verified else "DOES NOT EQUAL"
    return (
        f"{_listed(play.misfortunes)}\n"
        f"the model recomputed from the journal {verdict} the server's\n"
        f"error over the last ticks: {numbers['live_db']:.1f} dB live, "
        f"{numbers['simulated_db']:.1f} dB simulated with nothing failing\n"
        f"{numbers['updates']:,} updates in {numbers['bytes']:,} bytes of MQTT, joining included; "
        f"with all parameters it would be {numbers['bytes_full']:,}\n"
        f"wrote {out}"
    )
