"""The header of a fleet and the folder around it; what the device in C cannot follow is refused."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import OURS, Algorithm, algorithm
from paofed.algorithms.rivals.channels.quantised import quantised
from paofed.cli import main
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.parts import Channel, silence, zero_weights
from paofed.core.selection import Windows
from paofed.device_c.agreed import agreed_in_c
from paofed.device_c.kit import EXAMPLES, HEADER, LIBRARY, SOURCES, header, write_kit
from paofed.errors import InputError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import Model, Reply, encode
from paofed.live.protocol.quantity import Quantity
from tests.device_c.building import STRICT, run
from tests.effort import some
from tests.live.fleets import manifest, stored
from tests.live.protocol.test_seen import seeing
from tests.system import needs

# Predicts by a header, and compares the probes.
_PREDICTS = """\
#define PAOFED_FLEET_HERE
#include "paofed_fleet.h"
#include <stdio.h>

static uint32_t clock(void *context) { (void)context; return 0u; }
static void send(void *c, const uint8_t *m, size_t n) { (void)c; (void)m; (void)n; }
static bool write(void *c, unsigned s, const void *b, size_t n)
{ (void)c; (void)s; (void)b; (void)n; return true; }
static bool read(void *c, unsigned s, void *b, size_t n)
{ (void)c; (void)s; (void)b; (void)n; return false; }

