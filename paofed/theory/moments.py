"""Second moments of what clients see: R_k = E[z z^T] and r_k = E[z y].

In closed form where inputs are Gaussian, since E cos(a.x + c) is known for x ~ N(m, s^2 I);
estimated from samples otherwise, with a standard error.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.errors import InputError, TraceError
from paofed.memory import require_memory
from paofed.world.streams import INPUTS, ClientLaws
from paofed.world.trace import Trace

ComplexArray = NDArray[np.complex128]

_NARROW = 0.1  # up to this spread, the target is nearly smooth over the inputs
_TURNS = 8.0  # radians over a spread up to which Gauss-Hermite quadrature resolves a wave
_NODES = 50  # nodes of Gauss-Legendre quadrature in a panel
# Radians from the middle of a panel to its ends up to which the nodes resolve a wave.
_RADIANS = 30.0
_MOST_WORK = 1e11  # the most steps: they take some minutes
# Batches of consecutive samples, for a standard error that survives correlated inputs.
_BATCHES = 10


class Moments(NamedTuple):
    """What the mean of an LMS step needs, by client; the errors are 0 where moments are exact."""

    R: FloatArray  # (K, D, D), correlation of the mapped inputs
    r: FloatArray  # (K, D), correlation of mapped inputs and targets
    R_error: float  # root mean square of the entries' standard errors
    r_error: float


def after_drifts(fourier_map: FourierMap, laws: ClientLaws, drifts: int) -> FloatArray:
    """Return E[z y] at the start and after each of the drifts, (drifts + 1, K, D).

    A drift moves the roles of the inputs on by one. All inputs of a client have one law, so the
    result is as if the frequencies had moved on instead.
    """
    roles = np.arange(INPUTS)
    moved = [
        fourier_map._replace(frequencies=fourier_map.frequencies[(roles + seen) % INPUTS])
        for seen in range(drifts + 1)
    ]
    return np.stack([_with_target(map_, laws.stationary_mean, laws.spread) for map_ in moved])


def closed_form(fourier_map: FourierMap, laws: ClientLaws) -> Moments:
    """Return the moments under the stationary law of each client of the paper's stream."""
    mean, spread = laws.stationary_mean, laws.spread
    features = fourier_map.phases.size
    R = np.empty((mean.size, features, features))
    for k, (m, s) in enumerate(zip(mean, spread, strict=True)):
        R[k] = _correlation(fourier_map, m, s)
    return Moments(R, _with_target(fourier_map, mean, spread), 0.0, 0.0)


def estimated(trace: Trace) -> Moments:
    """Return the moments of the samples in a trace, client by client."""
    parts = [_of_samples(trace, k) for k in range(trace.clients)]
    R, r, R_error, r_error = (np.stack(column) for column in zip(*parts, strict=True))
    return Moments(R, r, _rms(R_error), _rms(r_error))


def _correlation(fourier_map: FourierMap, m: float, s: float) -> FloatArray:
    """Return E[z z^T]: a product of two cosines is half the sum of two other cosines."""
    V, b, _ = fourier_map
    angle, norms, inner = m * V.sum(axis=0) + b, (V**2).sum(axis=0), V.T @ V
    cosines, sines = (np.outer(wave(angle), wave(angle)) for wave in (np.cos, np.sin))
    R = np.zeros((b.size, b.size))
    for sign in (1.0, -1.0):
        damping = np.exp(-(s**2) / 2 * (norms[:, None] + norms + 2 * sign * inner))
        R += damping * (cosines - sign * sines)
    return R / b.size


