"""Who may ask over HTTP."""

import hmac
import json
from pathlib import Path

import pytest

from paofed.errors import FileError, InputError
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.tokens import FILE, Tokens, make_token, revoke_token
from tests.live.folders import create


def known(folder: Path) -> Tokens:
    found = Tokens.load(folder)
    assert found is not None
    return found


def test_a_token_is_good_for_what_was_said_until_it_is_revoked(tmp_path: Path) -> None:
    assert Tokens.load(tmp_path) is None
    one, two = make_token(tmp_path, "one", ["predict"]), make_token(tmp_path, "two", ["see"])
    assert len({one, two, known(tmp_path).own}) == 3
    assert min(map(len, (one, two))) >= 43  # 32 random bytes
    assert known(tmp_path).rights(one) == {"predict"}
    assert known(tmp_path).rights(two) == {"see"}
    assert known(tmp_path).rights(known(tmp_path).own) == {"see", "predict"}
    for wrong in ("", "one", one[:-1], one + "x", "\udcff"):
        assert known(tmp_path).rights(wrong) == set()
    assert list(revoke_token(tmp_path, "one").holders) == ["two"]
    assert known(tmp_path).rights(one) == set()
    assert known(tmp_path).rights(two) == {"see"}


def test_every_token_is_held_against_all_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So an answer takes as long for a token that is known as for one that is not."""
    first, last = (make_token(tmp_path, name, ["see"]) for name in ("first", "last"))
    asked: list[str] = []
    compared = hmac.compare_digest

    def noted(kept: str, given: str) -> bool:
        asked.append(kept)
        return compared(kept, given)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    for token in (first, last, known(tmp_path).own, "unknown"):
        asked.clear()
        known(tmp_path).rights(token)
        assert len(set(asked)) == len(asked) == 3


def test_no_token_is_kept_as_it_is_and_the_file_is_its_owner_s(tmp_path: Path) -> None:
    token = make_token(tmp_path, "one", ["predict", "see"])
    assert token not in (tmp_path / FILE).read_text()
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert known(tmp_path).own not in repr(known(tmp_path))


def test_where_the_last_one_was_revoked_nobody_may(tmp_path: Path) -> None:
    token = make_token(tmp_path, "one", ["see"])
    assert revoke_token(tmp_path, "one").holders == {}
    assert known(tmp_path).rights(token) == set()


def test_names_and_rights_that_are_none(tmp_path: Path) -> None:
    for name in ("", "a b", "x" * 65, "ü"):
        with pytest.raises(InputError, match="is no name for a token: expected letters"):
            make_token(tmp_path, name, ["see"])
    with pytest.raises(InputError, match="unknown right 'sea': did you mean 'see'"):
        make_token(tmp_path, "one", ["sea"])
    with pytest.raises(InputError, match="unknown token 'one'"):
        revoke_token(tmp_path, "one")
    assert not (tmp_path / FILE).exists()
    make_token(tmp_path, "one", ["see"])
    with pytest.raises(InputError, match="there is a token of the name 'one' already"):
        make_token(tmp_path, "one", ["see"])
    with pytest.raises(InputError, match="unknown token 'onne': did you mean 'one'"):
        revoke_token(tmp_path, "onne")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"own": "x", "holders": {}}',
        json.dumps({"own": "x" * 43, "holders": {"one": {"may": ["see"]}}}),
        json.dumps({"own": "x" * 43, "holders": ["one"]}),
        json.dumps({"own": ["x"] * 43, "holders": {}}),
        json.dumps({"own": "\ud800" * 43, "holders": {}}),
        *(
            json.dumps({"own": "x" * 43, "holders": {"one": {"hash": one, "may": ["see"]}}})
            for one in ("é" * 64, "a" * 63, "A" * 64, "a" * 64 + "\n", 5, None)
        ),
    ],
)
def test_a_damaged_file_is_an_error_and_lets_nobody_in(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"tokens.json cannot be understood"):
        Tokens.load(tmp_path)


def test_a_backup_has_the_tokens_and_brings_none_back_that_was_revoked(tmp_path: Path) -> None:
    fleet, copy = create(tmp_path, "none"), tmp_path / "fleet.tar"
    one = make_token(fleet.folder, "one", ["see"])
    back_up(fleet, copy)
    restore(copy, tmp_path / "elsewhere")
    assert known(tmp_path / "elsewhere").rights(one) == {"see"}
    revoke_token(fleet.folder, "one")
    restore(copy, fleet.folder)
    assert known(fleet.folder).rights(one) == set()
