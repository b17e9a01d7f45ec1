"""The same runs over a table with labels on other shares of the samples.

Labels of a smaller share are among those of a larger one, and the same devices have labels: the law
of the scenario holds in all but its share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real

import numpy as np

from paofed.errors import InputError
from paofed.simulate.results.progressive import LabelShares
from paofed.simulate.results.table_result import TableResult
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.worlds import Setting


def at_shares(setting: Setting, shares: Sequence[float]) -> dict[float, Scenario]:
    """Return the scenario with each share of labels, the smallest first.

    At its own share, that is the very same scenario.
    """
    for share in shares:
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 < share <= 1:
            raise InputError(
                f"label_shares has {share!r}: expected shares of the samples, above 0 and up to 1",
                key="label_shares",
            )
    if len(set(shares)) < len(shares):
        raise InputError(
            f"label_shares is {list(shares)}: expected each share once", key="label_shares"
        )
    if not shares:
        return {}
    if not isinstance(setting, Scenario) or not isinstance(setting.stream, Table):
        raise InputError(
            f"label_shares is {list(shares)}, but shares are for runs over a table: ask for none",
            key="label_shares",
        )
    own = 1.0 if setting.labels is None else setting.labels.share
    return {
        share: setting if share == own else setting.replace(**{"labels.share": float(share)})
        for share in sorted(shares)
    }


def with_label_shares(result: TableResult, found: Mapping[float, TableResult]) -> TableResult:
    """Put the errors of the same learners with other shares of labels beside those of a result."""
    errors = [other.progressive.device_errors for other in found.values()]
    shares = LabelShares(shares=np.array(list(found)), errors=np.stack(errors, axis=-1))
    return replace(result, label_shares=shares)
