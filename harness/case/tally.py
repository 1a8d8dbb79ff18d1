"""Counts of requested cases: those that ran, those that were skipped and why, the exit code.

Every interface that judges cases (``run``, Robot, pytest, sweeps, the action) uses them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.base.errors import ExitCode
from harness.base.text import count_of
from harness.case.result import CaseResult, Verdict


class AttemptStatus(StrEnum):
    """Whether a requested case ran."""

    RAN = "ran"
    SKIPPED = "skipped"  # its target is not on this machine
    ERROR = "error"  # the environment broke

    @classmethod
    def of(cls, verdict: Verdict) -> AttemptStatus:
        """The status of a case with this verdict."""
        failed = dict.fromkeys((Verdict.USAGE, Verdict.ERROR), cls.ERROR)
        return {Verdict.SKIPPED: cls.SKIPPED, **failed}.get(verdict, cls.RAN)


@dataclass(frozen=True)
class Attempt:
    """One case on one target. ``reason``: why it did not run."""

    case: str
    target: str
    status: AttemptStatus = AttemptStatus.RAN
    reason: str = ""

    @classmethod
    def of(cls, result: CaseResult) -> Attempt:
        """The attempt that ended with ``result``."""
        status = AttemptStatus.of(result.judgement.verdict)
        reason = "" if status is AttemptStatus.RAN else result.judgement.reason
        return cls(result.setup.name, result.setup.target, status, reason)


@dataclass(frozen=True)
class Tally:
    """The number of requested cases, and an attempt for each that was tried."""

    attempts: tuple[Attempt, ...]
    asked: int  # requested cases: more than attempts if the run was interrupted
    named: frozenset[str] = frozenset()  # targets given by the user, not by a case file
    allow_skips: bool = False

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Tally:
        """The tally of ``results``, one for each requested case."""
        attempts = tuple(Attempt.of(result) for result in results)
        return cls(attempts, len(attempts))

    @property
    def ran(self) -> int:
        """Number of attempts that ran."""
        return self._count(AttemptStatus.RAN)

    @property
    def skipped(self) -> Sequence[Attempt]:
        """The skipped attempts."""
        return [one for one in self.attempts if one.status is AttemptStatus.SKIPPED]

    @property
    def untested(self) -> str:
        """The reason why the request does not count as tested; "" if it does.

        Each requested case must run: on every target that the user named, otherwise on one of those
        that its case file lists. ``allow_skips`` waives that, but not for a request of no cases.
        """
        if not self.asked:
            return "no case was asked for, so nothing was tested"
        if self.allow_skips:
            return ""
        tried = {one.case for one in self.attempts if one.status is not AttemptStatus.SKIPPED}
        for one in self.skipped:
            if one.target in self.named:
                why = f"{one.case} did not run: {one.reason}"
                return f"{one.target} was asked for by name, and {why}"
            if one.case not in tried:
                return f"{one.case} did not run on any of its targets: {one.reason}"
        return ""

    def __str__(self) -> str:
        errors = self._count(AttemptStatus.ERROR)
        more = f", {count_of(errors, 'error')}" if errors else ""
        reasons = dict.fromkeys(f"{one.target}: {one.reason}" for one in self.skipped)
        why = f" ({'; '.join(reasons)})" if reasons else ""
        counts = f"{self.ran:,} ran, {len(self.skipped):,} skipped"
        return f"{self.asked:,} asked for, {counts}{why}{more}"

    def to_json(self) -> dict[str, Any]:
        """The field ``tally`` of the document of ``run --json``."""
        skipped = [
            {"case": one.case, "target": one.target, "reason": one.reason} for one in self.skipped
        ]
        return {"asked": self.asked, "ran": self.ran, "skipped": skipped}

    def _count(self, status: AttemptStatus) -> int:
        return sum(one.status is status for one in self.attempts)


def exit_code(verdicts: Iterable[Verdict], tally: Tally) -> ExitCode:
    """The exit code of a run, the gravest of its cases.

    A skipped case counts only if the tally is untested because of it.
    """
    codes = {verdict.exit_code for verdict in verdicts if verdict is not Verdict.SKIPPED}
    if tally.untested:
        codes.add(ExitCode.ENVIRONMENT)
    return gravest(codes)


def gravest(codes: Collection[ExitCode]) -> ExitCode:
    """The exit code of several: of firmware, of failed checks, of usage, of the environment."""
    order = (ExitCode.FIRMWARE, ExitCode.CHECK_FAILED, ExitCode.USAGE, ExitCode.ENVIRONMENT)
    return next((code for code in order if code in codes), ExitCode.PASSED)
