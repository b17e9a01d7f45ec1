"""Setting I in JAX: a plain scan over the ticks, as one writes it for speed, over many runs.

The GPU engine is measured against this scan, on the same card and over the same worlds. The scan
knows one algorithm, PAO-Fed-U1, and writes no more than the server's model after each tick.
"""

import math
from typing import Any


def prepared(
    sample: Any,
    event: Any,
    frequencies: Any,
    phases: Any,
    *,
    copies: int,
    shared: int,
    mu: float,
    max_age: int,
) -> Any:
    """Compile the scan for runs as the GPU engine has them, and return a function that runs it.

    The arrays are those of TicksOnCard and WorldsOnCard (paofed.simulate.engines.gpu.layout). Every
    run is made `copies` times, as if there were so many algorithms: only then is a card full.
    """
    import jax  # imported here, since nothing else in this package needs JAX
    import jax.numpy as jnp

    ticks = jnp.moveaxis(jnp.asarray(sample), 1, 0), jnp.moveaxis(jnp.asarray(event), 1, 0)
    maps = jnp.asarray(frequencies), jnp.asarray(phases)
    clients, features = event.shape[2], phases.shape[1]
    scale, ages = math.sqrt(2.0 / features), jnp.arange(max_age + 1)
    coordinates, who = jnp.arange(features), jnp.arange(clients)

    def window(n: Any, ahead: int) -> Any:
        start = shared * (n + ahead + who) % features
        return (coordinates[None, :] - start[:, None]) % features < shared

    def tick(state: Any, now: Any, fourier: Any, n: Any) -> Any:
        server, local, sums, held, counts = state
        xy, events = now
        has_data, available, delay = events & 1 != 0, events & 2 != 0, events >> 5
        z = scale * jnp.cos(jnp.einsum("dk,dj->kj", xy[:-1], fourier[0]) + fourier[1])
        merged = jnp.where(available[:, None] & window(n, 0), server, local)
        error = xy[-1] - jnp.sum(merged * z, axis=1)
        learned = jnp.where(has_data[:, None], merged + mu * error[:, None] * z, local)
        sent = ((ages[:, None] == delay) & available).astype(jnp.float32)
        up = window(n, 1).astype(jnp.float32)
        place = (n + ages) % (max_age + 1)
        sums = sums.at[ages, place].add(sent @ (learned * up))
        held = held.at[ages, place].add(sent @ up)
        counts = counts.at[ages, place].add(sent.sum(axis=1))
        slot = n % (max_age + 1)
        newest = jnp.argmax(held[:, slot] > 0, axis=0)
        arrived, holders = sums[newest, slot, coordinates], held[newest, slot, coordinates]
        pull = (arrived - holders * server) / jnp.maximum(counts[newest, slot], 1.0)
        server = jnp.where(holders > 0, server + pull, server)
        cleared = (array.at[:, slot].set(0.0) for array in (sums, held, counts))
        return (server, learned, *cleared), server

    def step(states: Any, now: Any) -> Any:
        n, (xy, events) = now
        apart = jax.vmap(jax.vmap(tick, in_axes=(0, 0, 0, None)), in_axes=(0, None, None, None))
        return apart(states, (xy, events), maps, n)

    runs = (copies, event.shape[0])
    rings = (*runs, max_age + 1, max_age + 1)
    start = (
        jnp.zeros((*runs, features)),
        jnp.zeros((*runs, clients, features)),
        jnp.zeros((*rings, features)),
        jnp.zeros((*rings, features)),
        jnp.zeros(rings),
    )
    scanned = jax.jit(lambda begin, all_ticks: jax.lax.scan(step, begin, all_ticks))
    numbers = jnp.arange(event.shape[1])
    return lambda: jax.block_until_ready(scanned(start, (numbers, ticks)))[1]
