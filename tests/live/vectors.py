"""The test vectors of docs/live.md, made by paofed; `python -m tests.live.vectors` writes them."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from lab.rehearsal.fleets import ROWS
from paofed.core.columns.calendar import Calendar, Cycle
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import written as written_column
from paofed.core.features import Ranges, draw_map
from paofed.core.random import Key, key_of, normal, philox
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.level import Recent
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import (
    NO_UPDATE,
    Hello,
    Message,
    Model,
    Read,
    Repeat,
    Reply,
    Reread,
    Update,
    age_of,
    encode,
)
from paofed.live.protocol.served import usual_shared
from tests.live.fleets import f32, manifest
from tests.live.lives import LIVES, Life
from tests.live.model.models import READING, seeing_model

FOLDER = Path(__file__).parents[2] / "docs/vectors"
Json = dict[str, Any]


def made_map() -> Json:
    """Of the generator, the quantile and a map."""
    counters = [(0, 0, 0, 0), (1, 2, 3, 4), (0xFFFFFFFF,) * 4]
    keys = [Key(0, 0), Key(0xA4093822, 0x299F31D0), key_of(2**64 - 2)]
    words = [0, 1, 0x12345678, 0x7FFFFFFF, 0x80000000, 0xF3333333, 0xFFFFFFFF]
    seed, inputs, features, width = 2**40 + 7, 3, 10, 1.5
    fourier = draw_map(key_of(seed), inputs=inputs, features=features, width=width)
    low, high = [-1.0, -2.0, 0.0], [1.0, 0.5, 8.0]
    ranges = Ranges(np.array(low), np.array(high))
    linear = draw_map(key_of(seed), inputs=inputs, features=features, width=width, ranges=ranges)
    x = [[0.0, 0.0, 0.0], [0.5, -1.25, 2.0], [-3.0, 0.125, 10.0]]
    return {
        "philox": [
            {"key": [*key], "counter": [*counter], "words": philox(key, *counter).tolist()}
            for key in keys
            for counter in counters
        ],
        "normals": [
            {"word": word, "normal": float(normal(np.array([word], dtype=np.uint32))[0])}
            for word in words
        ],
        "map": {
            "seed": seed,
            "kernel_width": width,
            "frequencies": fourier.frequencies.tolist(),
            "phases": fourier.phases.tolist(),
            "z": [{"x": one, "z": fourier(np.array(one)).tolist()} for one in x],
        },
        "linear": {
            "seed": seed,
            "kernel_width": width,
            "features": features,
            "linear": [*map(list, zip(low, high, strict=True))],
            "z": [{"x": one, "z": linear(np.array(one)).tolist()} for one in x],
        },
    }


def made_windows() -> list[Json]:
    """Of some devices and ticks."""
    found = []
    for algorithm in ROWS:  # published servers have the windows of pao-fed-u1
        for features in (8, 50):
            shared = usual_shared(algorithm, features)
            agreed = manifest(algorithm=algorithm, features=features, shared=shared)
            for device, tick in ((0, 0), (3, 0), (3, 17), (9_999, 4_294_967_295)):
                found.append(
                    {
                        "algorithm": algorithm,
                        "features": features,
                        "shared": shared,
                        "device": device,
                        "tick": tick,
                        "downlink": agreed.down.coordinates(device, tick).tolist(),
                        "uplink": agreed.up.coordinates(device, tick).tolist(),
                    }
                )
    return found


def made_messages() -> list[Json]:
    """Each kind, of two shared parameters out of eight."""
    values, other = f32(0.5, -2.25), f32(1e-3, 999_999.0)
    repeats = (Repeat(1, other, 90), Repeat(4, values, 255))
    messages: list[tuple[str, Message]] = [
        ("update", Update(3, 7, values)),
        ("update", Update(255, 4_294_967_295, other, repeats, 128)),
        ("reply", Reply(3, 1000, 0, values)),
        ("reply", Reply(3, 1000, age_of(1000, 993), values)),
        ("reply", Reply(3, 1000, age_of(1000, 1002), values)),
        ("hello", Hello(3)),
        ("model", Model(3, 12, f32(*range(8)))),
        ("reread", Reread(4)),
        ("read", Read(3, 128)),
        ("reply", Reply(3, 1000, NO_UPDATE, values)),
    ]
    return [{"kind": kind, "hex": encode(m).hex(), **_fields(m)} for kind, m in messages]


def _fields(message: Message) -> Json:
    told = {name: value for name, value in vars(message).items() if name != "version"}
    if isinstance(message, Reply):
        told["answers"] = message.answers
    if isinstance(message, Update):
        told["repeats"] = [_plain(vars(repeat)) for repeat in message.repeats]
    return _plain(told)


def _plain(told: Json) -> Json:
    return {
        name: value.astype(float).tolist() if isinstance(value, np.ndarray) else value
        for name, value in told.items()
    }


def made_blocks() -> list[Json]:
    """Of values that are on a level, between two, all zeros, and as large as can be."""
    windows = [[0.5, -2.25, 0.0, 1e-3, 2.25], [0.0] * 5, [1e6, -3.0, 5e5, -1e6, 7.75]]
    found = []
    for bits in (2, 5, 8, 16):
        options = {"bits": bits, "down_bits": bits}
        agreed = manifest(algorithm="quantised", options=options, shared=5, seed=2**40 + 7)
        for place, (device, tick) in enumerate(((0, 0), (3, 17), (9_999, 4_294_967_295))):
            for direction, blocks in (("up", agreed.up), ("down", agreed.down)):
                block = blocks.block(np.array(windows[place]), device, tick)
                found.append(
                    {
                        "seed": agreed.seed,
                        "bits": bits,
                        "direction": direction,
                        "device": device,
                        "tick": tick,
                        "values": windows[place],
                        "hex": block.tobytes().hex(),
                        "says": blocks.read(block, device, tick).values.tolist(),
                    }
                )
    return found


def made_levels() -> list[Json]:
    """Of devices that are good, bad, silent, and mostly implausible."""
    sequences: list[list[float | None]] = [
        [],
        [1.0, 0.5, 0.25, 0.0],
        [1e-20, 1e-20],
        [1e200],
        [*[0.1] * 40, 10.0],
        [0.3, *[None] * 40, *[0.3] * 20],
    ]
    found = []
    for errors in sequences:
        recent = Recent()
        levels = [recent.level]
        for error in errors:
            recent.passed_over() if error is None else recent.learned(error)
            levels.append(recent.level)
        found.append({"errors": errors, "levels": levels})
    return found


def made_columns() -> list[Json]:
    """Of records: values for each of their lags, and the numbers of the model."""
    summer, winter = 1_719_835_262.0, 1_735_689_599.0
    values: list[tuple[Transform, list[list[Any]]]] = [
        (Number("a"), [[2.5]]),
        (Number("a", 50.0, 20.0), [[2.5]]),
        (Number("a", 1.5, 0.25, logarithm=True), [[0.0], [2.5], [-0.5]]),
        (Number("a", 1.5, 0.25, lag=3), [[2.5]]),
        (Number("a", 0.125, 0.25, diff=1), [[2.5, 2.0]]),
        (Number("a", 0.125, 0.25, logarithm=True, diff=24), [[2.5, 0.0]]),
        (Cyclic("hour", 24.0), [[0.0], [13.5]]),
        (Cyclic("time", 3600.0, time=True), [[summer]]),
        (Compass("wind"), [["N"], ["sw"], ["NNW"]]),
        (OneHot("kind", ("wet", "dry")), [["dry"], ["Dry"], ["odd"]]),
        *(
            (Calendar("time", cycle, zone), [[summer], [winter]])
            for cycle in get_args(Cycle)
            for zone in ("UTC", "Europe/Oslo", "America/St_Johns")
        ),
    ]
    return [
        {"column": written_column(record), "values": value, "numbers": made[0].tolist()}
        for record, found in values
        for value in found
        for made in [record.numbers(*(np.array([one]) for one in value))]
    ]


def made_lives() -> list[Json]:
    """Whole devices."""
    return [
        {
            "about": life.about,
            "device": life.device,
            "patience": 1,
            "manifest": json.loads(life.manifest.to_json()),
            "events": list(lived(life)),
        }
        for life in LIVES
    ]


def lived(life: Life) -> Iterator[Json]:
    """What happens to a device, and what it says and knows then."""
    edge, agreed = Edge(life.manifest, life.device), life.manifest
    for at, what, *numbers in life.events:
        event: Json = {"at": at}
        if what == "learn":
            *x, y = numbers
            edge.learn(np.array(x), y)
            event |= {"learn": {"x": x, "y": y}}
        elif what == "predict":
            event |= {"predict": numbers, "gives": edge.predict(np.array(numbers))}
        elif what in ("measure", "foresee", "remember"):
            event |= _timed(edge, what, *numbers)
        elif what == "contact":
            sent = edge.contact(at)
            event |= {"sends": None if sent is None else sent.hex()}
        elif what == "adopt":
            agreed = replace(agreed, epoch=agreed.next_epoch, **life.changes[numbers[0]])
            edge = edge.under(agreed)
            event |= {"adopts": json.loads(agreed.to_json())}
        elif what == "restart":
            saved, edge = edge.state(), Edge(agreed, life.device)
            assert edge.restore(saved)
            event |= {"restarts": True}
        else:
            payload = encode(_said(agreed, what, *numbers))
            event |= {"receives": payload.hex(), "confirms": sorted(edge.receive(payload, at))}
        yield {**event, "model": edge.w.tolist()}


def _timed(edge: Edge, what: str, time: float, *values: Any) -> Json:
    """What happens at a time that matters."""
    if what == "foresee":
        gives = edge.predict(values, time)
        return {"predict": values, "time": time, "gives": None if math.isnan(gives) else gives}
    *x, y = values
    if what == "measure":
        edge.learn(x, y, time)
        return {"learn": {"x": x, "y": y}, "time": time}
    edge.remember(x, y, time)
    return {"remember": {"x": x, "y": y}, "time": time}


def _said(agreed: Manifest, what: str, tick: int, answered: int = 0) -> Message:
    """What a server might say."""
    values = np.sin(1.0 + tick + np.arange(agreed.features)).astype("<f4")
    if what == "reread":
        return Reread(tick)
    if what == "model":
        return Model(agreed.epoch, tick, values)
    age = NO_UPDATE if what == "answer" else age_of(tick, answered)
    return Reply(agreed.epoch, tick, age, values[: agreed.shared])


def made_model() -> Json:
    """A model as `GET /model` gives it; its version depends on the last bits of its numbers."""
    return {**json.loads(seeing_model().predictor.to_json()), "version": "vectors"}


def made_predictions() -> list[Json]:
    """Readings, and what that model predicts."""
    changes: list[Json] = [
        {},
        {"a": -4.75, "wind": "NNW", "kind": "wet"},
        {"b": 0.0, "b[n-2]": 7.5, "kind": "unheard of"},
        {"time": "2024-12-31T23:30+01:00", "angle": -90.0},
        {"a[n-1]": 5.0, "y[n-1]": -0.5, "time": 0.0},
    ]
    readings = [{**READING, **change} for change in changes]
    predicted = seeing_model().predictor.predict_all(readings)
    found = zip(readings, predicted, strict=True)
    return [{"reading": reading, **one._asdict()} for reading, one in found]


FILES: dict[str, Callable[[], Any]] = {
    "map.json": made_map,
    "windows.json": made_windows,
    "messages.json": made_messages,
    "blocks.json": made_blocks,
    "levels.json": made_levels,
    "columns.json": made_columns,
    "lives.json": made_lives,
    "model.json": made_model,
    "predictions.json": made_predictions,
}


def written(value: Any) -> str:
    """As JSON, a line for each thing of a list."""
    if isinstance(value, list):
        lines = ",\n".join(json.dumps(one) for one in value)
        return f"[\n{lines}\n]\n"
    return json.dumps(value, indent=1) + "\n"


if __name__ == "__main__":
    for name, make in FILES.items():
        (FOLDER / name).write_text(written(make()), encoding="utf-8")
