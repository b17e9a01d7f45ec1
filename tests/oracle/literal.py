"""The algorithm as the paper writes it, one client and one D x D selection matrix at a time.

Nothing here is fast, and nothing should be: every line is meant to be read beside its equation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Real: TypeAlias = NDArray[np.float64]
Nature: TypeAlias = Mapping[str, NDArray[Any]]
Uplink: TypeAlias = Literal["same", "next"]
Divisor: TypeAlias = Literal["class", "coverage"]
Exchange: TypeAlias = Literal["paper", "single", "live"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One algorithm: what it shares, how the server weighs it, and who takes part."""

    shared: int | None  # m; None: the whole model, m = D
    coordinated: bool
    uplink: Uplink
    base: float  # alpha_l = base**l
    learns_away: bool
    subset: int | float | None  # None: all the available clients take part
    divisor: Divisor
    exchange: Exchange
    step_size: float
    max_age: int  # l_max


class Defaults(NamedTuple):
    """A line of the table of algorithms."""

    whole: bool  # shares all D coordinates
    coordinated: bool  # of no consequence where the whole model travels
    uplink: Uplink
    base: float
    learns_away: bool
    picks: bool  # the server picks a subset of the available clients


ROWS: dict[str, Defaults] = {
    "online-fedsgd": Defaults(True, True, "same", 1.0, False, False),
    "online-fed": Defaults(True, True, "same", 1.0, False, True),
    "pso-fed": Defaults(False, True, "next", 1.0, True, True),
    "pao-fed-c0": Defaults(False, True, "same", 1.0, True, False),
    "pao-fed-u0": Defaults(False, False, "same", 1.0, True, False),
    "pao-fed-c1": Defaults(False, True, "next", 1.0, True, False),
    "pao-fed-u1": Defaults(False, False, "next", 1.0, True, False),
    "pao-fed-c2": Defaults(False, True, "next", 0.2, True, False),
    "pao-fed-u2": Defaults(False, False, "next", 0.2, True, False),
}


def row(
    name: str,
    *,
    shared: int = 4,
    coordinated: bool | None = None,
    base: float | None = None,
    subset: int | float | None = None,
    divisor: Divisor = "class",
    exchange: Exchange = "paper",
    step_size: float = 0.4,
    max_age: int = 10,
) -> Row:
    """The row of a named algorithm; `shared` says nothing to those that share the whole model."""
    defaults = ROWS[name]
    if defaults.picks != (subset is not None):
        raise ValueError(f"{name} {'needs' if defaults.picks else 'takes no'} subset")
    return Row(
        shared=None if defaults.whole else shared,
        coordinated=defaults.coordinated if coordinated is None else coordinated,
        uplink=defaults.uplink,
        base=defaults.base if base is None else base,
        learns_away=defaults.learns_away,
        subset=subset,
        divisor=divisor,
        exchange=exchange,
        step_size=step_size,
        max_age=max_age,
    )


class History(NamedTuple):
    """Every model there ever was, the learning curve, and the traffic in coordinates."""

    server: Real  # (N + 1, D): w_0 .. w_N
    clients: Real  # (N + 1, K, D): w_{k,0} .. w_{k,N}
    mse: Real  # (N,): point n is the error of w_{n+1}
    sent_up: int
    sent_down: int


class Message(NamedTuple):
    """What a client sent: S_{k,n} w_{k,n+1}, and S itself, which never really travels."""

    sender: int
    sent: int
    arrives: int
    selection: Real  # S_{k,n}, (D, D)
    values: Real  # S_{k,n} w_{k,n+1}, (D,)


def fourier(x: NDArray[Any], frequencies: NDArray[Any], phases: NDArray[Any]) -> Real:
    """z(x) = sqrt(2/D) cos(x V + b), for one input of d numbers."""
    result: Real = np.sqrt(2.0 / len(phases)) * np.cos(x @ frequencies + phases)
    return result