def _with_target(fourier_map: FourierMap, mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Return E[z f(x)] for the paper's f, a sum of a function of (x1, x4) and one of (x2, x3)."""
    (a1, a2, a3, a4), b, _ = fourier_map
    m, s = mean[:, None], spread[:, None]
    wave = np.empty((mean.size, b.size), dtype=np.complex128)
    wide = (spread > _NARROW) | (spread * np.abs(fourier_map.frequencies).max() > _TURNS)
    for clients, integral in ((wide, _wide_wave), (~wide, _narrow_wave)):
        if clients.any():
            wave[clients] = integral(a1, a4, mean[clients], spread[clients])
    wave *= _phi(a2, m, s) * _phi(a3, m, s)
    # E[exp(-x^2 + i a x)] of a Gaussian x, and E[x exp(i a x)].
    damped = np.exp((1j * a2 * m - (a2 * s) ** 2 / 2 - m**2) / (1 + 2 * s**2))
    damped /= np.sqrt(1 + 2 * s**2)
    slope = (m + 1j * a3 * s**2) * _phi(a3, m, s)
    ridge = (0.8 * _phi(a2, m, s) - 0.5 * damped) * slope * _phi(a1, m, s) * _phi(a4, m, s)
    r: FloatArray = np.sqrt(2.0 / b.size) * (np.exp(1j * b) * (wave + ridge)).real
    return r


def _phi(a: FloatArray, m: FloatArray, s: FloatArray) -> ComplexArray:
    """Return E[exp(i a x)] for x ~ N(m, s^2)."""
    phi: ComplexArray = np.exp(1j * a * m - (a * s) ** 2 / 2)
    return phi


def _narrow_wave(
    a1: FloatArray, a4: FloatArray, mean: FloatArray, spread: FloatArray
) -> ComplexArray:
    """Return what `_wide_wave` does for inputs that hardly vary, by Gauss-Hermite quadrature."""
    h, weight = np.polynomial.hermite_e.hermegauss(60)
    weight /= weight.sum()
    wave = np.empty((mean.size, a1.size), dtype=np.complex128)
    for k, (m, s) in enumerate(zip(mean, spread, strict=True)):
        x = m + s * h
        root = np.sqrt(x[:, None] ** 2 + np.sin(np.pi * x) ** 2) * np.outer(weight, weight)
        turning = [np.exp(1j * np.outer(x, a)) for a in (a1, a4)]
        wave[k] = (turning[0] * (root @ turning[1])).sum(axis=0)
    return wave


def _wide_wave(
    a1: FloatArray, a4: FloatArray, mean: FloatArray, spread: FloatArray
) -> ComplexArray:
    """Return E[sqrt(x1^2 + sin^2(pi x4)) exp(i (a1 x1 + a4 x4))], (K, D).

    The function has period 1 in x4. As a Fourier series sum_q c_q(x1) cos(2 pi q x4), its mean over
    x4 has a closed form, dies out fast in q, and leaves one integral over x1.
    """
    grid = _grid(a1, a4, mean, spread)
    # Both integrands have a kink at 0; nodes that gather there make the kink harmless.
    u, weight = _gauss_legendre(grid.panels)
    x1 = np.concatenate([-grid.reach * u**2, grid.reach * u**2])
    dx1 = np.tile(2 * grid.reach * u * weight, 2)
    u, weight = _gauss_legendre(grid.panels_over_t)
    t, dt = 0.5 * u**4, 2 * u**3 * weight
    root = np.sqrt(x1[:, None] ** 2 + np.sin(np.pi * t) ** 2)
    density = np.exp(-((x1 - mean[:, None]) ** 2) / (2 * spread[:, None] ** 2)) * dx1
    density /= np.sqrt(2 * np.pi) * spread[:, None]
    turning = np.exp(1j * np.outer(x1, a1))
    m, s = mean[:, None], spread[:, None]
    wave = np.zeros((mean.size, a1.size), dtype=np.complex128)
    for q in range(grid.highest + 1):
        c_q = (2.0 if q == 0 else 4.0) * (root * np.cos(2 * np.pi * q * t)) @ dt
        over_x4 = (_phi(a4 + 2 * np.pi * q, m, s) + _phi(a4 - 2 * np.pi * q, m, s)) / 2
        wave += ((density * c_q) @ turning) * over_x4
    return wave


class _Grid(NamedTuple):
    """How fine the integrals of `_wide_wave` are: panels of nodes over x1 > 0 and over t."""

    reach: float  # up to which x1 the integral goes
    panels: int
    panels_over_t: int
    highest: int  # the highest term of the Fourier series


def _grid(a1: FloatArray, a4: FloatArray, mean: FloatArray, spread: FloatArray) -> _Grid:
    """Return a grid as fine as densities and waves ask for; refuse one that would take for ever."""
    reach, narrowest = float(np.abs(mean).max() + 9.0 * spread.max()), float(spread.min())
    fastest = float(max(np.abs(a1).max(), np.abs(a4).max()))
    highest = math.ceil((np.abs(a4).max() + 8.0 / narrowest) / (2 * np.pi))
    panels = math.ceil(max(8, reach / narrowest / 2, reach * np.abs(a1).max() / _RADIANS))
    over_t = math.ceil(max(8, 2 * np.pi * highest / _RADIANS))
    nodes, columns = 2.0 * _NODES * panels, _NODES * over_t
    what = (
        f"inputs up to {reach:.3g}, spreads from {narrowest:.3g} on and waves of {fastest:.3g} "
        f"radians per unit"
    )
    advice = "take a wider kernel_width, or bring centre and variance nearer to each other"
    # For each term of the series, the square root takes ten times as long as the rest.
    work = (highest + 1) * nodes * (10 * columns + mean.size * a1.size)
    if work > _MOST_WORK:
        raise InputError(
            f"{what} are too much for the integrals of theory ({work:.0e} steps, expected at most "
            f"{_MOST_WORK:.0e}): {advice}"
        )
    needed = 8 * nodes * (2 * columns + mean.size + 2 * a1.size)
    require_memory(needed, f"theory with {what}", advice)
    return _Grid(reach, panels, over_t, highest)


def _gauss_legendre(panels: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights on [0, 1], in equal panels."""
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    begins = np.arange(panels)[:, None] / panels
    return (begins + (x + 1) / 2 / panels).ravel(), np.tile(weight / 2 / panels, panels)


def _of_samples(trace: Trace, k: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    seen = np.flatnonzero(trace.has_data[:, k])
    if seen.size < _BATCHES:
        raise TraceError(
            f"client {k} has {seen.size} samples: its moments need at least {_BATCHES}"
        )
    batches = []
    for ticks in np.array_split(seen, _BATCHES):
        z = trace.fourier_map(trace.x[ticks, k])
        batches.append((z.T @ z / ticks.size, trace.y[ticks, k] @ z / ticks.size, ticks.size))
    share = np.array([size for *_, size in batches]) / seen.size
    R, r = (np.stack([batch[i] for batch in batches]) for i in (0, 1))
    errors = (np.std(values, axis=0, ddof=1) / np.sqrt(_BATCHES) for values in (R, r))
    return np.tensordot(share, R, 1), share @ r, *errors


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
