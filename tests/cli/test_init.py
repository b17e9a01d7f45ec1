"""`paofed fleet init` as an operator meets it."""

import json
from pathlib import Path

import pytest

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.protocol.quantity import Quantity
from tests.cli.operators import NUMBERS, Capsys, done, refusal


def test_init_makes_a_fleet_and_says_what_comes_next(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "greenhouse"
    configuration = place.resolve() / "broker" / "mosquitto.conf"
    lines = done(capsys, "init", place, *NUMBERS).splitlines()
    assert lines == [
        f"made {place}",
        f"start the broker:  mosquitto -c {configuration}",
        f"start the server:  paofed fleet serve {place}",
        f"add devices:       paofed fleet add {place} LABEL ...",
    ]
    assert configuration.is_file()
    fleet = Fleet(place)
    assert fleet.settings == Settings(name="greenhouse")
    with fleet.store() as store:
        agreed = store.epochs.manifest()
    assert agreed.inputs == (
        Quantity(name="a", low=-10.0, high=10.0),
        Quantity(name="b", offset=0.5, scale=2.0, low=-19.5, high=20.5),
    )
    assert agreed.target == Quantity(name="y", offset=10.0, scale=4.0, low=-30.0, high=50.0)
    assert (agreed.algorithm, agreed.features, agreed.shared) == ("pao-fed-u1", 200, 4)
    assert agreed.tick_seconds == 60.0
    assert agreed.start > 1_700_000_000
    assert (agreed.clip, agreed.aside, agreed.bound) == (6.0, True, 6.0)


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        (("--clip", "none", "--bound", "none"), (None, True, None)),
        (("--clip", "4.5", "--aside", "no"), (4.5, False, 6.0)),
    ],
)
def test_init_bounds_what_one_device_can_do(
    words: tuple[str, ...], bounds: tuple[object, ...], tmp_path: Path, capsys: Capsys
) -> None:
    done(capsys, "init", tmp_path / "x", *NUMBERS, "--security", "none", *words)
    with Fleet(tmp_path / "x").store() as store:
        agreed = store.epochs.manifest()
    assert (agreed.clip, agreed.aside, agreed.bound) == bounds


def test_fleets_do_not_understand_each_other(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def draw(below: int) -> int:
        drawn.append(below)
        return 200 + len(drawn)

    monkeypatch.setattr("paofed.live.fleet.founding.secrets.randbelow", draw)
    for name, epoch in (("x", 201), ("y", 202)):
        done(capsys, "init", tmp_path / name, *NUMBERS, "--security", "none")
        with Fleet(tmp_path / name).store() as store:
            assert store.epochs.manifest().epoch == epoch
    assert drawn == [256, 256]


def test_init_as_json(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "greenhouse"
    answer = json.loads(done(capsys, "init", place, *NUMBERS, "--json"))
    text = answer.pop("text")
    assert text.startswith(f"made {place}\n")
    configuration = place.resolve() / "broker" / "mosquitto.conf"
    assert answer == {"folder": str(place), "configuration": str(configuration)}


def test_init_takes_every_number(tmp_path: Path, capsys: Capsys) -> None:
    place = tmp_path / "a folder"
    numbers = {
        "--tick": 2.5,
        "--algorithm": "pao-fed-c2",
        "--features": 30,
        "--shared": 3,
        "--kernel-width": 0.7,
        "--step-size": 0.25,
        "--max-age": 17,
        "--seed": 99,
    }
    places = {
        "--name": "house",
        "--host": "broker.example",
        "--port": 1884,
        "--security": "password",
        "--http": "127.0.0.1:9000",
    }
    options = [word for pair in (numbers | places).items() for word in pair]
    done(capsys, "init", place, *NUMBERS, *options)
    fleet = Fleet(place)
    with fleet.store() as store:
        agreed = store.epochs.manifest()
    assert [
        agreed.tick_seconds,
        agreed.algorithm,
        agreed.features,
        agreed.shared,
        agreed.kernel_width,
        agreed.step_size,
        agreed.max_age,
        agreed.seed,
    ] == list(numbers.values())
    settings = fleet.settings
    found = [settings.name, settings.host, settings.port, settings.security, settings.http]
    assert found == list(places.values())


@pytest.mark.parametrize(("more", "shared"), [((), 8), (("--shared", 8), 8)])
def test_init_of_a_fleet_that_shares_everything(
    more: tuple[object, ...], shared: int, tmp_path: Path, capsys: Capsys
) -> None:
    whole = ("--algorithm", "online-fedsgd", "--features", 8)
    done(capsys, "init", tmp_path / "x", *NUMBERS, *whole, *more)
    with Fleet(tmp_path / "x").store() as store:
        assert store.epochs.manifest().shared == shared


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--target", "y"), "fleet init needs --input, or --from"),
        (("--input", "a"), "fleet init needs --target, or --from"),
        (("--input", "a:1", "--target", "y"), "'a:1' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]"),
        (("--input", "a:x:2", "--target", "y"), "'a:x:2' is not NAME[:OFFSET:SCALE[:LOW:HIGH]]"),
        (("--input", "a:1:-2", "--target", "y"), "scale of a is -2.0: expected a number above 0"),
        ((*NUMBERS, "--tick", "0"), "--tick is 0.0: expected a finite number above 0"),
        (
            (*NUMBERS, "--input", "y"),
            "list of names is ['a', 'b', 'y', 'y']: expected each one once",
        ),
        ((*NUMBERS, "--tick", "soon"), "--tick is 'soon': expected a number"),
        ((*NUMBERS, "--algorithm", "pso-fed"), "pso-fed cannot be served: its server picks"),
        ((*NUMBERS, "--algorithm", "pao-fed-u3"), "did you mean 'pao-fed-u"),
        ((*NUMBERS, "--port", "0"), "the setting port is 0: expected 1 to 65535"),
        ((*NUMBERS, "--security", "tls"), "argument --security: invalid choice: 'tls'"),
        ((*NUMBERS, "--inptu", "c"), "unexpected '--inptu': did you mean --input?"),
    ],
)
def test_init_with_bad_input_makes_nothing(
    words: tuple[str, ...], says: str, tmp_path: Path, capsys: Capsys
) -> None:
    assert says in refusal(capsys, "init", tmp_path / "x", *words)
    assert list(tmp_path.iterdir()) == []


def test_init_in_a_folder_that_cannot_name_a_fleet(tmp_path: Path, capsys: Capsys) -> None:
    says = refusal(capsys, "init", tmp_path / "my fleet", *NUMBERS)
    assert says.startswith("the setting name is 'my fleet'")
    assert not (tmp_path / "my fleet").exists()
