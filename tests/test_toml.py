"""TOML that would hurt a reader is refused in one line, by everybody who reads TOML."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paofed.cli import main
from paofed.errors import InputError
from paofed.experiments.sweep.asked import is_sweep, load
from paofed.live.fleet.settings import FILE, Settings
from paofed.live.gateway.settings import GatewaySettings
from paofed.toml import toml_of
from paofed.world.scenario import Scenario

NESTED, WHOLE = "nested more than 100 deep", "expected whole numbers of 64 bits at most"
HARMFUL = {
    "lists in lists": ("name = " + "[" * 5000 + "]" * 5000, NESTED),
    "tables in tables": ("name = " + "{a = " * 500 + "1" + "}" * 500, NESTED),
    # Python would read both of these keys, the longer one in minutes.
    "a key with dots": (".".join("a" * 102) + " = 1", NESTED),
    "a long key with dots": ("[" + " . ".join(['"a b"', "'c'", "d"] * 20_000) + "]", NESTED),
    "4,301 digits": ("name = " + "9" * 4301, f"thousands of digits: {WHOLE}"),
    "400 digits": ("keep_days = " + "9" * 400, f"'keep_days' has 1329 bits: {WHOLE}"),
    "hexadecimal": ("name = [[0x" + "f" * 5000 + "]]", f"'name' has 20000 bits: {WHOLE}"),
    "below 0": (f"name = {-(2**63) - 1}", f"'name' has 64 bits: {WHOLE}"),
    "a key twice": (f"{'a' * 5000} = 1\n" * 2, "not valid TOML: Cannot overwrite a value"),
    "a table twice": (f"[{'a' * 5000}]\n" * 2, "not valid TOML: Cannot declare ('aaaaa"),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "scenario": Scenario.load,
    "sweep": load,
    "gateway": GatewaySettings.load,
    "fleet": lambda path: Settings.load(path.parent),
}


@pytest.mark.parametrize("harmful", HARMFUL)
def test_what_would_hurt_is_refused_by_every_reader(harmful: str, tmp_path: Path) -> None:
    text, told = HARMFUL[harmful]
    path = tmp_path / FILE
    path.write_text(f'{text}\nname = "x"\n' if text.startswith("keep") else text)
    for reader, read in READERS.items():
        with pytest.raises(InputError) as refusal:
            read(path)
        said = str(refusal.value)
        assert said.startswith(f"{path}: "), reader
        assert told in said
        assert len(said) < 500 + len(str(path))
        assert "\n" not in said


def test_the_command_line_says_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_text(HARMFUL["lists in lists"][0])
    assert main(["run", str(tmp_path / "x.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_real_files_hold_is_read() -> None:
    nested: Any = 1
    for _ in range(100):
        nested = [nested]
    assert toml_of(f"deep = {nested}")["deep"] == nested
    values = toml_of(f"seed = {2**64 - 1}\nleast = {-(2**63)}\na.b.c = 1.5\nd = 2014-03-01")
    assert (values["seed"], values["least"], values["a"]["b"]["c"]) == (2**64 - 1, -(2**63), 1.5)
    assert toml_of(f"words = '{'two words. ' * 500}'")["words"] == "two words. " * 500


def test_a_file_of_empty_lines_is_soon_known_to_be_no_sweep(tmp_path: Path) -> None:
    """A search that looked past the ends of lines would take hours."""
    (tmp_path / "x.toml").write_text("\n" * 1_000_000)
    assert not is_sweep(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_text("a = 1\n \t over.x = [1]\n")
    assert is_sweep(tmp_path / "x.toml")
