import os
from typing import NoReturn

import pytest

from paofed.world.table.panics import without_backtraces


class PanicError(BaseException):
    """As that of a reader: no Exception."""


def written_before(error: BaseException, text: bytes) -> NoReturn:
    with without_backtraces(PanicError):
        os.write(2, text)
        raise error


def test_what_else_is_written_is_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with without_backtraces(PanicError):
        os.write(2, b"a warning")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "a warning"
    with pytest.raises(KeyError):
        written_before(KeyError(), b"another")
    assert capfd.readouterr().err == "another"


def test_a_process_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> NoReturn:
        raise OSError

    monkeypatch.setattr(os, "dup", refuse)
    with without_backtraces(PanicError):
        pass
