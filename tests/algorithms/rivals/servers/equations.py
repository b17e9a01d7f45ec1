"""The published equations, transcribed plainly; nothing here is shared with the rules.

Each takes a history and returns the server's models after every tick. A message holds `at`, some
coordinates, and `v`, their values; `t` is the tick and `age` is t less the tick of sending.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from tests.algorithms.rivals.servers.histories import CLIENTS, FEATURES, Arrivals

Models = list[Any]


def fed_async(history: list[Arrivals], alpha: float, decay: float) -> Models:
    """Mix: w <- (1 - a) w + a w_k, a = alpha s(age), s(age) = (1 + age)^-decay."""
    w, models = np.zeros(FEATURES), []
    for t, messages in history:
        for _, sent, at, v in messages:
            a = alpha * (1 + t - sent) ** (-decay)
            w[at] = (1 - a) * w[at] + a * v
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


def ca2fl(history: list[Arrivals], buffer: int, rate: float) -> Models:
    """Move by rate (h + 1 / |S| sum over S of (delta_i - h_i)); then h_i <- delta_i for S."""
    w, models, begun, messages_of_s = np.zeros(FEATURES), [], {}, 0
    h, when = np.zeros((CLIENTS, FEATURES)), np.full((CLIENTS, FEATURES), -1)
    deltas, spoken = h.copy(), np.zeros(FEATURES, dtype=bool)
    for t, messages in history:
        begun[t] = w.copy()
        for k, sent, at, v in messages:
            fresh = when[k, at] < sent
            deltas[k, at[fresh]] = (v - begun[sent][at])[fresh]
            when[k, at[fresh]] = sent
            spoken[at], messages_of_s = True, messages_of_s + 1
            if messages_of_s == buffer:
                v_t = h.mean(axis=0) + (deltas - h).sum(axis=0) / buffer
                w = np.where(spoken, w + rate * v_t, w)
                h, spoken, messages_of_s = deltas.copy(), np.zeros(FEATURES, dtype=bool), 0
        models.append(w.copy())
    return models


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