def circshift(selection: Real, places: int) -> Real:
    """The paper's circshift of a diagonal selection matrix."""
    return np.diag(np.roll(np.diag(selection), places))


def coordinates(row: Row, features: int) -> int:
    """m, the number of ones in every selection matrix."""
    m = features if row.shared is None else row.shared
    if not 1 <= m <= features:
        raise ValueError(f"cannot share {m} of {features} coordinates")
    return m


def downlink(row: Row, features: int, client: int, tick: int) -> Real:
    """M_{k,n}: M_{1,n} = circshift(M_{1,0}, m n), M_{k,n} = circshift(M_{1,n}, m k)."""
    m = coordinates(row, features)
    diagonal = np.zeros(features)
    diagonal[:m] = 1.0
    selection = circshift(np.diag(diagonal), m * tick)
    # Counting from 0, client 0 is the paper's client 1, whose matrix is not shifted.
    return selection if row.coordinated else circshift(selection, m * client)


def uplink(row: Row, features: int, client: int, tick: int) -> Real:
    """S_{k,n}: M_{k,n} itself, or circshift(M_{k,n}, m), the part longest left alone."""
    received = downlink(row, features, client, tick)
    if row.uplink == "same":
        return received
    return circshift(received, coordinates(row, features))


def taking_part(row: Row, available: NDArray[Any], lottery: NDArray[Any]) -> list[int]:
    """The clients in contact with the server at one tick, in order of index."""
    present = [client for client in range(len(available)) if available[client]]
    subset = row.subset
    if subset is None:
        return present
    if isinstance(subset, float) and 0.0 < subset < 1.0:
        return [client for client in present if lottery[client] < subset]
    if isinstance(subset, int) and not isinstance(subset, bool) and subset >= 1:
        ranked = sorted((float(lottery[client]), client) for client in present)
        return sorted(client for _, client in ranked[:subset])
    raise ValueError(f"not a subset: {subset!r}")


def over_the_wire(values: Real, wire32: bool) -> Real:
    """What the other side reads: the same numbers, or the nearest float32."""
    return values.astype(np.float32).astype(np.float64) if wire32 else values


def merge(selection: Real, received: Real, own: Real) -> Real:
    """M w + (I - M) w_k, where `received` is M w (the first two terms of eq. 7)."""
    merged: Real = received + (np.eye(len(own)) - selection) @ own
    return merged


def learn(model: Real, z: Real, y: float, step_size: float) -> Real:
    """One LMS step from the given model: eq. (5), or eqs. (7) and (8) from a merged one."""
    error = y - float(model @ z)
    return model + step_size * error * z


def newest_only(arrived: list[tuple[int, Message]]) -> list[tuple[int, Message]]:
    """Adjust the selection matrices of older updates before eq. (9), as the paper's note says.

    Zero is put where a newer update covers the coordinate; those of equal age share it.
    """
    adjusted = []
    for age, message in arrived:
        selection = message.selection.copy()
        for other_age, other in arrived:
            if other_age < age:
                selection = selection @ (np.eye(len(selection)) - other.selection)
        adjusted.append((age, message._replace(selection=selection)))
    return adjusted


def aggregate(server: Real, messages: list[Message], tick: int, row: Row) -> Real:
    """w_{n+1} by eq. (9), from the messages arriving at this tick."""
    identity = np.eye(len(server))
    # Beyond l_max a message neither counts in |K_{n,l}| nor covers a coordinate.
    arrived = [
        (message.arrives - message.sent, message)
        for message in messages
        if message.arrives == tick and message.arrives - message.sent <= row.max_age
    ]
    # The canonical order of the sum: age, then sender, then sending tick.
    arrived.sort(key=lambda pair: (pair[0], pair[1].sender, pair[1].sent))
    adjusted = newest_only(arrived)

    change = np.zeros_like(server)
    for age in range(row.max_age + 1):
        members = [message for its_age, message in adjusted if its_age == age]
        if not members:
            continue  # "omitting any empty set"
        if row.divisor == "class":
            # 1 / |K_{n,l}|: all the messages of this age, whatever they cover.
            inverse = identity / len(members)
        else:
            # Coordinate by coordinate, the messages of this age that hold it.
            holders = np.diag(sum((message.selection for message in members), 0.0 * identity))
            inverse = np.diag([1.0 / count if count > 0 else 0.0 for count in holders])
        alpha = row.base**age
        for message in members:
            change = change + alpha * inverse @ message.selection @ (message.values - server)
    return server + change


