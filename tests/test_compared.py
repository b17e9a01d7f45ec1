"""lab/compare/README.md says what the published comparison found, and how it was made."""

import csv
import re
import shlex
from itertools import product
from pathlib import Path

import pytest

from lab.commands import LAB
from lab.compare.comparison import Plan
from lab.compare.lineup import LINEUP
from lab.compare.search import BUDGETS
from lab.compare.settings import FULL, USUAL
from paofed.algorithms.setup import resolve
from paofed.experiments.rejection import student_of_race
from paofed.report.comparison.page import PAO_FED, Judged, digest, published, summary
from paofed.simulate.results.estimates import Estimate, student_95
from paofed.words import size
from paofed.world.scenario import Scenario

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "lab" / "compare" / "README.md").read_text(encoding="utf-8")
WORDS = re.sub(r"\s+", " ", DOCUMENT)
IN_SHORT = re.sub(r"\s+", " ", (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8"))
FOUND, COMMAND, VERSIONS = published()
TARIFFS = ("payload", "mqtt")
PLAN = Plan(USUAL, LINEUP, TARIFFS, FULL, 0)


def two_digits(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # and no minus zero


def interval(found: Estimate) -> str:
    return f"{two_digits(found.mean)} [{two_digits(found.low)}, {two_digits(found.high)}]"


def ahead(one: Judged) -> str:
    """By how many dB an entrant is better than PAO-Fed, with its interval."""
    assert one.behind is not None
    mean, low, high, _ = one.behind
    return f"{two_digits(-mean)} [{two_digits(-high)}, {two_digits(-low)}]"


def best_of_each() -> str:
    """The table of who reaches most with each budget."""
    header = (
        "setting", "tariff", "budget", "PAO-Fed, dB", "sent", "least error", "dB", "sent",
        "behind PAO-Fed", "clearly better",
    )  # fmt: skip
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for ours, best, ahead in digest(FOUND):
        own = ("-", "-") if ours is None else (two_digits(ours.error.mean), size(ours.bytes))
        behind = "" if best.behind is None or best is ours else interval(best.behind)
        cells = (
            best.setting, best.purse.tariff, best.purse.budget, *own, f"`{best.word}`",
            two_digits(best.error.mean), size(best.bytes), behind, str(len(ahead)),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(one: Judged | None) -> str:
    """How an entrant does beside PAO-Fed: in dB, set in bold where it is clearly better."""
    if one is None or one.behind is None:
        return "-"
    if one.verdict == "diverged":
        return "diverged"
    text = f"{round(one.behind.mean, 2) + 0.0:+.2f}"
    marks = {"better": f"**{text}**", "worse": text}
    return marks.get(one.verdict, f"({text})")


def behind(tariff: str, budget: str) -> str:
    """The table of every entrant in every setting, with one budget."""
    chosen = {(one.setting, one.entrant): one for one in FOUND if one.purse[:2] == (tariff, budget)}
    lines = [f"| | {' | '.join(USUAL)} |", "|---|" + "---|" * len(USUAL)]
    for name in LINEUP:
        cells = [cell(chosen.get((setting, name))) for setting in USUAL]
        if set(cells) != {"-"}:
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_document_has_the_table_of_the_best() -> None:
    assert best_of_each() in DOCUMENT


def test_the_document_has_every_entrant() -> None:
    for purse in (("payload", "same"), ("payload", "tenfold"), ("mqtt", "tenfold")):
        assert behind(*purse) in DOCUMENT, purse


def test_over_mqtt_only_two_choose_otherwise_at_the_bytes_of_pao_fed() -> None:
    """And so the document has no fourth table."""
    alone, wired = (behind(tariff, "same").splitlines() for tariff in TARIFFS)
    others = {line.split("`")[1] for line in wired if line not in alone}
    assert others == {"pso-fed", "online-fed"}
    assert (
        "only `pso-fed` and `online-fed` choose otherwise, and they stay behind or level" in WORDS
    )
    assert not any("**" in line for line in wired if line not in alone)


def test_the_documents_count_who_beats_pao_fed() -> None:
    assert summary(FOUND) in WORDS
    assert summary(FOUND) in IN_SHORT


# What the document says in sentences: who is clearly ahead where, and by how much.
SAID = [
    ("setting-2", "payload", "same", "ca2fl"),
    ("setting-2", "payload", "same", "fed-async"),
    ("setting-2", "payload", "same", "cached-mean"),
    ("drift", "payload", "same", "top-k"),
    ("setting-1", "mqtt", "tenfold", "server-momentum"),
    ("drift", "mqtt", "tenfold", "server-momentum"),
    ("setting-2", "payload", "tenfold", "quantised-8"),
    ("faults", "payload", "tenfold", "quantised-clipped"),
]
# Who is said to lead where that is not clear.
OPEN = [
    ("heavy-loss", "payload", "same", "fed-async"),
    ("air-quality", "payload", "same", "fed-prox"),
    ("air-quality", "payload", "same", "cached-mean"),
    ("faults", "payload", "same", "top-k"),
    ("faults", "payload", "same", "quantised-clipped"),
    ("ideal", "mqtt", "tenfold", "server-momentum"),
]


def test_who_is_said_to_be_ahead_is_so() -> None:
    for said in (*SAID, *OPEN):
        (one,) = (one for one in FOUND if (one.setting, *one.purse[:2], one.entrant) == said)
        assert one.verdict == ("better" if said in SAID else "inconclusive"), said
        assert ahead(one) in WORDS, said


def test_the_summary_in_the_documents_has_the_same_numbers() -> None:
    told = IN_SHORT.partition("## Methods at equal bytes")[2]
    numbers = re.findall(r"-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]", told)
    assert len(numbers) == 7
    assert set(numbers) <= set(re.findall(r"-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]", WORDS))


def test_where_nothing_is_said_to_beat_pao_fed_nothing_does() -> None:
    beaten = {
        (line.best.setting, line.best.purse.tariff)
        for line in digest(FOUND)
        if line.ahead and line.best.purse.budget == "same"
    }
    assert beaten == set(product(("setting-2", "drift"), TARIFFS))


def test_everybody_is_held_against_settings_of_pao_fed_with_intervals_for_all_at_once() -> None:
    held = {(one.setting, one.word, one.against) for one in FOUND if one.against != one.word}
    count = len([one for one in held if one[2] is not None])
    assert f"There are {count} different differences" in WORDS
    student = student_of_race(1 + 2 * count, rounds=1)
    wider = [f"{student(runs - 1) / student_95(runs - 1):.1f}" for runs in (12, 6)]
    assert (
        "over twelve worlds are {} times as wide, over six worlds {} times".format(*wider) in WORDS
    )
    for one in FOUND:
        own: set[str | None] = {
            other.word
            for other in FOUND
            if (other.setting, other.purse) == (one.setting, one.purse) and other.entrant in PAO_FED
        }
        assert one.against in (own or {None})
        if one.word == one.against:
            assert one.behind is not None
            assert one.behind.mean == 0.0


def test_eight_bits_cost_nothing_that_shows() -> None:
    """Where the same windows were chosen with and without them."""
    plain = {(one.setting, one.purse): one for one in FOUND if one.entrant == "pao-fed-u"}
    alike = [
        (plain[one.setting, one.purse], one)
        for one in FOUND
        if one.entrant == "quantised-8" and (one.setting, one.purse) in plain
    ]
    alike = [(a, b) for a, b in alike if a.word.endswith(b.word.partition("down_bits=8,")[2])]
    assert len({a.setting for a, _ in alike}) == len(USUAL)
    assert all(abs(a.error.mean - b.error.mean) < 0.03 for a, b in alike)
    shares = {
        (a.purse.tariff, a.word.partition("shared=")[2].partition(",")[0]): b.bytes / a.bytes
        for a, b in alike
    }
    assert shares["payload", "4"] == pytest.approx(0.5, abs=0.01)
    assert shares["payload", "32"] == pytest.approx(0.28, abs=0.01)
    assert shares["mqtt", "128"] == pytest.approx(0.37, abs=0.01)


def test_everybody_was_judged_everywhere_in_as_many_worlds_as_is_said() -> None:
    assert {one.setting for one in FOUND} == set(USUAL)
    with (ROOT / "lab" / "compare" / "sums.csv").open(newline="", encoding="utf-8") as file:
        sums = {row["entrant"] for row in csv.DictReader(file)} - set(PAO_FED)
    assert sums == {"fed-ridge", "one-shot-ridge"}  # they have a table of their own
    assert {one.entrant for one in FOUND} == set(LINEUP) - sums
    for one in FOUND:
        assert one.purse.tariff in TARIFFS
        assert one.purse.budget in BUDGETS
        if one.setting != "air-quality":  # there, the pairs are devices
            assert one.error.runs == PLAN.extent_in(one.setting).runs


def test_sums_beside_models_are_as_their_file_says() -> None:
    with (ROOT / "lab" / "compare" / "sums.csv").open(newline="", encoding="utf-8") as file:
        found = {
            tuple(row[name] for name in ("setting", "tariff", "budget", "entrant")): row
            for row in csv.DictReader(file)
        }
    told = DOCUMENT.partition("## Sums beside models")[2].partition("## How it is done")[0]
    table = re.findall(
        r"^\| ((?:[\w-]+ \| ){2}(?:quarter|same|tenfold)) \|(.*)\|$", told, re.MULTILINE
    )
    assert len(table) == len({key[:3] for key in found}) > 0
    for where, rest in table:
        cells = [cell.strip() for cell in rest.split("|")]
        for entrant, word, db, behind in (
            ("one-shot-ridge", *cells[2:5]),
            ("fed-ridge", *cells[5:8]),
        ):
            row = found.get((*where.split(" | "), entrant))
            if row is None:
                assert (word, db, behind) == ("-", "", "")
                continue
            assert word.startswith(f"`{row['word'].partition(':')[2]}`")
            assert db == f"{float(row['db']):.2f}"
            ends = [float(row[name] or "nan") for name in ("behind", "behind_low", "behind_high")]
            shown = "{:+.2f} [{:.2f}, {:.2f}]".format(*ends) if row["behind"] else ""
            assert behind == (f"**{shown}**" if row["verdict"] == "better" else shown)


def test_it_says_whose_servers_forget_in_setting_2() -> None:
    oldest = Scenario.load("setting-2").max_age
    short = [name for name, one in LINEUP.items() if resolve(one.candidates()[0]).forgets(oldest)]
    *names, last = (f"`{name}`" for name in short)
    _, _, limits = WORDS.partition("The limits of this comparison: ")
    assert f"the servers of {', '.join(names)} and {last} remember ten past models" in limits


def test_the_command_and_the_version_that_made_it() -> None:
    words = shlex.split(COMMAND)
    assert words[:4] == ["python", "-m", "lab", "compare"]
    given = LAB.parser_of("compare").parse_args(words[4:])
    assert (given.settings, given.runs, given.seed) == (list(USUAL), FULL.runs, 0)
    assert (given.entrants, given.quick) == (None, False)
    assert set(VERSIONS) >= {"python", "paofed", "numpy", "numba"}
    assert COMMAND in DOCUMENT
    assert f"paofed {VERSIONS['paofed']}" in DOCUMENT
