"""The expected result of a run: outputs, findings, values, tests, lines (key ``expect``).

The table of samples expects with the same class what a case file does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from harness.base import numbers, tables
from harness.base.findings import NOTES, Finding, Kind
from harness.base.tables import key
from harness.base.text import short

#: How a test of a suite may end that a case names.
KnownState = Literal["pass", "fail", "skip", "flaky"]


@tables.check("`kind` or `kind:subject`", raw=True, pattern=rf"^({'|'.join(Kind)})(:|$)")
def finding(given: Any) -> tuple[str, str]:
    """A kind of finding and its subject, "" for any. Pairs stay as they are."""
    pair = given if isinstance(given, tuple) else tuple(str(given).partition(":")[::2])
    if not isinstance(given, (str, tuple)) or pair[0] not in list(Kind):
        raise ValueError(f"no finding {short(pair[0])}; one of {', '.join(Kind)}")
    return pair[0], pair[1].strip()


@tables.check("a number that a device can print, or a text", raw=True)
def printable(value: object) -> object:
    """A finite number or a text."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not isinstance(value, str) and not (number and abs(value) <= sys.float_info.max):  # type: ignore[arg-type]
        raise ValueError(f"{short(value)} is neither a number nor a text")
    return value


@dataclass(frozen=True)
class ValueRule:
    """How a value of a scraper's results is compared. With ``min`` or ``max`` it is a range."""

    factor: Annotated[float, numbers.factor] = key(
        1.0, "The printed number times the factor is the value: 0.01 for percent."
    )
    rounded: bool = key(
        False, "The expected number, rounded or cut off to the printed digits, is the printed one."
    )
    tolerance: Annotated[float | None, numbers.tolerance] = key(
        None, "Largest difference, in place of the case's."
    )
    min: Annotated[float | None, numbers.finite] = key(
        None, "The least value of every result; none is listed."
    )
    max: Annotated[float | None, numbers.finite] = key(
        None, "The largest value of every result; none is listed."
    )

    @property
    def is_range(self) -> bool:
        """Whether values lie in a range, in place of a list."""
        return self.min is not None or self.max is not None


#: By name of a value; one that is ignored is read and not compared.
ValueRules = Mapping[str, Literal["ignored"] | ValueRule]


@dataclass(frozen=True)
class Expected:
    """What a run must show, and nothing else. Fields without a ``key`` are the sample table's.

    ``declared``: numbers that findings must name, as ``(kind, subject, name, number)``.
    ``registered`` and ``refused``: figures of the ``resolver`` record, None for any.
    """

    outputs: bool | None = key(None, "false: no output may come.")
    findings: tuple[Annotated[tuple[str, str], finding], ...] = key(
        (), "Findings that must be there; any other finding fails the case."
    )
    values: tuple[Mapping[str, Annotated[Any, printable]], ...] = key(
        (), "For scrapers: numbers and texts of each result in turn."
    )
    compare: ValueRules = key(
        {}, "How values of scrapers compare, by name: ignored, or with a factor, rounded, within a "
        "tolerance or a range.",
    )  # fmt: skip
    tests: Mapping[str, KnownState] = key(
        {}, "For scrapers of test suites: tests that do not pass, and how they end."
    )
    lines_absent: tuple[str, ...] = key((), "Regexes that no line of the console may match.")
    unread: Literal["allowed", "none"] = key(
        "allowed", '"none": each number on the console must be compared with something.'
    )
    ignored: tuple[str, ...] = key((), "Regexes of text whose numbers need no check.")
    declared: tuple[tuple[str, str, str, int], ...] = ()
    registered: int | None = None
    refused: int | None = None

    @property
    def wants_outputs(self) -> bool:
        """Whether outputs must come.

        An image with an expected finding usually gives none, unless the case lists results.
        """
        if self.outputs is not None:
            return self.outputs
        return not self.findings or bool(self.values or self.compare or self.tests)

    def unmet(self, findings: Iterable[Finding]) -> list[str]:
        """A message for each expected finding that is not among ``findings``."""
        present = list(findings)
        problems = [
            f"no finding {kind}" + (f" about {subject}" if subject else "")
            for kind, subject in self.findings
            if not any(_matches(finding, kind, subject) for finding in present)
        ]
        for kind, subject, name, number in self.declared:
            claimed = [one.value(name) for one in present if _matches(one, kind, subject)]
            if claimed and number not in claimed:
                problems.append(f"{kind} about {subject} says {name} {claimed[0]}, not {number}")
        return problems

    def names(self, finding: Finding) -> bool:
        """Whether ``finding`` is expected by name."""
        return any(_matches(finding, kind, subject) for kind, subject in self.findings)

    def unexpected(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are neither expected nor notes."""
        return [
            finding for finding in findings if finding.kind not in NOTES and not self.names(finding)
        ]


def _matches(finding: Finding, kind: str, subject: str) -> bool:
    if finding.kind != kind:
        return False
    # TFLM's message does not name the missing custom operator.
    unnamed = finding.kind is Kind.MISSING_CUSTOM_OPERATOR and finding.subject in ("", "CUSTOM")
    return subject in ("", finding.subject) or unnamed
