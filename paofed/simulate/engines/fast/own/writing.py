"""Writes the kernel of one method: the tick of the reference engine around the method's own rules.

The same steps as paofed.simulate.engines.reference. numba cannot take the fields of somebody's
NamedTuple one by one, so the lines that load and store a state are written for the method at hand.
Names that the text leaves open (`learn`, `up_send`, `apply`, ...) are the method's own rules,
compiled. A flag is given as `bool(1)`: numba would compile a function anew for each literal 1 or 0.
"""

from typing import NamedTuple

from paofed.core.traffic import Traffic

_KERNEL = """
import numpy as np
from numba import njit
from paofed.core.parts import SERVER, Stamp, silence
from paofed.simulate.engines.fast.compiling import kept
from paofed.simulate.engines.fast.kernels import LIVE, PAPER, SINGLE
from paofed.simulate.engines.fast.own.kernels import (
    arrived, asks, copied, cut, depart, greetings, keep, lms, messages_of, moved, newest, others,
    same_coordinates, same_values, unlike, updates, valid, whole, windowed
)

{counts} = range({count})  # the places of Traffic
_inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def share(numbers, learner, server, memory, joined, tally, k, n, lost, merges):
    if not joined[k]:
        return share_whole(numbers, learner, server, joined, tally, k, merges and not lost)
    w = {server_tells}
    {pass_down}
    arriving = others(arriving, numbers.heard)
    if merges and not lost and arriving.coordinates.size:
        {merge}
    return 0


@_inner
def share_whole(numbers, learner, server, joined, tally, k, merges):
    w = {server_tells}
    if w.size != numbers.told_down:
        return 1
    arriving = whole(w)
    tally.traffic[COORDINATES_DOWN] += w.size
    tally.traffic[MESSAGES_DOWN] += 1
    tally.traffic[PAYLOAD_DOWN] += 4 * w.size
    if merges:
        joined[k] = 1
        {merge}
    return 0


@_inner
def greet(numbers, learner, server, joined, flight, tally, k, n, age, lost):
    tally.traffic[MESSAGES_UP] += 1
    tally.traffic[CONTACTS] += 1
    if not lost:
        depart(flight, silence(), k, n, n + age, bool(0))
    # The answer counts with its contact.
    return share_whole(numbers, learner, server, joined, tally, k, bool(0))


@_inner
def tell(numbers, learner, memory, flight, tally, k, n, age, lost, unheard):
    w = {device_tells}
    {pass_up}
    if age <= numbers.max_age and not lost:
        depart(flight, arriving, k, n, n + age, unheard)
    return 0


@_inner
def answer(numbers, learner, server, memory, joined, flight, tally, order, n):
    counts = tally.traffic.copy()
    said = updates(flight, order)
    for place in range(said.size):
        if asks(flight, said, place):
            k = flight.client[said[place]]
            if share(numbers, learner, server, memory, joined, tally, k, n, bool(0), bool(1)):
                return 1
    for i in greetings(flight, order):
        k = flight.client[i]
        if not joined[k] and share_whole(numbers, learner, server, joined, tally, k, bool(1)):
            return 1
    for i in range(counts.size):  # contacts have counted their answers
        tally.traffic[i] = counts[i]
    return 0


@_inner
def judge(numbers, learner, server, tally, k, z, y, place):
    mine, theirs, w, other = 0.0, 0.0, {device_model}, {server_model}
    if w.size != z.size or other.size != z.size:
        return 1
    for j in range(z.size):
        mine += w[j] * z[j]
        theirs += other[j] * z[j]
    tally.judged[0, place] = y - mine
    tally.judged[1, place] = y - theirs
    return 0


@kept(nogil=True, error_model="numpy")
def advance(samples, numbers, learner, kept, up_memory, down_memory, joined, flight, tally):
    server = {begun}
    for t in range(samples.begin.size - 1):
        n = samples.first + t
        for i in range(samples.begin[t], samples.begin[t + 1]):
            k = samples.client[i]
            joins, lost = samples.joins[i], samples.lost_down[i] != 0
            if tally.judged.size and judge(
                numbers, learner, server, tally, k, samples.z[i], samples.truth[i],
                samples.place + i,
            ):
                return 1
            {see}
            told, heard = tally.traffic[MESSAGES_UP], tally.traffic[MESSAGES_DOWN]
            if joins and numbers.exchange == PAPER:
                if share(numbers, learner, server, down_memory, joined, tally, k, n, lost, bool(1)):
                    return 1
            if joins or numbers.learns_away:
                for j in range(samples.due[i], samples.due[i + 1]):
                    z, y = samples.due_z[j], samples.due_y[j]
                    {learn}
            if joins and numbers.exchange == LIVE and not joined[k]:
                unheard = samples.lost_up[i] != 0 or lost
                if greet(
                    numbers, learner, server, joined, flight, tally, k, n, samples.age[i], unheard
                ):
                    return 1
            elif joins:
                if tell(
                    numbers, learner, up_memory, flight, tally, k, n, samples.age[i],
                    samples.lost_up[i], lost,
                ):
                    return 1
                asked = tally.traffic[MESSAGES_UP] > told
                if numbers.exchange == SINGLE or (numbers.exchange == LIVE and asked):
                    merges = numbers.exchange == SINGLE
                    if share(
                        numbers, learner, server, down_memory, joined, tally, k, n, lost, merges
                    ):
                        return 1
                if asked or tally.traffic[MESSAGES_DOWN] > heard:
                    tally.traffic[CONTACTS] += 1
        order = arrived(flight, n)
        if numbers.exchange == LIVE:
            if answer(numbers, learner, server, down_memory, joined, flight, tally, order, n):
                return 1
            order = updates(flight, order)
        {apply}
    {end}
    return 0
"""


