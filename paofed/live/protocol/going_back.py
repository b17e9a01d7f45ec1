"""A fleet that goes back: to the model of an earlier time, or to one without some devices.

Either begins the next epoch and the next lineage: devices begin from the server's model, and what
they had sent before, or would send again, is never applied. What waits to be applied is dropped.
Tick numbers go on, and so does what is known of the devices.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from paofed.live.protocol.change import continued
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest


def rolled_back(present: Coordinator, then: Coordinator) -> Coordinator:
    """The server of the next epoch, with the model as it was then.

    What the fleet has agreed on stays, unless the model's parameters meant something else then: in
    that case all that it had agreed on comes back, too.
    """
    manifest = present.manifest
    if not manifest.means_the_same(then.manifest):
        begins = manifest.begins(present.tick)
        manifest = replace(then.manifest, from_tick=present.tick, from_time=begins)
    state = then.rule.arrays()
    return continued(present, following(manifest, present.manifest), present.tick, state)[0]


def replayed(
    present: Coordinator, then: Coordinator, records: Iterable[Record], absent: Collection[int]
) -> Coordinator:
    """The server of the next epoch, had some devices been absent since then.

    `records` are all that arrived since. The present rule is applied to those of the others.
    """
    server = then.under(present.manifest)
    server.rule.carry(then.rule.arrays())
    oldest = present.manifest.max_age
    others = (
        record
        for record in records
        if record.device not in absent
        and record.arrived < present.tick
        and record.arrived - record.sent <= oldest
    )
    server.recover(others)
    server.close(present.tick)
    manifest = following(present.manifest, present.manifest)
    return continued(present, manifest, present.tick, server.rule.arrays())[0]


def following(manifest: Manifest, last: Manifest) -> Manifest:
    """What a fleet agrees on after `last`, with devices that begin from the server's model."""
    return replace(manifest, epoch=last.next_epoch, lineage=last.lineage + 1)
