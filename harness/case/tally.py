"""Requested cases: how many ran, which were skipped and why, whether anything was tested.

Every interface that judges cases (``run``, Robot, pytest, sweeps, the action) counts here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from harness.base.errors import ExitCode
from harness.base.text import count_of
from harness.case.result import CaseResult, Verdict


class Turn(StrEnum):
    """The outcome of a requested case."""

    RAN = "ran"
    SKIPPED = "skipped"  # its target is not on this machine
    ERROR = "error"  # the environment broke

    @classmethod
    def of(cls, verdict: Verdict) -> Turn:
        """The turn of a case with this verdict."""
        return {Verdict.SKIPPED: cls.SKIPPED, Verdict.ERROR: cls.ERROR}.get(verdict, cls.RAN)


@dataclass(frozen=True)
class Attempt:
    """One case on one target. ``reason``: why it did not run."""

    case: str
    target: str
    turn: Turn = Turn.RAN
    reason: str = ""

    @classmethod
    def of(cls, result: CaseResult) -> Attempt:
        """The attempt that ended with ``result``."""
        turn = Turn.of(result.judgement.verdict)
        reason = "" if turn is Turn.RAN else result.judgement.reason
        return cls(result.setup.name, result.setup.target, turn, reason)


@dataclass(frozen=True)
class Tally:
    """The number of requested cases, and an attempt for each that was tried.

    ``asked`` is larger than the number of attempts if a run was interrupted. ``named`` are targets
    that the user named, instead of those that a case file lists.
    """

    attempts: tuple[Attempt, ...]
    asked: int
    named: frozenset[str] = frozenset()
    allow_skips: bool = False

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Tally:
        """The tally of ``results``, one for each requested case."""
        attempts = tuple(Attempt.of(result) for result in results)
        return cls(attempts, len(attempts))

    def requested(
        self, *, asked: int | None = None, named: Collection[str] = (), allow_skips: bool = False
    ) -> Tally:
        """The same attempts with the user's request."""
        asked = self.asked if asked is None else asked
        return replace(self, asked=asked, named=frozenset(named), allow_skips=allow_skips)

    @property
    def ran(self) -> int:
        """How many ran."""
        return self._count(Turn.RAN)

    @property
    def skipped(self) -> Sequence[Attempt]:
        """Those that were skipped."""
        return [one for one in self.attempts if one.turn is Turn.SKIPPED]

    @property
    def untested(self) -> str:
        """Why this cannot be called tested; "" if it can.

        A requested case must run: on every target that was named by the user, otherwise on
        one of those that its case file lists. ``allow_skips`` waives that, but not an empty tally.
        """
        if not self.asked:
            return "no case was asked for, so nothing was tested"
        if self.allow_skips:
            return ""
        tried = {one.case for one in self.attempts if one.turn is not Turn.SKIPPED}
        for one in self.skipped:
            if one.target in self.named:
                why = f"{one.case} did not run: {one.reason}"
                return f"{one.target} was asked for by name, and {why}"
            if one.case not in tried:
                return f"{one.case} did not run on any of its targets: {one.reason}"
        return ""

    def __str__(self) -> str:
        errors = self._count(Turn.ERROR)
        more = f", {count_of(errors, 'error')}" if errors else ""
        reasons = dict.fromkeys(f"{one.target}: {one.reason}" for one in self.skipped)
        why = f" ({'; '.join(reasons)})" if reasons else ""
        counts = f"{self.ran:,} ran, {len(self.skipped):,} skipped"
        return f"{self.asked:,} asked for, {counts}{why}{more}"

    def to_json(self) -> dict[str, Any]:
        """``tally`` of the document of ``run --json``."""
        skipped = [
            {"case": one.case, "target": one.target, "reason": one.reason} for one in self.skipped
        ]
        return {"asked": self.asked, "ran": self.ran, "skipped": skipped}

    def _count(self, turn: Turn) -> int:
        return sum(one.turn is turn for one in self.attempts)


def exit_code(verdicts: Iterable[Verdict], tally: Tally) -> ExitCode:
    """The exit code for all verdicts: firmware before failed checks before the environment.

    A skipped case counts only if the tally cannot be called tested without it.
    """
    codes = {verdict.exit_code for verdict in verdicts if verdict is not Verdict.SKIPPED}
    if tally.untested:
        codes.add(ExitCode.ENVIRONMENT)
    order = (ExitCode.FIRMWARE, ExitCode.CHECK_FAILED, ExitCode.ENVIRONMENT)
    return next((code for code in order if code in codes), ExitCode.PASSED)