class Shape(NamedTuple):
    """Which parts of a method are its own, and how many arrays its states have.

    A count is None where the part is the paper's. `learner_w` and `server_w` are the place of the
    model in a state, where the method has no `model` function of its own; `merge_w` is the place of
    the values that are overwritten, where it has no `merge` of its own.
    """

    learner: int
    lms: bool  # whether the step of devices is the paper's
    learner_w: int | None
    merge_w: int | None
    server: int | None
    server_w: int | None
    bounded: bool  # whether the server is the paper's with bounded influence
    up: int | None
    up_coded: tuple[str, ...] | None  # if bytes are coded: the promises that are waived
    down: int | None
    down_coded: tuple[str, ...] | None
    given: tuple[tuple[str, int], ...]  # how many numbers are given to each rule
    in_place: tuple[str, ...] = ()  # the parts that change the state that they are given


def source(shape: Shape) -> str:
    """Write the kernel of a method of this shape."""
    device = _state("Learner", "learner", shape.learner, "[k]", _copied(shape, "learner"))
    server = _state("Server", "server", shape.server or 0, "", ".copy()" if shape.bounded else "")
    model = "server[0]" if shape.server is None else f"server[{shape.server_w}]"
    if shape.server is not None and shape.server_w is None:
        model = f"{_call(shape, 'server_model')}{server})"
    own_model = f"learner[{shape.learner_w}][k]"
    if shape.learner_w is None:
        own_model = f"{_call(shape, 'learner_model')}{device})"
    taken_over = range(0 if shape.bounded else shape.server or 0)
    copies = "".join(f"kept[{i}]{_copied(shape, 'server')}, " for i in taken_over)
    texts = {
        "device_model": own_model,
        "device_tells": _told(shape, "learner", device) or own_model,
        "server_tells": _told(shape, "server", server) or model,
        "learn": _learn(shape, device),
        "see": _see(shape, device),
        "server_model": model,
        "counts": ", ".join(Traffic._fields).upper(),
        "count": str(len(Traffic._fields)),
        "pass_down": _passed(shape, "down", shape.down, shape.down_coded),
        "pass_up": _passed(shape, "up", shape.up, shape.up_coded),
        "merge": _merge(shape, device),
        "apply": _apply(shape, server),
        "begun": f"({copies})" if taken_over else "kept",
        "end": "\n    ".join(_kept(f"kept[{i}]", f"server[{i}]") for i in taken_over),
    }
    text = _KERNEL
    for name, value in texts.items():
        text = text.replace("{" + name + "}", value)
    return text


def _told(shape: Shape, side: str, state: str) -> str | None:
    """Write what a side tells; None if that is its model."""
    tells = f"{side}_tells"
    if tells not in dict(shape.given):
        return None
    return f"{_call(shape, tells)}{state})"


def _call(shape: Shape, rule: str) -> str:
    """Write the beginning of a rule's call: its name, and the numbers given to the rule.

    The numbers of all rules are a tuple of tuples, in the order of `Shape.given`.
    """
    place = [name for name, _ in shape.given].index(rule)
    numbers = (f"numbers.given[{place}][{i}], " for i in range(shape.given[place][1]))
    return f"{rule}({''.join(numbers)}"


def _state(name: str, stack: str, count: int, index: str, copied: str = ".copy()") -> str:
    """Write the code that loads a state as copies.

    A rule may return a field of its argument in the place of another field, which would otherwise
    be read after it was overwritten.
    """
    arrays = "".join(f"{stack}[{i}]{index}{copied}, " for i in range(count))
    return f"{name}({arrays})" if count else "()"


def _copied(shape: Shape, part: str) -> str:
    """Write how a state is loaded for a part: a part that works in place is given no copy."""
    return "" if part in shape.in_place else ".copy()"


def _kept(here: str, there: str) -> str:
    """Write what copies an array to its place if it is not there: true if it cannot be kept."""
    return f"(moved({here}, {there}) and keep({here}, {there}))"


def _stored(stack: str, state: str, count: int, index: str, indent: int) -> str:
    kept = [_kept(f"{stack}[{i}]{index}", f"{state}[{i}]") for i in range(count)]
    wrong = " or ".join([f"len({state}) != {count}", *kept])
    return f"if {wrong}:\n{' ' * indent}    return 1"


