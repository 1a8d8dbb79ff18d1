"""The result of a case; ``to_json`` is the stable contract of ``tflm-hil run --json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from harness.base.errors import CheckFailed, EnvironmentMissing, ExitCode, FirmwareFailed, HilError
from harness.base.findings import Finding
from harness.base.platforms import place
from harness.base.tables import plain
from harness.uart.scrapers import TestResult

if TYPE_CHECKING:
    from harness.elf.coverage import Coverage
    from harness.footprint.budget import BudgetVerdict
    from harness.reference.adequacy import Adequacy

T = TypeVar("T")


class Verdict(StrEnum):
    """How a case ended."""

    PASS = "pass"
    FAIL = "fail"  # a check failed
    FIRMWARE = "firmware"  # a fault, a hang, silence, an endless reset loop
    ERROR = "error"  # the environment: no compiler, a lost board
    SKIPPED = "skipped"  # this machine does not have the target

    @classmethod
    def of(cls, error: HilError) -> Verdict:
        """The verdict on a case that ended with ``error``."""
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
    """Bytes used in each memory region as the linker counts them, and the region's size."""

    flash: int
    ram: int
    flash_total: int = 0  # 0: unknown
    ram_total: int = 0


@dataclass(frozen=True)
class ImageSize:
    """The security state and the size, in bytes, of one of several images that ran together."""

    name: str
    world: str  # "secure", "non-secure"
    flash: int
    ram: int


@dataclass(frozen=True)
class OperatorTicks:
    """The ticks of all nodes of one operator in an inference: the median over inferences."""

    operator: str
    ticks: int  # instructions or cycles, as in the result
    kernel: str = ""  # library and type of the kernel: ``cmsis-nn int8``


@dataclass(frozen=True)
class Profiled:
    """Instructions from boot to end, of one operator, of code of several, or of other code."""

    group: str
    instructions: int


@dataclass(frozen=True)
class Setup:
    """The image, the target, and the model whose outputs are expected."""

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
    power_on: str = ""  # seed of the contents at power-on; "" on a target without seeds

    @property
    def place(self) -> str:
        """The target, and the chip if it is not the default one."""
        return place(self.target, self.chip)

    def __str__(self) -> str:
        return f"{self.name} on {self.place}"


@dataclass(frozen=True)
class Judgement:
    """A verdict, its reason in one line, and all problems."""

    verdict: Verdict
    reason: str
    problems: tuple[str, ...] = ()  # the most important first
    hint: str = ""  # what to try

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"