def run(nature: Nature, row: Row, *, wire32: bool = False) -> History:
    """All the ticks of one run, in the order: share, learn, send, apply."""
    ticks, clients = nature["has_data"].shape
    # Truth tables where something is lost, else empty.
    lost_up, lost_down = (
        nature[way] if nature[way].size else np.zeros((ticks, clients), dtype=bool)
        for way in ("lost_up", "lost_down")
    )
    frequencies, phases = nature["frequencies"], nature["phases"]
    features = len(phases)
    if row.exchange != "paper" and row.uplink == "same" and coordinates(row, features) < features:
        raise ValueError("the other exchanges need the next uplink window or the whole model")

    server = np.zeros(features)
    models = [np.zeros(features) for _ in range(clients)]
    messages: list[Message] = []
    server_history = [server]
    client_history = [list(models)]
    mse = []
    sent_up = sent_down = 0

    for n in range(ticks):
        contacts = taking_part(row, nature["available"][n], nature["lottery"][n])

        for k in range(clients):
            if not nature["has_data"][n, k]:
                continue
            z = fourier(nature["x"][n, k], frequencies, phases)
            y = float(nature["y"][n, k])
            if k not in contacts:
                # Also a client that is available but was not picked.
                if row.learns_away:
                    models[k] = learn(models[k], z, y, row.step_size)  # eq. (5)
                continue

            m_selection = downlink(row, features, k, n)
            s_selection = uplink(row, features, k, n)
            # w_n, from before this tick's arrivals. Under "live" the reply comes with the
            # arrival instead, but a contact is charged its coordinates down all the same.
            shared = over_the_wire(m_selection @ server, wire32)
            sent_down += int(np.trace(m_selection))

            if row.exchange == "paper" and not lost_down[n, k]:
                models[k] = merge(m_selection, shared, models[k])
            models[k] = learn(models[k], z, y, row.step_size)  # eqs. (7), (8)
            values = over_the_wire(s_selection @ models[k], wire32)
            sent_up += int(np.trace(s_selection))
            if not lost_up[n, k]:
                messages.append(Message(k, n, n + int(nature["delay"][n, k]), s_selection, values))
            if row.exchange == "single" and not lost_down[n, k]:
                models[k] = merge(m_selection, shared, models[k])

        if row.exchange == "live":
            # After all learning and sending: one reply to each client heard from at this tick,
            # on its window of this tick, unless all that came was beyond the age limit, or all
            # replies to it are lost.
            answered = {
                message.sender
                for message in messages
                if message.arrives == n
                and message.arrives - message.sent <= row.max_age
                and not lost_down[message.sent, message.sender]
            }
            for k in sorted(answered):
                m_selection = downlink(row, features, k, n)
                shared = over_the_wire(m_selection @ server, wire32)
                models[k] = merge(m_selection, shared, models[k])

        server = aggregate(server, messages, n, row)

        server_history.append(server)
        client_history.append(list(models))
        errors = [
            float(y) - float(server @ fourier(x, frequencies, phases))
            for x, y in zip(nature["x_test"], nature["y_test"], strict=True)
        ]
        mse.append(sum(error**2 for error in errors) / len(errors))

    return History(
        server=np.array(server_history),
        clients=np.array(client_history).reshape(ticks + 1, clients, features),
        mse=np.array(mse),
        sent_up=sent_up,
        sent_down=sent_down,
    )
