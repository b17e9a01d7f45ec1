"""Who gains by contacts: devices with labels and devices without, on results made by hand."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.report.run.advice import advise
from paofed.report.run.advice_words import numbers, sentences
from paofed.report.run.by_labels import Worth, by_labels
from paofed.report.run.figures import over_label_shares
from paofed.report.run.tables import by_labels as table_of
from paofed.report.run.words import command
from paofed.simulate.results.progressive import LabelShares
from paofed.simulate.results.table_result import TableResult
from tests.cli.test_reproduce import read_csv
from tests.report.run.by_hand import DEVICES, result
from tests.report.runs import over_table

SOME = [k % 4 == 0 for k in range(DEVICES)]  # 3 of 12 devices have labels
LAW = {"share": 0.1, "late": 24, "devices": 0.25}
# By stage; one sample in each.
BESIDE = {"start": [0.0] * 2, "start alone": [-4.0] * 2, "batch fourier": [-3.0] * 2,
          "batch linear": [1.0] * 2}  # fmt: skip


def made(**changes: Any) -> TableResult:
    given = {"labels": LAW, "with_labels": SOME, **changes}
    return result({"u1": [-2.0] * 2, "c1": [1.0] * 2}, BESIDE, **given)


def of(found: TableResult, name: str = "u1") -> list[Worth]:
    return [worth for worth in by_labels(found.progressive) if worth.name == name]


def test_each_kind_of_device_is_held_to_what_it_could_do_alone() -> None:
    """Learning alone is best for who has labels, and impossible for who has none."""
    rich, poor = of(made())
    assert (rich.whom, rich.devices, poor.whom, poor.devices) == (
        "with labels", 3, "without labels", 9,
    )  # fmt: skip
    assert (rich.alone.name, poor.alone.name) == ("start alone", "start")
    assert rich.alone.gain.mean == pytest.approx(-2.0)
    assert poor.alone.gain.mean == pytest.approx(2.0)
    for worth in (rich, poor):
        assert worth.pooled.name == "batch fourier"
        assert worth.pooled.gain.mean == pytest.approx(-1.0)
        assert worth.db - worth.alone.db == pytest.approx(-worth.alone.gain.mean)
        assert (worth.first.name, worth.first.gain.mean) == ("u1", 0.0)
    for worth in of(made(), "c1"):
        assert worth.first.name == "u1"
        assert worth.first.gain.mean == pytest.approx(worth.first.db - worth.db)
        assert worth.first.gain.mean == pytest.approx(-3.0)


def test_a_device_counts_as_what_it_is_in_each_run() -> None:
    """In a run, errors of the devices of the other kind do not count."""
    one = made()
    judged, others = one.progressive, [k % 4 == 1 for k in range(DEVICES)]
    twice = replace(
        judged,
        errors=judged.errors.repeat(2, axis=0),
        device_errors=np.concatenate([judged.device_errors, 10 * judged.device_errors]),
        with_labels=np.array([SOME, others]),
    )
    rich, poor = (w for w in by_labels(twice) if w.name == "u1")
    assert (rich.devices, poor.devices) == (6, DEVICES)
    errors = judged.device_errors[0, 0]
    expected = errors[SOME].sum() + 10 * errors[others].sum()
    assert rich.db == pytest.approx(10 * np.log10(expected / 12))


def test_devices_without_samples_are_no_kind() -> None:
    found = made()
    silent = replace(
        found.progressive, device_samples=np.where(SOME, found.progressive.device_samples, 0)
    )
    assert {worth.whom for worth in by_labels(silent)} == {"with labels"}
    found = made(with_labels=[False] * DEVICES)  # where nobody has labels, the others are told
    assert [worth.whom for worth in by_labels(found.progressive)] == 2 * ["without labels"]
    assert "On devices without labels" in str(advise(found))


def test_one_that_diverged_and_one_without_rivals() -> None:
    wild = result({"wild": [math.nan] * 2}, {}, labels=LAW, with_labels=SOME)
    (line, _) = by_labels(wild.progressive)
    assert math.isnan(line.db)
    assert (line.alone.name, line.pooled.name) == ("", "")
    assert "On devices with labels, taking part has no rival." in list(sentences(advise(wild)))
    assert "diverged" in table_of([line]).text()


def test_the_advice_answers_for_the_law_that_was_in_force() -> None:
    said = list(sentences(advise(made())))
    assert said[1] == "The labels: on 10 % of the samples of 3 of 12 devices, a day late."
    assert said[2] == (
        "On devices with labels, taking part is 2.00 dB (2.00 to 2.00) worse than learning alone "
        "from the fit of the calibration period (start alone), and is 1.00 dB (1.00 to 1.00) worse "
        "than a batch fit at one place (batch fourier)."
    )
    assert said[3].startswith(
        "On devices without labels, taking part is 2.00 dB (2.00 to 2.00) better than the fit of "
        "the calibration period, left as it is (start), and is 1.00 dB"
    )
    rows = [row for row in numbers(advise(made())) if row.about == "without labels"]
    assert [(row.learner, row.over, row.devices) for row in rows] == [
        ("u1", "start", 9), ("u1", "batch fourier", 9), ("c1", "start", 9),
        ("c1", "batch fourier", 9),
    ]  # fmt: skip
    assert rows[0].value == pytest.approx(2.0)


def test_who_is_better_on_one_kind_alone_is_named() -> None:
    found = made()
    judged = found.progressive
    better = judged.device_errors.copy()
    place = judged.learners.tolist().index(["c1", "device"])
    better[0, place, ~np.array(SOME)] /= 100
    object.__setattr__(found, "progressive", replace(judged, device_errors=better))
    rich, poor = list(sentences(advise(found)))[2:4]
    assert advise(found).method == "u1"
    assert poor.endswith(". Of all methods, c1 is best there.")
    assert "Of all methods" not in rich


def test_where_every_sample_has_its_label_nothing_is_said_of_labels() -> None:
    for law in (None, {"share": 1.0, "late": 0, "devices": None}):
        found = advise(made(labels=law, with_labels=None))
        assert (found.law, found.by_labels) == ("", ())
        assert "labels" not in str(found)
    late = advise(made(labels={"late": "36h"}, with_labels=None))
    assert "The labels: on every sample, 36h late." in str(late)
    assert "On devices with" not in str(late)
    assert {worth.whom for worth in late.by_labels} == {"with labels"}


# By the share of labels


def at_shares(*gains: float, everybody: bool = False) -> TableResult:
    """Errors of u1 that are so many dB below those of being alone, at rising shares."""
    found = made(with_labels=None) if everybody else made()
    judged = found.progressive
    place = judged.learners.tolist().index(["u1", "device"])
    rivals = [judged.learners.tolist().index([way, "baseline"]) for way in ("start alone", "start")]
    errors = np.repeat(judged.device_errors[..., None], len(gains), axis=-1)
    for share, gain in enumerate(gains):
        rich, poor = (errors[:, rival, :, share] / 10 ** (gain / 10) for rival in rivals)
        errors[:, place, :, share] = np.where(everybody or np.array(SOME), rich, poor)
    shares = np.linspace(0.1, 0.1 * len(gains), len(gains))
    object.__setattr__(found, "label_shares", LabelShares(shares=shares, errors=errors))
    return found


@pytest.mark.parametrize(
    ("gains", "where"),
    [
        ([2.0, 1.0, 0.0], "up to 20 %"),
        ([0.0, -1.0, 2.0], "from 30 % on"),
        ([2.0, 0.0, 2.0], "with 10 % and 30 % alone"),
        ([1.0, 1.0, 1.0], "with each of these"),
        ([0.0, 0.05, -1.0], "with none of these"),
    ],
)
def test_the_advice_says_from_which_share_on_contacts_pay(gains: list[float], where: str) -> None:
    rich, poor = [line for line in sentences(advise(at_shares(*gains))) if "share of samp" in line]
    for line, whom in ((rich, "with"), (poor, "without")):
        assert f"taking part gains devices {whom} labels over being alone {gains[0]:.2f} dB" in line
        assert line.endswith(f"with 30 %: it pays {where}.")
        assert line.isascii()


def test_shares_are_told_without_a_law_and_without_rivals() -> None:
    all_have = at_shares(1.0, 0.0, everybody=True)
    lines = [line for line in sentences(advise(all_have)) if "share of samples" in line]
    assert len(lines) == 1
    alone = result({"u1": [-2.0] * 2}, {})
    errors = alone.progressive.device_errors[..., None]
    object.__setattr__(alone, "label_shares", LabelShares(shares=np.array([0.1]), errors=errors))
    assert "share of samples" not in str(advise(alone))


def test_the_figure_has_a_line_for_each_and_fills_the_dots_that_pay() -> None:
    found = at_shares(2.0, 0.0, 1.0)
    figure = over_label_shares(found, advise(found).by_share)
    rich, poor = figure.axes
    assert [axes.get_title(loc="left") or axes.get_title() for axes in (rich, poor)] == [
        "devices with labels", "devices without labels",
    ]  # fmt: skip
    alone, pooled, u1, filled, *others = rich.get_lines()
    assert np.asarray(pooled.get_ydata()) == pytest.approx([of(found)[0].pooled.db] * 3)
    level = of(found)[0].alone.db
    assert np.asarray(alone.get_ydata()) == pytest.approx([level] * 3)
    assert np.asarray(u1.get_ydata()) == pytest.approx([level - 2, level, level - 1])
    assert np.asarray(filled.get_xdata()).tolist() == pytest.approx([0.1, 0.3])
    assert len(others) == 2  # c1, which never pays
    figure.draw_without_rendering()
    assert [label.get_text() for label in poor.get_xticklabels()] == ["10 %", "20 %", "30 %"]


def test_a_page_has_labels_and_shares_in_tables_a_figure_and_files(tmp_path: Path) -> None:
    law = {"share": 0.5, "devices": [0]}
    found = over_table(
        tmp_path, hours=120, scenario={"labels": law}, cold_starts=0, label_shares=[0.5, 1.0]
    )
    page = found.report(tmp_path / "page").read_text(encoding="utf-8")
    assert "Labels on 50 % of the samples of 1 of 3 devices." in page
    begin, end = (page.index(f"<h2 id='{key}'") for key in ("by-the-share-of-labels", "figures"))
    assert page[begin:end].count("<figure>") == 1
    for name in ("by-labels.csv", "label-shares.csv", "label-shares.svg"):
        assert (tmp_path / "page" / name).exists()
    by_kind, by_share = (
        read_csv(tmp_path / "page" / f"{name}.csv") for name in ("by-labels", "label-shares")
    )
    assert [row["whom"] for row in by_kind] == 2 * ["with labels"] + 2 * ["without labels"]
    same = [{k: v for k, v in row.items() if k != "share"} for row in by_share[: len(by_kind)]]
    assert same == by_kind  # the run itself has labels on that share
    told = json.loads(found.to_json())
    assert [row["share"] for row in told["label_shares"]] == 4 * [0.5] + 4 * [1.0]
    assert told["by_labels"][0]["gain"].keys() == {"mean", "low", "high"}
    assert "--label-shares 0.5,1.0" in command(found)
    # A page that has no such part deletes what an earlier page has left of it.
    replace(found, label_shares=None).report(tmp_path / "page")
    assert not (tmp_path / "page" / "label-shares.csv").exists()
    assert not (tmp_path / "page" / "label-shares.svg").exists()
