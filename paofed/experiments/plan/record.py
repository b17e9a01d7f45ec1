"""What is known in the end: the best settings within each budget, how sure, and how to use them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paofed.core.tariffs import tariff_of
from paofed.experiments.plan.budget import DAY
from paofed.experiments.plan.field import Candidate, step_of
from paofed.experiments.race.record import compared, plain, score_name, score_said
from paofed.experiments.trials import Tried
from paofed.simulate.results.estimates import Estimate
from paofed.table import ESTIMATE, ShownColumn, ShownTable, at_most, estimated, known, numeric
from paofed.words import counted, listed, size
from paofed.world.worlds import Setting


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The best settings found for a number of bytes; bytes are per device and tick."""

    candidate: Candidate
    most: float  # the largest of the purses that these settings won
    spends: float
    contacts: float  # per device and tick
    error: Estimate  # in dB, with its 95 % interval
    reaches: float  # dB that the error is below; holds for all offers together with 95 %
    # DB over the next cheaper offer, pair by pair; None: this is the cheapest.
    gain: Estimate | None
    at_most: float  # dB by which anything tried within that purse can be better
    # Candidates within that purse that could not be told apart from this one.
    alike: tuple[str, ...]
    guards: Estimate | None  # dB that the bounds of a new fleet cost; None: bounds were not tried
    guarded: bool  # whether the settings have these bounds


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """Settings for a fleet and its bytes: what was chosen, among what, and how sure that is."""

    scenario: Setting
    budget: str | None
    tariff: str
    target: float | None  # the error that was asked for, in dB
    where: str  # where the race was, in words
    over: str  # what the intervals are over: worlds, devices or blocks of time
    tolerance: float
    offers: tuple[Offer, ...]  # the cheapest first
    chosen: Offer
    reached: bool  # whether the error is below what was asked for, or nothing was asked for
    worlds: int  # number of fresh worlds; 0: interrupted before, and errors are those of the race
    usual: str  # the candidate of a fleet without a plan
    usual_spends: float
    # DB that the chosen candidate gains over the usual one, in the fresh worlds.
    gain: Estimate | None
    exchanges: Mapping[str, Estimate]  # dB that another order of a contact gains
    tried: tuple[Tried, ...]  # the best first; payload is in bytes per device and tick
    candidates: Mapping[str, Candidate]  # what was tried, by the names in `tried`
    notes: tuple[str, ...]  # what took no part, and why

    def __str__(self) -> str:
        """Say what was chosen, then the table of offers and the remarks."""
        return "\n\n".join((self.sentence, self.front, *self.remarks))

    def __repr__(self) -> str:
        return str(self)

    @property
    def fleet(self) -> Setting:
        """The scenario of a fleet with the settings that were chosen."""
        return self.chosen.candidate.over(self.scenario)

    def in_time(self, rate: float) -> str:
        """Write bytes per device and tick as people say them: by day, or by run."""
        return f"{size(rate * self.ticks)}/{self.period}/device"

    @property
    def ticks(self) -> float:
        """The ticks of a day, or of a run where the length of a tick is not known."""
        length = self.scenario.tick_seconds
        return self.scenario.ticks if length is None else DAY / length

    @property
    def period(self) -> str:
        """The period that `ticks` covers: a day or a run."""
        return "run" if self.scenario.tick_seconds is None else "day"

    @property
    def sentence(self) -> str:
        """Say what to use, what it costs and reaches, and what is promised."""
        best = self.chosen
        said = (
            f"{best.candidate.setup}, {best.contacts * self.ticks:.3g} contacts/{self.period} of a "
            f"device ({best.candidate.contacts:.0%} of those there can be): "
            f"{score_said(best.error, self.over)} for {self.in_time(best.spends)}"
        )
        judged = f"on {self.worlds} fresh worlds" if self.worlds else "not judged on fresh worlds"
        return f"{self._verdict}{said}, {judged}; {self._doubt(best)}"

    @property
    def _verdict(self) -> str:
        if self.target is None or not self.worlds:
            return ""
        if self.reached:
            return f"the cheapest judged settings that are surely (95 %) below {self.target:g} dB: "
        short = self.chosen.error.mean - self.target
        near = f"are {short:.2f} dB above it" if short > 0 else "may be, which is not sure"
        return f"nothing is surely (95 %) below {self.target:g} dB; the nearest settings {near}: "

    def _doubt(self, offer: Offer) -> str:
        if not math.isfinite(offer.at_most):
            return "others for so many bytes may be better"
        if offer.at_most <= 0:
            return "all else that was tried within that budget was worse (95 %)"
        most = f"{at_most(offer.at_most)} dB (95 %)"
        return f"nothing tried within that budget is better by more than {most}"

    @property
    def front(self) -> str:
        """Return the best offer for every budget, as a table."""
        columns = (
            ShownColumn("candidate", "settings"),
            ShownColumn("contacts", "contacts", numeric(lambda rate: f"{rate:.3g}/{self.period}")),
            ShownColumn("most", "budget", numeric(self.in_time)),
            ShownColumn("spends", "spends", numeric(self.in_time)),
            ShownColumn("error", score_name(self.over), ESTIMATE),
            ShownColumn("gain", "gain", ESTIMATE, "dB"),
            ShownColumn("doubt", "doubt", numeric(_doubted)),
        )
        rows = [
            [
                f"{'*' if one is self.chosen else ' '} {one.candidate.setup}",
                one.contacts * self.ticks,
                one.most,
                one.spends,
                one.error,
                one.gain,
                (one.at_most, len(one.alike)),
            ]
            for one in self.offers
        ]
        told = (
            "gain: over the line above, in the same worlds; doubt: by how many dB other settings "
            "tried within the budget can be better, and how many of them could not be told from "
            f"these (alike); intervals of 95 %, over {self.over}"
        )
        return ShownTable(columns, rows, notes=(told,)).text()

    @property
    def remarks(self) -> list[str]:
        """Return what else is worth knowing, one sentence each."""
        tariff, best = tariff_of(self.tariff), self.chosen
        said = [
            f"bytes are those on the wire, both ways, mean over devices: {tariff.words}"
            if tariff.words
            else f"bytes are those of the tariff {tariff.name}, both ways, mean over devices",
            f"chosen {self.where}, among {counted(len(self.tried), 'candidate')}",
            *self.notes,
        ]
        if self.budget is not None and best.spends > best.most:
            said.append(f"it spends more than {self.in_time(best.most)} in the fresh worlds, but "
                        f"not in those of the race: allow for some more bytes")  # fmt: skip
        if best.guards is not None:
            taken = "have" if best.guarded else "do not have"
            said.append(f"bounds on what one device can do (--clip, --bound) cost "
                        f"{estimated(best.guards)} dB in the race; the chosen settings {taken} "
                        f"these bounds")  # fmt: skip
        said += [
            f"with `exchange={name}` it would be {compared(gain)}"
            for name, gain in self.exchanges.items()
        ]
        if self.gain is not None and str(best.candidate) != self.usual:
            spends = self.in_time(self.usual_spends)
            said.append(f"{compared(self.gain)} than {self.usual}, which is what a fleet does "
                        f"without a plan, for {spends}")  # fmt: skip
        if best.alike:
            said.append(f"these settings within the budget may be as good: {listed(best.alike)}")
        said.append(f"of settings within {self.tolerance:g} dB of the best, the cheapest is taken")
        if self._has_largest_step:
            said.append("its step size is the largest that was tried: a larger one may be better")
        return said

    @property
    def _has_largest_step(self) -> bool:
        """Whether no larger step size was tried than that of the chosen candidate."""
        own = step_of(self.chosen.candidate.setup, self.scenario)
        tried = (self.candidates[one.candidate] for one in self.tried)
        steps = [step_of(one.setup, self.scenario) for one in tried]
        return own is not None and own == max(step for step in steps if step is not None)

    def as_json(self) -> dict[str, Any]:
        """Return everything in plain values, and in words; what is not known is None."""
        told: dict[str, Any] = {
            "scenario": self.fleet.model_dump(),
            "budget": self.budget,
            "tariff": self.tariff,
            "target_db": self.target,
            "reached": self.reached,
            "ticks_per_period": self.ticks,
            "period": self.period,
            "tolerance": self.tolerance,
            "where": self.where,
            "units": self.over,
            "fresh_worlds": self.worlds,
            "chosen": _told(self.chosen),
            "offers": [_told(one) for one in self.offers],
            "usual": self.usual,
            "usual_spends": self.usual_spends,
            "gain": None if self.gain is None else self.gain._asdict(),
            "exchanges": {name: gain._asdict() for name, gain in self.exchanges.items()},
            "tried": [plain(one) for one in self.tried],
            "sentence": self.sentence,
            "remarks": self.remarks,
        }
        values: dict[str, Any] = known(told)
        return values


def _doubted(doubt: tuple[float, int]) -> str:
    """Write by how many dB others can be better, and how many cannot be told from an offer."""
    most, alike = doubt
    return f"{at_most(most)}, {alike} alike" if most < math.inf else "unknown"


def _told(offer: Offer) -> dict[str, Any]:
    return plain(offer) | {
        "candidate": str(offer.candidate.setup),
        "share": offer.candidate.contacts,
    }
