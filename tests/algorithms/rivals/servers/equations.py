"""The published equations, transcribed plainly; only chance is shared with the rules.

Each takes a history and returns the server's models after every tick. A message holds `at`, some
coordinates, and `v`, their values; `t` is the tick and `age` is t less the tick of sending.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from paofed.core.parts import Stamp, draws, keys_of
from tests.algorithms.rivals.servers.histories import CLIENTS, FEATURES, Arrivals

Models = list[Any]


def fed_async(
    history: list[Arrivals],
    alpha: float,
    decay: float = 0.5,
    hinge: int | None = None,
    slope: float = 10.0,
) -> Models:
    """Mix: w <- (1 - a) w + a w_k, a = alpha s(age), where s(age) = (1 + age)^-decay.

    With a hinge, s(age) = 1 if age <= hinge, else 1 / (slope (age - hinge) + 1).
    """
    w, models = np.zeros(FEATURES), []
    for t, messages in history:
        for _, sent, at, v in messages:
            age = t - sent
            if hinge is None:
                s = (1 + age) ** (-decay)
            elif age <= hinge:
                s = 1.0
            else:
                s = 1 / (slope * (age - hinge) + 1)
            w[at] = (1 - alpha * s) * w[at] + alpha * s * v
        models.append(w.copy())
    return models


def fed_buff(history: list[Arrivals], buffer: int, rate: float) -> Models:
    """Buffer: w <- w + rate / K sum of s(age) delta_i as soon as K of them are there."""
    w, models, begun, deltas = np.zeros(FEATURES), [], {}, []
    for t, messages in history:
        begun[t] = w.copy()
        for _, sent, at, v in messages:
            delta = np.zeros(FEATURES)
            delta[at] = (v - begun[sent][at]) / np.sqrt(1 + t - sent)
            deltas.append(delta)
            if len(deltas) == buffer:
                w = w + rate * np.mean(deltas, axis=0)
                deltas = []
        models.append(w.copy())
    return models


def cached_mean(history: list[Arrivals]) -> Models:
    """The mean over the newest value of every client that has one."""
    w, models = np.zeros(FEATURES), []
    newest: dict[tuple[int, int], tuple[int, float]] = {}
    for _, messages in history:
        for k, sent, at, v in messages:
            for c, value in zip(at, v, strict=True):
                if sent >= newest.get((k, c), (0, 0.0))[0]:
                    newest[k, c] = sent, value
        for c in {c for message in messages for c in message.coordinates}:
            w[c] = np.mean([newest[k, c][1] for k in range(CLIENTS) if (k, c) in newest])
        models.append(w.copy())
    return models


def ace(history: list[Arrivals], rate: float) -> Models:
    """u_k <- the new step of client k, then w <- w + rate / n sum of all u, at every message."""
    w, models, begun = np.zeros(FEATURES), [], {}
    u, when = np.zeros((CLIENTS, FEATURES)), np.full((CLIENTS, FEATURES), -1)
    for t, messages in history:
        begun[t] = w.copy()
        for k, sent, at, v in messages:
            new = at[when[k, at] < sent]
            u[k, new] = (v - begun[sent][at])[when[k, at] < sent]
            when[k, new] = sent
            w[at] += rate * u.mean(axis=0)[at]
        models.append(w.copy())
    return models


def aced(history: list[Arrivals], rate: float, recent: int) -> Models:
    """u_k <- the new step of client k, then w <- w + rate / |A| sum over A of u_i, if A has any.

    A are the clients with t - t_i <= recent, where t_i is the tick from which u_i started.
    """
    w, models, begun = np.zeros(FEATURES), [], {}
    u: dict[tuple[int, int], tuple[int, float]] = {}
    for t, messages in history:
        begun[t] = w.copy()
        for k, sent, at, v in messages:
            for c, value in zip(at, v, strict=True):
                if sent > u.get((k, c), (-1, 0.0))[0]:
                    u[k, c] = sent, value - begun[sent][c]
                active = [
                    step for (_, d), (start, step) in u.items() if d == c and t - start <= recent
                ]
                if active:
                    w[c] += rate * np.mean(active)
        models.append(w.copy())
    return models


def ca2fl(history: list[Arrivals], buffer: int, rate: float, bits: int = 32) -> Models:
    """Move by rate (h + 1 / |S| sum over S of (delta_i - h_i)); then h_i <- Q(delta_i) for S.

    h is the mean of all h_i before S. Q leaves 32 bits as they are. If a client is in S again,
    its h_i is what the server keeps of it by then.
    """
    w, models, begun, messages_of_s = np.zeros(FEATURES), [], {}, 0
    h_i, when = np.zeros((CLIENTS, FEATURES)), np.full((CLIENTS, FEATURES), -1)
    h, calibration, spoken = np.zeros(FEATURES), np.zeros(FEATURES), np.zeros(FEATURES, dtype=bool)
    for t, messages in history:
        begun[t] = w.copy()
        for k, sent, at, v in messages:
            fresh, delta = when[k, at] < sent, v - begun[sent][at]
            calibration[at[fresh]] += (delta - h_i[k, at])[fresh]
            h_i[k, at[fresh]] = quantised(delta, bits, k, sent)[fresh]
            when[k, at[fresh]] = sent
            spoken[at], messages_of_s = True, messages_of_s + 1
            if messages_of_s == buffer:
                w = np.where(spoken, w + rate * (h + calibration / buffer), w)
                h, calibration = h_i.mean(axis=0), np.zeros(FEATURES)
                spoken, messages_of_s = np.zeros(FEATURES, dtype=bool), 0
        models.append(w.copy())
    return models


def quantised(v: Any, bits: int, client: int, sent: int) -> Any:
    """QSGD: scale sign(v_i) xi_i, xi_i = l/s or (l+1)/s by chance; the scale is max |v_i|."""
    if bits == 32:
        return v
    s, scale = 2 ** (bits - 1) - 1, float(np.float32(np.abs(v).max() * (1 + 2.0**-23)))
    chance = draws(Stamp(client, sent, FEATURES, keys_of(1).server), v.size)
    whole = np.floor(s * np.abs(v) / scale)
    up = chance >= 1 - (s * np.abs(v) / scale - whole)
    return scale * np.sign(v) * (whole + up) / s


def temporally_weighted(history: list[Arrivals], base: float) -> Models:
    """Weigh: w = sum of n_k / n base^-(t - t_k) w_k, made a mean; all n_k are equal."""
    w, models = np.zeros(FEATURES), []
    newest: dict[tuple[int, int], tuple[int, float]] = {}
    for t, messages in history:
        before = dict(newest)
        for k, sent, at, v in messages:
            for c, value in zip(at, v, strict=True):
                if sent >= newest.get((k, c), (0, 0.0))[0]:
                    newest[k, c] = sent, value
        for c in {c for k, c in newest if newest[k, c] != before.get((k, c))}:
            known = [newest[k, c] for k in range(CLIENTS) if (k, c) in newest]
            weights = [base ** -float(t - sent) / CLIENTS for sent, _ in known]
            w[c] = np.average([value for _, value in known], weights=weights)
        models.append(w.copy())
    return models


def aso_fed(history: list[Arrivals]) -> Models:
    """Step: w <- w - n_k / N (w_k before - w_k after); n_k counts messages, those of now too."""
    w, models, begun = np.zeros(FEATURES), [], {}
    n = np.zeros(CLIENTS)
    for t, messages in history:
        begun[t] = w.copy()
        n += np.bincount([message.client for message in messages], minlength=CLIENTS)
        for k, sent, at, v in messages:
            w[at] -= n[k] / n.sum() * (begun[sent][at] - v)
        models.append(w.copy())
    return models


def fed_at(history: list[Arrivals], tiers: int) -> Models:
    """Weigh tiers: w = sum of T_(M + 1 - m) / T w_m, w_m the mean of what tier m said last."""
    w, models = np.zeros(FEATURES), []
    ages: dict[int, list[int]] = {}
    spoke = np.zeros((tiers, FEATURES))
    w_m = np.zeros((tiers, FEATURES))
    for t, messages in history:
        for k, sent, *_ in messages:
            ages.setdefault(k, []).append(t - sent)
        order = sorted(ages, key=lambda k: (Fraction(sum(ages[k]), len(ages[k])), k))
        values: dict[tuple[int, int], list[float]] = {}
        for k, _, at, v in messages:
            for c, value in zip(at, v, strict=True):
                values.setdefault((tiers * order.index(k) // len(order), c), []).append(value)
        for (m, c), given in values.items():
            w_m[m, c] = np.mean(given)
            spoke[m, c] += 1
        for c in {c for _, c in values}:
            of_tiers = np.where(spoke[:, c] > 0, w_m[:, c], w[c])
            w[c] = (spoke[::-1, c] / spoke[:, c].sum()) @ of_tiers
        models.append(w.copy())
    return models
