"""A company's broker: the accounts that it gave, and the rights that its administrator must give.

A file of accounts is a table (CSV) with a line for each label and one for the server:

    label,user,password
    server,svc-greenhouse,...
    north-wall,dev-0017,...
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paofed.errors import FileError, InputError
from paofed.files import read_text
from paofed.live.network.topics import SERVER, Topics

_COLUMNS = ("label", "user", "password")
_MARK = "user "  # a prefix in the store, before the name by which a company's broker knows somebody


@dataclass(frozen=True)
class BrokerAccount:
    """A name and a password at a broker."""

    user: str
    password: str = field(repr=False)


def read_accounts(path: Path) -> dict[str, BrokerAccount]:
    """Return accounts by label; an error about the file never shows a password."""
    lines = csv.reader(read_text(path).splitlines())
    try:
        header, *rows = [(lines.line_num, row) for row in lines if row] or [(1, [])]
    except csv.Error as error:  # a cell of more characters than Python reads
        raise FileError(f"{path}, line {lines.line_num}: {error}: is a quote not closed?") from None
    if tuple(header[1]) != _COLUMNS:
        raise FileError(f"{path} has no header: expected {','.join(_COLUMNS)} in its first line")
    for number, row in rows:
        if len(row) != len(_COLUMNS) or not all(row):
            raise FileError(f"{path}, line {number}: expected a label, a user and a password")
    _require_different(path, "label", (row[0] for _, row in rows))
    _require_different(path, "user", (row[1] for _, row in rows))
    return {label: BrokerAccount(user, password) for _, (label, user, password) in rows}


def _require_different(path: Path, what: str, names: Iterable[str]) -> None:
    """Refuse a name that is there twice: devices with one user could speak for each other."""
    for name, times in Counter(names).items():
        if times > 1:
            raise FileError(f"{path}: the {what} {name!r} is there twice")


def account_of(accounts: Mapping[str, BrokerAccount], label: str) -> BrokerAccount:
    """Return the account of a label; refuse a label without one."""
    if label not in accounts:
        raise InputError(
            f"the broker is not the fleet's own, and there is no account for {label!r}: give "
            f"--accounts FILE, a table label,user,password with a line for it"
        )
    return accounts[label]


def mark_of(account: BrokerAccount) -> str:
    """Return the text by which the store knows an account; only the credential has the password."""
    return f"{_MARK}{account.user}"


def rights(topics: Topics, who: object) -> Iterator[str]:
    """Yield lines that say what an administrator has to allow a device (by index) or the server."""
    if who == SERVER:
        yield f"read   {topics.up('+')}"
        yield f"write  {topics.down('+')}"
        yield f"write  {topics.manifest}  (retained)"
        yield f"both   {topics.server}  (retained)"
    else:
        yield f"write  {topics.up(who)}"
        yield f"read   {topics.down(who)}"
        yield f"read   {topics.manifest}"
