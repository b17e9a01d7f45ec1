"""A fleet that goes back: to the model of an earlier time, or to one without some devices.

Either begins the next epoch and the next lineage: devices begin from the server's model, and what
they had sent before, or would send again, is never applied. Updates that wait to be applied are
dropped. Tick numbers go on, and what is known of the devices stays.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from paofed.live.protocol.change import continued
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest


def rolled_back(present: Coordinator, then: Coordinator) -> Coordinator:
    """Return the server of the next epoch, with the model of `then`.

    What the fleet has agreed on stays, unless the model's parameters meant something else then: in
    that case the manifest of that time comes back, too.
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
    """Return the server of the next epoch as if some devices had been absent since `then`.

    `records` are all updates that arrived since. The present rule is applied to those of the other
    devices.
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
    """Return the manifest after `last`, with devices that begin from the server's model."""
    return replace(manifest, epoch=last.next_epoch, lineage=last.lineage + 1)
