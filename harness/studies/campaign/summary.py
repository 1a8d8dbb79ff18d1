"""The summary of a campaign: rates with intervals, by fault site, and sites to protect first."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from typing import Any

from harness.studies.campaign.baseline import Baseline
from harness.studies.campaign.inject import CRITICAL, OUTCOMES

#: Properties by which records are grouped; ``time`` is the tenth of the inference with the fault.
GROUPS = ("model", "region", "tensor", "operator", "bit", "time")
_TENTHS = 10
#: Sites listed as those to protect first.
_SHOWN = 5
#: Confidence level of intervals: 95 of 100 contain the true rate.
CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The score interval of a rate (E. B. Wilson, JASA 22, 1927); (0, 1) without trials."""
    if not of:
        return 0.0, 1.0
    rate, square = hits / of, _Z * _Z
    centre = rate + square / (2 * of)
    half_width = _Z * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low, high = ((centre + sign * half_width) / (1 + square / of) for sign in (-1, 1))
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < of else 1.0


@dataclass(frozen=True)
class Rate:
    """The rate of ``hits`` among ``of`` faults, with Wilson's interval of 95 %."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        """The share of hits; 0 without faults."""
        return self.hits / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper bound of the true rate."""
        return wilson(self.hits, self.of)


@dataclass(frozen=True)
class Exposure:
    """A site to protect."""

    region: str
    name: str
    bytes: int
    critical: Rate

    @property
    def share(self) -> float:
        """Weight for sorting: the critical rate times the size in bytes."""
        return self.critical.rate * self.bytes

    def __str__(self) -> str:
        low, high = self.critical.interval
        first, more, _ = self.name.partition(";")  # converters join several names
        name = f"{first};..." if more else first
        return (
            f"{name} ({self.region}, {self.bytes:,} B): {self.critical.rate:.2%} of hits are "
            f"critical ({low:.2%} to {high:.2%})"
        )


def _natural_order(item: tuple[tuple[str, str, str], object]) -> list[tuple[int, str]]:
    """A sorting key in which numbers in names are compared as numbers: 2 before 10."""
    words = re.findall(r"\d+|\D+", "\0".join(item[0]))
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in words]


@dataclass
class CampaignSummary:
    """Counts of outcomes, independent of the order of records."""

    baseline: Baseline
    outcomes: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)  # by outcome
    by: dict[tuple[str, str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record."""
        outcome = record["outcome"]
        self.outcomes[outcome] += 1
        if record["detail"]:
            self.details[record["detail"]] += 1
        if record["verdict"]:
            self.verdicts[outcome, record["verdict"]] += 1
        tenth = min(_TENTHS - 1, record["offset"] * _TENTHS // max(1, self.baseline.length))
        for group in GROUPS:
            if group == "time":
                value = f"{tenth * 10}-{tenth * 10 + 10} %"
            elif group == "bit":
                value = self._bit(record)
            else:
                value = str(record[group])
            if value:
                self.by[record["model"], group, value][outcome] += 1

    def _bit(self, record: Mapping[str, Any]) -> str:
        """The bit, for tensors with the width of their elements; "" if there is none."""
        if record["bit"] < 0:
            return ""
        width = self.widths.get((record["model"], record["tensor"]))
        return f"{8 * width}-bit, {record['bit']}" if width else str(record["bit"])

    @cached_property
    def widths(self) -> dict[tuple[str, str], int]:
        """Fault model and tensor -> bytes of an element."""
        sites = (*self.baseline.weights, *self.baseline.activations)
        return {(site.region, site.name): site.width for site in sites}

    @property
    def faults(self) -> int:
        """Number of injected faults."""
        return sum(self.outcomes.values())

    def rate(self, outcome: str) -> Rate:
        """The rate of ``outcome`` among all faults."""
        return Rate(self.outcomes[outcome], self.faults)

    def groups(self) -> Iterable[tuple[str, str, str, Counter[str]]]:
        """Yield fault model, group, value and counts, sorted, without groups of a single value."""
        values = Counter((model, group) for model, group, _ in self.by)
        for (model, group, value), counts in sorted(self.by.items(), key=_natural_order):
            if group == "model" or values[model, group] > 1:
                yield model, group, value, counts

    @property
    def passed(self) -> int:
        """Number of faults that changed outputs and got the verdict "pass"."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict == "pass")

    def exposures(self) -> list[Exposure]:
        """The sites to protect first: tensors by critical rate times size."""
        sites = (*self.baseline.weights, *self.baseline.activations)
        sizes = {(site.region, site.name): site.size for site in sites}
        found = [
            Exposure(
                model, value, sizes[model, value], Rate(counts[CRITICAL], sum(counts.values()))
            )
            for (model, group, value), counts in self.by.items()
            if group == "tensor" and (model, value) in sizes and counts[CRITICAL]
        ]
        return sorted(found, key=lambda one: (-one.share, one.name))[:_SHOWN]

    def to_json(self) -> dict[str, Any]:
        """The document of ``campaign --json`` without its records and seed."""
        return {
            "faults": self.faults,
            "outcomes": {name: self.outcomes[name] for name in OUTCOMES},
            "rates": {
                name: {
                    "rate": self.rate(name).rate,
                    "low": self.rate(name).interval[0],
                    "high": self.rate(name).interval[1],
                }
                for name in OUTCOMES
            },
            "by": [
                {
                    "model": model,
                    "group": group,
                    "value": value,
                    "faults": sum(counts.values()),
                    **{name: counts[name] for name in OUTCOMES},
                    "critical_low": wilson(counts[CRITICAL], sum(counts.values()))[0],
                    "critical_high": wilson(counts[CRITICAL], sum(counts.values()))[1],
                }
                for model, group, value, counts in self.groups()
            ],
            "verdicts": [
                {"outcome": outcome, "verdict": verdict, "faults": count}
                for (outcome, verdict), count in sorted(self.verdicts.items())
            ],
            "protect": [
                {"region": one.region, "name": one.name, "bytes": one.bytes,
                 "critical": one.critical.rate}
                for one in self.exposures()
            ],
        }  # fmt: skip