int main(void)
{
    static const struct paofed_port port = {NULL, clock, send, write, read};
    static struct paofed device;
    const float x[PAOFED_INPUTS] = {0.3f, 1.7f};

    (void)paofed_begin(&device, &paofed_fleet, &port, 3u);
    (void)printf("%.9g %d\\n", (double)paofed_predict(&device, x),
                 (int)paofed_has_the_map(&device, paofed_probes));
    return 0;
}
"""


def predicted(folder: Path, fleet: str) -> tuple[float, bool]:
    """What a program says that was built with a header."""
    folder.mkdir(exist_ok=True)
    write_kit(folder, agreed_in_c(manifest()), "")
    (folder / HEADER).write_text(fleet, encoding="utf-8")
    (folder / "main.c").write_text(_PREDICTS, encoding="utf-8")
    files = [str(folder / name) for name in ("main.c", *LIBRARY)]
    program = str(folder / "program")
    run([needs("gcc"), *STRICT, *files, "-o", program])
    value, right = run([program]).split()
    return float(value), right == "1"


def model_of(agreed: Manifest) -> FleetModel:
    w = np.sin(np.arange(agreed.features)).astype(np.float32).astype(np.float64)
    return FleetModel(agreed, 7, w, "greenhouse")


@pytest.mark.parametrize(
    "changes",
    some(
        [{"linear": ((-1.0, 0.5), (-0.25, 3.0))}, {}, {"learner": "two-speed", "seed": 2**64 - 1}],
        everyday=1,
    ),
    ids=lambda changes: next(iter(changes), "plain"),
)
@pytest.mark.parametrize("map_kind", some(["drawn", "table"], everyday=1))
def test_a_header_predicts_as_the_fleet_does(
    changes: dict[str, Any], map_kind: str, tmp_path: Path
) -> None:
    model = model_of(manifest(**changes))
    fleet = header(
        agreed_in_c(model.manifest, start=model.w, drawn=map_kind == "drawn"), "*/ a /* name"
    )
    value, right = predicted(tmp_path, fleet)
    expected = float(model.predict(np.array([0.3, 1.7])))
    assert value == pytest.approx(expected, abs=2e-5)
    assert right


def test_another_map_is_noticed(tmp_path: Path) -> None:
    text = header(agreed_in_c(manifest(), drawn=True), "").replace(".seed = {1u", ".seed = {2u")
    assert not predicted(tmp_path, text)[1]


def written_manifest(folder: Path, **changes: Any) -> Path:
    path = folder / "manifest.json"
    path.write_text(manifest(**changes).to_json(), encoding="utf-8")
    return path


def test_the_command_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "firmware"
    words = ["device", "c", str(written_manifest(tmp_path)), "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out == (
        f"wrote {out / HEADER} and the sources beside it: 8 parameters, 2 of them in a contact, "
        f"inputs a, b, target y\n"
    )
    assert {path.name for path in out.iterdir()} == {HEADER, *SOURCES, *EXAMPLES}
    assert "#define PAOFED_DRAWS 0" in (out / HEADER).read_text(encoding="utf-8")
    for name in ("example.c", "paofed.h"):
        (out / name).write_text("mine", encoding="utf-8")
    assert main([*words, "--map", "drawn"]) == 0
    assert (out / "example.c").read_text(encoding="utf-8") == "mine"
    assert (out / "paofed.h").read_text(encoding="utf-8") != "mine"
    assert "#define PAOFED_DRAWS 1" in (out / HEADER).read_text(encoding="utf-8")


def test_a_model_s_file_says_what_to_begin_with(tmp_path: Path) -> None:
    model = model_of(manifest())
    model.save(tmp_path / "model.npz")
    out = tmp_path / "firmware"
    assert main(["device", "c", str(tmp_path / "model.npz"), "--out", str(out)]) == 0
    expected = header(agreed_in_c(model.manifest, start=model.w), "")
    assert (out / HEADER).read_text("utf-8").splitlines()[3:] == expected.splitlines()[3:]


def test_a_fleet_s_model_as_a_header(tmp_path: Path) -> None:
    folder, out = tmp_path / "fleet", tmp_path / "model.h"
    w = np.arange(8.0)
    agreed = manifest(start_model=tuple(w.tolist()))
    with stored(folder, start_model=agreed.start_model):
        pass
    assert main(["fleet", "model", str(folder), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("/*\n * The model of the fleet fleet at tick ")
    expected = header(agreed_in_c(agreed, start=Coordinator(agreed).w), "")
    assert text.splitlines()[3:] == expected.splitlines()[3:]


@pytest.mark.parametrize(
    ("agreed", "says"),
    [
        (manifest(learner="rls"), "learner is rls, which keeps 64 numbers beside the model, too m"),
        (
            seeing(Number("a"), Cyclic("time", 9.0, time=True)),
            "sees the time in turns of 9 seconds:",
        ),
        (manifest(features=40_000), "model has 40000 parameters: the device in C takes 32767 at"),
        (manifest(tick_seconds=1 / 3), "a tick of the fleet has 0.333333 seconds: the device in C"),
        (manifest(tick_seconds=8 * 86400.0), "has 691200 seconds: the device in C takes a whole"),
        (manifest(target=Quantity(name="y", scale=1e-60)), "scale 1e-60 of y do not fit into 32"),
        (manifest(inputs=(Quantity(name="a", offset=1e60),)), "offset 1e+60 and scale 1 of a do"),
        (manifest(kernel_width=1e-4), "more than 1e-05: its kernel width of 0.0001 is too small"),
    ],
    ids=lambda value: "" if isinstance(value, Manifest) else value[:30],
)
def test_what_cannot_be_followed_is_refused(agreed: Manifest, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        agreed_in_c(agreed)


def odd_methods() -> dict[str, Algorithm]:
    """Methods of paofed to come, whose parts say that they are served."""
    usual, few = algorithm("pao-fed-u1", shared=2), quantised(shared=2, down_bits=8)
    assert isinstance(few.uplink, Channel)
    other = replace(few.uplink, decode=lambda *_: silence())
    learner = replace(usual.learner, init=lambda features: zero_weights(features))
    return {
        "odd-up": replace(few, uplink=other),
        "odd-down": replace(few, downlink=other),
        "odd-ahead": replace(usual, downlink=Windows(2, coordinated=False, ahead=2)),
        "odd-kind": replace(usual, downlink=Windows(2)),
        "odd-learner": replace(usual, learner=learner),
    }


@pytest.mark.parametrize("name", odd_methods())
def test_served_parts_that_the_device_in_c_does_not_know_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OURS, name, lambda: odd_methods()[name])
    what = "a learner of its own" if name == "odd-learner" else "channels that the device in C does"
    with pytest.raises(InputError, match=f"^{name} has {what}"):
        agreed_in_c(manifest(algorithm=name))


def test_the_command_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "firmware"
    model = tmp_path / "model.json"
    model_of(manifest()).save(model, "json")
    for file, says in (
        (tmp_path / "none.json", "none.json cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (model, "model.json is no manifest (the manifest's wire is None"),
        (model, "expected a model that `paofed fleet model` wrote as .npz"),
        (written_manifest(tmp_path, learner="rls"), "the fleet's learner is rls"),
    ):
        assert main(["device", "c", str(file), "--out", str(out)]) == 2
        err = capsys.readouterr().err
        assert says in err
        assert err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("algorithm", ["pao-fed-u1", "online-fedsgd"])
def test_the_largest_message_fits_into_the_buffer(algorithm: str, tmp_path: Path) -> None:
    """A reply in which all parameters travel is longer than a whole model, by its age."""
    shared = 8 if algorithm == "online-fedsgd" else 2
    agreed = manifest(algorithm=algorithm, shared=shared)
    write_kit(tmp_path, agreed_in_c(agreed), "")
    model = encode(Model(0, 0, np.zeros(agreed.features, dtype="<f4")))
    reply = encode(Reply(0, 0, 0, agreed.down.block(np.zeros(shared))))
    largest = max(len(model), len(reply))
    fits = f"typedef char fits[(PAOFED_LARGEST_HEARD >= {largest}) ? 1 : -1];\n"
    (tmp_path / "fits.c").write_text(f'#include "paofed.h"\n{fits}', encoding="utf-8")
    run([needs("gcc"), *STRICT, "-fsyntax-only", str(tmp_path / "fits.c")])
