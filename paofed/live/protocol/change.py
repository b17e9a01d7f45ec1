"""A fleet that is changed while it lives: what it agrees on next, and what of it goes on.

A change begins the next epoch: messages of the epoch before are refused from then on, and devices
that send them read the manifest again. So the server first closes every tick for which it has
accepted anything, and tick numbers go on after those, whatever the new length of a tick.

A fleet can also go back: to the model of an earlier time, or to one without some devices. Either
begins the next epoch and the next lineage: devices begin from the server's model, and what they had
sent before, or would send again, is never applied. Updates that wait to be applied are dropped.
Tick numbers go on, and what is known of the devices stays.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from paofed.errors import unknown
from paofed.live.protocol.coordinator import TOLERANCE, Coordinator, Record
from paofed.live.protocol.manifest import USUAL_CLIP, Manifest
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.rule_state import named
from paofed.live.protocol.served import shares_alike, usual_row, usual_shared, word_of

_CHANGEABLE = (
    *("algorithm", "code", "options", "shared", "step_size", "tick_seconds", "max_age"),
    *("clip", "aside", "bound", "learner", "forgetting"),
)
Limits = tuple[float | None, float | None]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What is to be different: fields of a manifest, numbers of a sample, ranges by name.

    Numbers that are known already can only change their range; other inputs are added.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Quantity, ...] = ()
    target: Quantity | None = None
    ranges: Mapping[str, Limits] = field(default_factory=dict)


class Difference(NamedTuple):
    """One thing that is different, as people are told."""

    what: str
    before: str
    after: str


class Changed(NamedTuple):
    """A fleet after a change, and what the change does, in words."""

    server: Coordinator
    differences: tuple[Difference, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def change(
    server: Coordinator,
    changes: Changes,
    now: float,
    *,
    clip_before: float | None = USUAL_CLIP,
    anyway: bool = False,
) -> Changed | None:
    """Begin the next epoch, at a time in seconds since 1970.

    Returns None where nothing is different, unless the epoch is to begin `anyway`. All ticks of the
    server that are over by then, or for which anything was accepted, are closed; the ticks of the
    new epoch are counted from `now` on, whatever the clock showed before. `clip_before` is the
    bound that comes back where the fleet's rule can have one again.
    """
    old = server.manifest
    wanted = changed_manifest(old, changes, clip_before)
    if wanted == old and not anyway:
        return None
    present = max(server.tick, old.tick_at(now))
    server.close(present + TOLERANCE + 1)
    new = replace(
        wanted,
        epoch=old.next_epoch,
        lineage=old.lineage + (wanted.meaning != old.meaning),
        from_tick=server.tick,
        from_time=now,
    )
    after, left = continued(server, new, present, server.rule.arrays())
    kept, lost = _consequences(old, new, left)
    return Changed(after, _differences(old, new), kept, lost)


def changed_manifest(
    old: Manifest, changes: Changes, clip_before: float | None = USUAL_CLIP
) -> Manifest:
    """Return a manifest with some values changed; refuse a change of the model itself.

    `clip_before` is the bound that comes back where the fleet's rule can have one again.
    """
    values = dict(changes.values)
    for name, value in values.items():
        _require_changeable(old, name, value)
    code = values.get("code", None if "algorithm" in values else old.code)
    word = word_of(values.get("algorithm", old.algorithm), code)
    values = {**_following(old, word, clip_before), **values}
    inputs = _with_inputs(old.inputs, changes.inputs)
    if old.linear is not None and len(inputs) > len(old.inputs):
        raise ManifestError(
            f"{inputs[-1].name} cannot be added: the model has linear terms, and their place "
            f"depends on how many inputs there are; a new fleet (`paofed fleet init`) takes it"
        )
    target = _merged(old.target, changes.target or old.target)
    known = {number.name: number for number in (*inputs, target)}
    for name, (low, high) in changes.ranges.items():
        if name not in known:
            raise ManifestError(f"there is no {name!r} to give a range (known: {', '.join(known)})")
        known[name] = replace(known[name], low=low, high=high)
    seen = old.seen and old.seen.with_numbers(inputs[len(old.inputs) :])
    return replace(
        old,
        **values,
        seen=seen,
        inputs=tuple(known[number.name] for number in inputs),
        target=known[target.name],
    )


def _following(old: Manifest, word: str, clip_before: float | None) -> dict[str, Any]:
    """Return what has to be different under another algorithm, unless somebody says otherwise."""
    follows: dict[str, Any] = {} if word == old.word else {"options": None, "code": None}
    if not shares_alike(word, old.word):
        follows["shared"] = usual_shared(word, old.features)
    possible = usual_row(word).can_bound
    if "clip" not in possible:
        follows["clip"] = None
    elif "clip" not in usual_row(old.word).can_bound:
        follows["clip"] = clip_before
    if "bound" not in possible:  # a learner of its own has none of the paper's options
        follows |= dict.fromkeys(("bound", "learner", "forgetting"))
    return follows


def _require_changeable(old: Manifest, name: str, value: object) -> None:
    if name not in {known.name for known in fields(old)}:
        raise ManifestError(unknown("value of a manifest", name, _CHANGEABLE))
    known = getattr(old, name)
    if name not in _CHANGEABLE and value != known:
        raise ManifestError(
            f"{_words(name)} cannot be changed from {_shown(known)} to {_shown(value)}: the model "
            f"has learned with the former; a new fleet (`paofed fleet init`) begins without it",
            key=name,
        )


def _with_inputs(known: tuple[Quantity, ...], given: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Return the known inputs, then the new ones, so that the map of the known stays as it is."""
    inputs = {number.name: number for number in known}
    for number in given:
        found = inputs.get(number.name)
        inputs[number.name] = number.limited() if found is None else _merged(found, number)
    return tuple(inputs.values())


