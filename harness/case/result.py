"""The result of a case; ``to_json`` is the stable contract of ``tflm-hil run --json``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from harness.base import notebook
from harness.base.errors import CheckFailed, EnvironmentMissing, ExitCode, FirmwareFailed, HilError
from harness.base.findings import Finding
from harness.base.platforms import place
from harness.base.tables import plain
from harness.uart.scrapers import TestResult

if TYPE_CHECKING:
    from harness.elf.coverage import Coverage


class Verdict(StrEnum):
    """How a case ended."""

    PASS = "pass"
    FAIL = "fail"  # a check failed
    FIRMWARE = "firmware"  # a fault, a hang, silence, an endless reset loop
    ERROR = "error"  # the environment: no compiler, a lost board
    SKIPPED = "skipped"  # the target is not here

    @classmethod
    def of(cls, error: HilError) -> Verdict:
        """The verdict on a case that ``error`` ended."""
        match error:
            case EnvironmentMissing():
                return cls.SKIPPED
            case CheckFailed():
                return cls.FAIL
            case FirmwareFailed():
                return cls.FIRMWARE
        return cls.ERROR

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of ``tflm-hil`` for this verdict."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Verdict.PASS: ExitCode.PASSED,
    Verdict.FAIL: ExitCode.CHECK_FAILED,
    Verdict.FIRMWARE: ExitCode.FIRMWARE,
    Verdict.ERROR: ExitCode.ENVIRONMENT,
    Verdict.SKIPPED: ExitCode.ENVIRONMENT,
}


@dataclass(frozen=True)
class Size:
    """Bytes used in each memory region as the linker counts them, and its size (0: unknown)."""

    flash: int
    ram: int
    flash_total: int = 0
    ram_total: int = 0


@dataclass(frozen=True)
class ImageSize:
    """One of several images that ran together: its world, and the bytes it takes of the chip."""

    name: str
    world: str  # "secure", "non-secure"
    flash: int
    ram: int


@dataclass(frozen=True)
class OperatorTicks:
    """The ticks of one operator in an inference: all its nodes, the median over inferences."""

    operator: str
    ticks: int  # instructions or cycles, as the result's own figure
    kernel: str = ""  # library and type of the kernel: ``cmsis-nn int8``


@dataclass(frozen=True)
class Profiled:
    """Instructions, from boot to end, of code that belongs to one operator, several, or none."""

    group: str
    instructions: int


@dataclass(frozen=True)
class Setup:
    """The image, the target, and the model with which the outputs were compared."""

    name: str
    sample: str
    resolver: str
    builder: str
    target: str
    elf: Path | None = None
    elf_sha256: str = ""
    compiler: str = ""  # as the image names it
    model: Path | None = None
    chip: str = ""  # the key of its table; "" if there is no image
    power_on: str = ""  # the seed of what memory held at first; "" on a target that takes none

    @property
    def place(self) -> str:
        """The target, and the chip if it is not the default one."""
        return place(self.target, self.chip)

    def __str__(self) -> str:
        return f"{self.name} on {self.place}"


@dataclass(frozen=True)
class Judgement:
    """A verdict, and why: in one line, and in full."""

    verdict: Verdict
    reason: str
    problems: tuple[str, ...] = ()  # all that is wrong, the most important first
    hint: str = ""  # what to try

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


@dataclass(frozen=True)
class Evidence:
    """The findings and comparisons that the judgement rests on."""

    findings: tuple[Finding, ...] = ()
    outputs_compared: int = 0
    mismatches: int = 0
    inferences: int = 0
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests
    details: str = ""  # several lines: tables, fault reports
    console: Path | None = None
    coverage: Coverage | None = None  # what ran, if the case was traced
    compared_with: str = ""  # the other side of the comparison; "" if nothing was compared


@dataclass(frozen=True)
class Measures:
    """The figures of a run; None for one that neither the image nor the target gives."""

    size: Size | None = None
    images: tuple[ImageSize, ...] = ()  # of several that ran together; the first is `size`'s
    adequacy: float | None = None  # share of mistakes that the inputs notice, if budgeted
    mistakes_missed: int | None = None
    arena_declared: int | None = None
    arena_used: int | None = None
    stack_used: int | None = None
    instructions: int | None = None  # median per inference, on simulator and Renode
    cycles: int | None = None  # the same on a board
    ticks_source: str = ""
    operators: tuple[OperatorTicks, ...] = ()  # of an image that profiles itself; most ticks first
    profiled: tuple[Profiled, ...] = ()  # if the case was traced; most first
    total_instructions: int | None = None
    virtual_seconds: float | None = None
    wall_seconds: float = 0.0
    milliseconds: float | None = None  # of an inference, by a board's calibration
    milliseconds_spread: float | None = None
    microjoules: float | None = None  # of an inference, if the lab's supply is known
    time: str = ""  # of an inference, in words, with its source

    @property
    def flash(self) -> int | None:
        """Bytes of flash used."""
        return self.size.flash if self.size else None

    @property
    def ram(self) -> int | None:
        """Bytes of RAM used."""
        return self.size.ram if self.size else None


@dataclass(frozen=True)
class CaseResult:
    """Setup, judgement, evidence and measures of one run of a case."""

    setup: Setup
    judgement: Judgement
    evidence: Evidence = Evidence()
    measures: Measures = Measures()

    @property
    def passed(self) -> bool:
        """True for a pass, and for nothing else."""
        return self.judgement.verdict is Verdict.PASS

    def __repr__(self) -> str:
        return f"<CaseResult {self.setup}: {self.judgement}>"

    def _repr_html_(self) -> str:
        """For notebooks: the figures, what is wrong, and the time of each operator."""
        measures, evidence, judgement = self.measures, self.evidence, self.judgement
        figures = {
            "flash B": measures.flash,
            "RAM B": measures.ram,
            "arena B": measures.arena_used,
            "stack B": measures.stack_used,
            "instr./inf.": measures.instructions,
            "cycles/inf.": measures.cycles,
            "compared": evidence.outputs_compared or None,
        }
        known = {head: f"{value:,}" for head, value in figures.items() if value is not None}
        row = [self.setup.name, self.setup.target, *known.values(), judgement.verdict]
        hint = f"hint: {judgement.hint}" if judgement.hint else ""
        said = [judgement.reason, *judgement.problems[1:], *([hint] if hint else [])]
        ticks = [(one.operator, one.ticks) for one in measures.operators]
        return "".join(
            [
                notebook.table(["case", "target", *known, "verdict"], [row]),
                notebook.lines(said),
                notebook.text(evidence.details),
                notebook.bars("operator", "ticks", ticks),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """The result as JSON types: the fields of all parts in one object."""
        parts = (self.setup, self.judgement, self.evidence, self.measures)
        values = {name: value for part in parts for name, value in vars(part).items()}
        coverage = values["coverage"]
        del values["size"]
        spelt_out = {
            "flash": self.measures.flash,
            "ram": self.measures.ram,
            "coverage": _coverage_json(coverage) if coverage else None,
            "findings": [{**vars(one), "values": dict(one.values)} for one in values["findings"]],
            "wall_seconds": round(values["wall_seconds"], 6),
        }
        document: dict[str, Any] = plain(values | spelt_out)
        return document

    if not TYPE_CHECKING:  # typed code names the part

        def __getattr__(self, name: str) -> Any:
            """A field of a part, in short: ``result.instructions``, ``result.reason``."""
            part = _PART_OF.get(name)
            if part is None:
                raise AttributeError(f"a case's result has no {name!r}", name=name, obj=self)
            return getattr(getattr(self, part), name)


#: Field of a part -> the part's name.
_PART_OF = {
    field.name: part for part, kind in get_type_hints(CaseResult).items() for field in fields(kind)
}


def _coverage_json(coverage: Coverage) -> dict[str, object]:
    """Lines in total (an LCOV file lists them), instructions function by function."""
    lines_run, lines = coverage.lines
    return {
        "lines_run": lines_run,
        "lines": lines,
        "instructions": coverage.instructions,
        "functions": [
            {"function": name, "instructions": count} for name, count in coverage.functions.items()
        ],
    }
