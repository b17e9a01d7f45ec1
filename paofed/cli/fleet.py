"""Look after a fleet's folder: verify it, take its model or its messages out, repair it.

verify   recompute the model from the journal and say whether it equals the snapshot
model    write the model, for `paofed predict` (--out)
export   write the messages it was made from (--messages)
repair   go on from what is intact, after damage; copy the folder first
"""

import json
from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress
from pathlib import Path

from paofed.errors import InputError
from paofed.files import require_writable
from paofed.live.exports import FleetModel, export_messages
from paofed.live.store import Store, StoreError

EXAMPLE = "paofed fleet model greenhouse --out model.npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=list(_ACTIONS))
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where `model` writes")
    parser.add_argument("--messages", type=Path, metavar="FILE", help="where `export` writes")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: Namespace) -> int:
    """Do it; a fleet whose journal and snapshot disagree is exit code 1."""
    for option, action in (("out", "model"), ("messages", "export")):
        path = getattr(args, option)
        if (path is not None) != (args.action == action):
            verb = "needs" if args.action == action else "takes no"
            raise InputError(f"fleet {args.action} {verb} --{option}")
        if path is not None:
            require_writable(path)
    with closing(Store.open(args.folder)) as store:
        said, right = _ACTIONS[args.action](store, args)
    print(json.dumps(said) if args.json else said["text"])
    return 0 if right else 1


def _verify(store: Store, args: Namespace) -> tuple[dict[str, object], bool]:
    found = store.verify()
    verdict = "equals" if found.agrees else "DOES NOT EQUAL"
    text = (
        f"{args.folder}: the model recomputed from {found.lines} lines of the journal {verdict} "
        f"the snapshot of tick {found.tick}"
    )
    return {**found._asdict(), "text": text}, found.agrees


def _model(store: Store, args: Namespace) -> tuple[dict[str, object], bool]:
    model = FleetModel.of(store.recover())
    model.save(args.out)
    text = f"wrote the model of tick {model.tick} to {args.out}"
    return {"tick": model.tick, "out": str(args.out), "text": text}, True


def _export(store: Store, args: Namespace) -> tuple[dict[str, object], bool]:
    lines = export_messages(store, args.messages)
    text = f"wrote {lines} messages to {args.messages}"
    return {"messages": lines, "out": str(args.messages), "text": text}, True


def _repair(store: Store, args: Namespace) -> tuple[dict[str, object], bool]:
    with suppress(StoreError):
        if store.verify().agrees:
            return {"lost": 0, "text": f"{args.folder} is intact: there is nothing to repair"}, True
    lost = store.repair()
    text = f"{args.folder} is usable again; {lost} accepted updates were lost"
    return {"lost": lost, "text": text}, True


_ACTIONS = {"verify": _verify, "model": _model, "export": _export, "repair": _repair}