def _merged(known: Quantity, given: Quantity) -> Quantity:
    """Return a number with the range that is given, if one is; its meaning cannot change."""
    if known.meaning != given.meaning:
        raise ManifestError(
            f"{known.name} ({known.words}) cannot become {given.name} ({given.words}): "
            f"the model has learned the former; ranges may be changed, and inputs added"
        )
    return known if (given.low, given.high) == (None, None) else given


def continued(
    old: Coordinator, manifest: Manifest, present: int, state: Mapping[str, NDArray[Any]]
) -> tuple[Coordinator, tuple[str, ...]]:
    """Return the server of the next epoch, and the fields of the rule's state that do not fit.

    `present` is the tick of the wall clock.
    """
    new = old.under(manifest)
    left = new.rule.carry(state)
    new.rule.trust(old.rule.trusted)
    if manifest.tick_seconds != old.manifest.tick_seconds:
        new.ages.clear()
    longer = old.manifest.tick_seconds / manifest.tick_seconds
    new.devices.recount(present, new.tick, longer)
    return new, left


def _differences(old: Manifest, new: Manifest) -> tuple[Difference, ...]:
    skipped = {"inputs", "target", "from_tick", "from_time", "seen"}
    found = [
        Difference(_words(name), _shown(getattr(old, name)), _shown(getattr(new, name)))
        for name in (entry.name for entry in fields(Manifest))
        if name not in skipped and getattr(old, name) != getattr(new, name)
    ]
    before = {number.name: number for number in (*old.inputs, old.target)}
    for number in (*new.inputs, new.target):
        was = before.get(number.name)
        if was is None:
            found.append(Difference(f"input {number.name}", "none", number.words))
        if was is None or _range(was) != _range(number):
            limits = "none" if was is None else _range(was)
            found.append(Difference(f"range of {number.name}", limits, _range(number)))
    return tuple(found)


def _consequences(
    old: Manifest, new: Manifest, left: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say in words what is kept and what is lost."""
    kept = ["the server's model, and who is in the fleet"]
    lost = ["updates that were not confirmed: they are of the old epoch, and never applied"]
    if old.lineage == new.lineage:
        kept.append("the devices' models, and with them what was not confirmed")
    else:
        lost.append("the devices' own models: all begin from the server's")
    added = new.inputs[len(old.inputs) :]
    if added:
        usual = " and ".join(f"{number.name} is {number.offset:g}" for number in added)
        names = " or ".join(number.name for number in added)
        kept.append(f"what the model predicts where {usual}")
        lost.append("what it predicts elsewhere: that has to be learned")
        lost.append(f"samples without {names}: devices refuse them from now on, so measure first")
    if old.tick_seconds != new.tick_seconds:
        kept.append(f"tick numbers: they go on with {new.from_tick}")
        lost.append("the count of how late updates came, which was in ticks of the old length")
        age = new.max_age * new.tick_seconds
        kept.append(f"an age limit in ticks: {new.max_age} are {age:g} s from now on")
    if left:
        lost.append("what the server's rule kept beside the model, such as scores of devices")
    if old.clip is not None and not usual_row(new.word).can_be_bounded:
        lost.append(f"the bound on what one device can do: the rule of {new.algorithm} has none")
    if new.clip is not None and not usual_row(old.word).can_be_bounded:
        kept.append(f"the bound on what one device can do, which comes back: clip {new.clip:g}")
    if len(named(old.parts.learner.init(old.features))) > 1:
        lost.append("what a device's learner kept beside its model")
    return tuple(kept), tuple(lost)


def _words(name: str) -> str:
    return "tick" if name == "tick_seconds" else name.replace("_", " ")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(number)}" for name, number in value.items())
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _range(number: Quantity) -> str:
    low, high = number.low, number.high
    if low is None and high is None:
        return "any"
    return f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"


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