def _passed(shape: Shape, direction: str, count: int | None, waived: tuple[str, ...] | None) -> str:
    """Write the code that sends a part of w over a link, counts it and sets `arriving`."""
    where = direction.upper()
    return f"""if w.size != numbers.told_{direction}:
        return 1
    stamp = Stamp(k, n, w.size, numbers.{direction}_key)
    {_send(shape, direction, count)}
    if not valid(part, w.size, tally):
        return 1
    if part.coordinates.size == 0:
        return 0
    {_travel(shape, direction, waived)}
    tally.traffic[COORDINATES_{where}] += part.coordinates.size
    tally.traffic[MESSAGES_{where}] += 1
    tally.traffic[PAYLOAD_{where}] += bytes_"""


def _send(shape: Shape, direction: str, count: int | None) -> str:
    if count is None:
        return f"part = windowed(w, numbers.{direction}, stamp)"
    before = _state(direction.title(), "memory", count, "[k]", _copied(shape, direction))
    after = _stored("memory", "after", count, "[k]", 4)
    return f"part, after = {_call(shape, f'{direction}_send')}w, {before}, stamp)\n    {after}"


# Whether what arrives is what was sent: the promise, and the function of `kernels` that looks,
# where `valid` has just looked at what arrives.
_AS_SENT = {"coordinates known to both": "same_coordinates", "values survive": "same_values"}


def _travel(shape: Shape, direction: str, waived: tuple[str, ...] | None) -> str:
    if waived is None:
        return "arriving, bytes_ = part, 4 * part.coordinates.size"
    kept = [same for promise, same in _AS_SENT.items() if promise not in waived]
    lost = " or ".join(f"not {same}(sent, arriving, tally)" for same in kept) or "bool(0)"
    left = f"tally.to_compare[{('up', 'down').index(direction)}]"
    return f"""sent = copied(part)
    payload = {_call(shape, f"{direction}_encode")}part, stamp)
    arriving = {_call(shape, f"{direction}_decode")}payload, stamp)
    bytes_ = payload.size
    if payload.itemsize != 1 or arriving.coordinates.size == 0 or not valid(
        arriving, w.size, tally
    ):
        return 1
    if {left} > 0:
        {left} -= 1
        if {lost}:
            return 1"""


def _learn(shape: Shape, device: str) -> str:
    if shape.lms:
        return "lms(learner[0][k], z, y, numbers.mu)"
    stored = _stored("learner", "state", shape.learner, "[k]", 20)
    return f"state = {_call(shape, 'learn')}{device}, z, y, numbers.mu, n)\n{' ' * 20}{stored}"


def _see(shape: Shape, device: str) -> str:
    if "learner_sees" not in dict(shape.given):
        return ""
    stored = _stored("learner", "state", shape.learner, "[k]", 12)
    return f"state = {_call(shape, 'learner_sees')}{device}, samples.z[i])\n{' ' * 12}{stored}"


def _merge(shape: Shape, device: str) -> str:
    if shape.merge_w is not None:
        return f"""here = learner[{shape.merge_w}][k]
        for j in range(arriving.coordinates.size):
            here[arriving.coordinates[j]] = arriving.values[j]"""
    stored = _stored("learner", "state", shape.learner, "[k]", 8)
    return f"state = {_call(shape, 'merge')}{device}, arriving)\n        {stored}"


def _apply(shape: Shape, state: str) -> str:
    paper = "newest({}, flight, order, n, numbers.weights, numbers.by_coverage)"
    if shape.server is None:
        return paper.format("server[0]")
    if shape.bounded:
        w, stored = f"server[{shape.server_w}]", _stored("server", "after", shape.server, "", 12)
        return f"""if order.size:
            before, messages = {state}, messages_of(flight, order)
            limits, after = received(
                numbers.clip, numbers.aside_above, before, messages, sizes_of(before.w, messages)
            )
            {stored}
            cut({w}, flight, order, limits)
            {paper.format(w)}"""
    return f"""stamp = Stamp(SERVER, n, samples.z.shape[1], numbers.server_key)
        after = {_call(shape, "apply")}{state}, messages_of(flight, order), stamp)
        {_taken_over(shape.server)}"""


def _taken_over(count: int) -> str:
    """Write the code that makes what `apply` returned the server's state.

    The arrays at hand are written back only at the end: a server may keep a number for every client
    and coordinate, and to copy them at each tick would take longer than most rules do. A kernel
    begins with copies, since a field may take the place of another, unless the rule works in place.
    """
    kinds = [f"unlike(server[{i}], after[{i}])" for i in range(count)]
    arrays = "".join(f"np.ascontiguousarray(after[{i}]), " for i in range(count))
    return f"""if {" or ".join([f"len(after) != {count}", *kinds])}:
            return 1
        server = ({arrays})"""
