"""What came of a case; ``to_json`` is the stable contract of ``tflm-hil run --json``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.elf.coverage import Coverage
from harness.findings import Finding
from harness.uart.scrapers import TestResult


class Verdict(StrEnum):
    """How a case ended."""

    PASS = "pass"
    FAIL = "fail"  # a check said no
    FIRMWARE = "firmware"  # a fault, a hang, silence, an endless reset loop
    ERROR = "error"  # the environment: no compiler, a lost board
    SKIPPED = "skipped"  # the target is not here

    @property
    def exit_code(self) -> int:
        """The exit code of ``tflm-hil`` for this verdict."""
        return {"pass": 0, "fail": 1, "firmware": 4, "error": 3, "skipped": 3}[self]


@dataclass(frozen=True)
class Size:
    """Bytes used in each memory region, by the linker's own reckoning, of so many (0: unknown)."""

    flash: int
    ram: int
    flash_total: int = 0
    ram_total: int = 0


@dataclass(frozen=True)
class OperatorTicks:
    """What one operator took in an inference: all its nodes, the median over inferences."""

    operator: str
    ticks: int  # instructions or cycles, as the result's own figure
    kernel: str = ""  # who computes it, of which type: ``cmsis-nn int8``


@dataclass(frozen=True)
class CaseResult:
    """A verdict with its reason, and everything that was measured on the way."""

    name: str
    sample: str
    resolver: str
    builder: str
    target: str
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...] = ()
    outputs_compared: int = 0
    mismatches: int = 0
    inferences: int = 0
    size: Size | None = None
    arena_declared: int | None = None
    arena_used: int | None = None
    stack_used: int | None = None
    instructions: int | None = None  # per inference, on simulator and Renode
    cycles: int | None = None  # per inference, on a board
    ticks_source: str = ""
    total_instructions: int | None = None
    virtual_seconds: float | None = None
    wall_seconds: float = 0.0
    console: Path | None = None
    details: str = ""  # several lines: tables, fault reports
    problems: tuple[str, ...] = ()  # all that is wrong, the weightiest first; `reason` is short
    hint: str = ""  # what to try
    coverage: Coverage | None = None  # what ran, where the case asked for it
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests
    elf: Path | None = None  # what ran
    elf_sha256: str = ""
    compiler: str = ""  # as the image names it
    model: Path | None = None  # what the outputs were held against
    operators: tuple[OperatorTicks, ...] = ()  # of an image that profiles itself
    milliseconds: float | None = None  # of an inference, by a board's calibration
    milliseconds_spread: float | None = None
    time: str = ""  # of an inference, in words with where it comes from

    @property
    def passed(self) -> bool:
        """True for a pass, and for nothing else."""
        return self.verdict is Verdict.PASS

    def to_json(self) -> dict[str, object]:
        """The result as JSON types."""
        return {
            "name": self.name,
            "sample": self.sample,
            "resolver": self.resolver,
            "builder": self.builder,
            "target": self.target,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "problems": list(self.problems),
            "hint": self.hint,
            "findings": [
                {
                    "kind": finding.kind.value,
                    "subject": finding.subject,
                    "message": finding.message,
                    "line": finding.line,
                    "values": dict(finding.values),
                }
                for finding in self.findings
            ],
            "outputs_compared": self.outputs_compared,
            "mismatches": self.mismatches,
            "inferences": self.inferences,
            "flash": self.size.flash if self.size else None,
            "ram": self.size.ram if self.size else None,
            "arena_declared": self.arena_declared,
            "arena_used": self.arena_used,
            "stack_used": self.stack_used,
            "instructions": self.instructions,
            "cycles": self.cycles,
            "ticks_source": self.ticks_source,
            "total_instructions": self.total_instructions,
            "virtual_seconds": self.virtual_seconds,
            "wall_seconds": round(self.wall_seconds, 6),
            "console": str(self.console) if self.console else None,
            "details": self.details,
            "coverage": _coverage_json(self.coverage) if self.coverage else None,
            "tests": [_test_json(test) for test in self.tests],
            "elf": str(self.elf) if self.elf else None,
            "elf_sha256": self.elf_sha256,
            "compiler": self.compiler,
            "model": str(self.model) if self.model else None,
            "milliseconds": self.milliseconds,
            "milliseconds_spread": self.milliseconds_spread,
            "time": self.time,
            "operators": [vars(one) for one in self.operators],
        }


def _test_json(test: TestResult) -> dict[str, object]:
    return {
        "name": test.name,
        "state": test.state,
        "seconds": test.seconds,
        "line": test.line,
        "messages": list(test.messages),
    }


def _coverage_json(coverage: Coverage) -> dict[str, object]:
    """Lines in sum (an LCOV file has them all), instructions function by function."""
    ran, lines = coverage.lines
    return {
        "lines_run": ran,
        "lines": lines,
        "instructions": coverage.instructions,
        "functions": [
            {"function": name, "instructions": count} for name, count in coverage.functions.items()
        ],
    }