@dataclass(frozen=True)
class BudgetCheck:
    """A line for each budget that is exceeded or cannot be checked, and tables that explain it.

    ``verdicts`` are those of all budgets, kept or not.
    """

    verdicts: tuple[BudgetVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    adequacy: Adequacy | None = None  # of the inputs, if budgeted


@dataclass(frozen=True)
class Evidence:
    """The findings and comparisons on which the judgement is based."""

    findings: tuple[Finding, ...] = ()
    outputs_compared: int = 0
    mismatches: int = 0
    inferences: int = 0
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests
    details: str = ""  # several lines: tables, fault reports
    console: Path | None = None
    coverage: Coverage | None = None  # of a traced case
    compared_with: str = ""  # source of the expected values; "" if nothing was compared
    budgets: tuple[BudgetVerdict, ...] = ()  # of the case, kept or not


@dataclass(frozen=True)
class Measures:
    """The figures of a run; None for one that neither the image nor the target gives."""

    size: Size | None = None
    images: tuple[ImageSize, ...] = ()  # of several that ran together; `size` is the first's
    adequacy: float | None = None  # share of mistakes that the inputs detect, if budgeted
    mistakes_missed: int | None = None
    arena_declared: int | None = None
    arena_used: int | None = None
    stack_used: int | None = None
    instructions: int | None = None  # median per inference, on simulator and Renode
    cycles: int | None = None  # median per inference, on a board
    ticks_source: str = ""
    operators: tuple[OperatorTicks, ...] = ()  # of an image that profiles itself; most ticks first
    interpreter_ticks: int | None = None  # outside its operators, median per inference
    profiled: tuple[Profiled, ...] = ()  # if the case was traced; most first
    total_instructions: int | None = None
    virtual_seconds: float | None = None
    wall_seconds: float = 0.0
    milliseconds: float | None = None  # per inference, by a board's calibration
    milliseconds_spread: float | None = None
    microjoules: float | None = None  # per inference, if the lab's supply is known
    time: str = ""  # per inference, in words, with its source

    @property
    def flash(self) -> int | None:
        """Bytes of flash used."""
        return self.size.flash if self.size else None

    @property
    def ram(self) -> int | None:
        """Bytes of RAM used."""
        return self.size.ram if self.size else None


class _Field(Generic[T]):
    """An attribute of a result that is a field of one of its parts."""

    def __init__(self, read: Callable[[CaseResult], T]) -> None:
        self._read = read

    def __get__(self, result: CaseResult, owner: type[CaseResult]) -> T:
        return self._read(result)


@dataclass(frozen=True)
class CaseResult:
    """Setup, judgement, evidence and measures of one run of a case."""

    setup: Setup
    judgement: Judgement
    evidence: Evidence = Evidence()
    measures: Measures = Measures()

    # The fields of the parts are attributes of the result, too: ``result.verdict``.
    name = _Field(lambda one: one.setup.name)
    sample = _Field(lambda one: one.setup.sample)
    resolver = _Field(lambda one: one.setup.resolver)
    builder = _Field(lambda one: one.setup.builder)
    target = _Field(lambda one: one.setup.target)
    elf = _Field(lambda one: one.setup.elf)
    elf_sha256 = _Field(lambda one: one.setup.elf_sha256)
    compiler = _Field(lambda one: one.setup.compiler)
    model = _Field(lambda one: one.setup.model)
    chip = _Field(lambda one: one.setup.chip)
    power_on = _Field(lambda one: one.setup.power_on)

    verdict = _Field(lambda one: one.judgement.verdict)
    reason = _Field(lambda one: one.judgement.reason)
    problems = _Field(lambda one: one.judgement.problems)
    hint = _Field(lambda one: one.judgement.hint)

    findings = _Field(lambda one: one.evidence.findings)
    outputs_compared = _Field(lambda one: one.evidence.outputs_compared)
    mismatches = _Field(lambda one: one.evidence.mismatches)
    inferences = _Field(lambda one: one.evidence.inferences)
    tests = _Field(lambda one: one.evidence.tests)
    details = _Field(lambda one: one.evidence.details)
    console = _Field(lambda one: one.evidence.console)
    coverage = _Field(lambda one: one.evidence.coverage)
    compared_with = _Field(lambda one: one.evidence.compared_with)
    budgets = _Field(lambda one: one.evidence.budgets)

    size = _Field(lambda one: one.measures.size)
    images = _Field(lambda one: one.measures.images)
    adequacy = _Field(lambda one: one.measures.adequacy)
    mistakes_missed = _Field(lambda one: one.measures.mistakes_missed)
    arena_declared = _Field(lambda one: one.measures.arena_declared)
    arena_used = _Field(lambda one: one.measures.arena_used)
    stack_used = _Field(lambda one: one.measures.stack_used)
    instructions = _Field(lambda one: one.measures.instructions)
    cycles = _Field(lambda one: one.measures.cycles)
    ticks_source = _Field(lambda one: one.measures.ticks_source)
    operators = _Field(lambda one: one.measures.operators)
    profiled = _Field(lambda one: one.measures.profiled)
    total_instructions = _Field(lambda one: one.measures.total_instructions)
    virtual_seconds = _Field(lambda one: one.measures.virtual_seconds)
    wall_seconds = _Field(lambda one: one.measures.wall_seconds)
    milliseconds = _Field(lambda one: one.measures.milliseconds)
    milliseconds_spread = _Field(lambda one: one.measures.milliseconds_spread)
    microjoules = _Field(lambda one: one.measures.microjoules)
    time = _Field(lambda one: one.measures.time)

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass."""
        return self.judgement.verdict is Verdict.PASS

    def __repr__(self) -> str:
        return f"<CaseResult {self.setup}: {self.judgement}>"

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


def _coverage_json(coverage: Coverage) -> dict[str, object]:
    """The counts of lines (an LCOV file lists them) and the instructions by function."""
    lines_run, lines = coverage.lines
    return {
        "lines_run": lines_run,
        "lines": lines,
        "instructions": coverage.instructions,
        "functions": [
            {"function": name, "instructions": count} for name, count in coverage.functions.items()
        ],
    }
