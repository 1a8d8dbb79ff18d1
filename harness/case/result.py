"""The result of a case; ``to_json`` is the stable contract of ``tflm-hil run --json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from harness.base.errors import (
    CheckFailed,
    EnvironmentMissing,
    ExitCode,
    FirmwareFailed,
    HilError,
    UsageError,
)
from harness.base.findings import Finding
from harness.base.hints import NO_HINT, HintText
from harness.base.platforms import place
from harness.base.tables import key, plain
from harness.uart.coverage import ConsoleCoverage
from harness.uart.scrapers import TestResult
from harness.uart.scrapers.base import Listing, Mismatch, Stated

if TYPE_CHECKING:
    from harness.elf.coverage import Coverage
    from harness.footprint.budget import BudgetVerdict
    from harness.reference.adequacy import Adequacy

T = TypeVar("T")


class Verdict(StrEnum):
    """How a case ended."""

    PASS = "pass"
    FAIL = "fail"  # a check failed
    FLAKY = "flaky"  # equal runs of a repeated case had different verdicts
    FIRMWARE = "firmware"  # a fault, a hang, silence, an endless reset loop
    USAGE = "usage"  # the case: an image that cannot be read, a key without effect
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
            case UsageError():
                return cls.USAGE
        return cls.ERROR

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of ``tflm-hil`` for this verdict."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Verdict.PASS: ExitCode.PASSED,
    Verdict.FAIL: ExitCode.CHECK_FAILED,
    Verdict.FLAKY: ExitCode.CHECK_FAILED,
    Verdict.FIRMWARE: ExitCode.FIRMWARE,
    Verdict.USAGE: ExitCode.USAGE,
    Verdict.ERROR: ExitCode.ENVIRONMENT,
    Verdict.SKIPPED: ExitCode.ENVIRONMENT,
}


@dataclass(frozen=True)
class Size:
    """Bytes used in each memory region as the linker counts them, and the region's size."""

    flash: int = key(
        help="Flash of the image, as the linker counts it.",
        unit="B", history="flash", source="elf", junit="flash_bytes", heading="flash B", rank=8,
        sweep=True, axis="flash, B",
    )  # fmt: skip
    ram: int = key(
        help="RAM of the image, as the linker counts it.",
        unit="B", history="ram", source="elf", junit="ram_bytes", heading="RAM B", rank=4,
        sweep=True, axis="RAM, B",
    )  # fmt: skip
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
    hint: HintText = NO_HINT  # an error's own, if it ended the case

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
    outputs_compared: int = key(
        0, "Values of outputs that were compared.", better="", gated=False,
        junit="values_compared", heading="compared", rank=3,
        text=lambda value, _: f"{value:,}" if value else "", sweep=True,
    )  # fmt: skip
    mismatches: int = key(0, "Values of outputs that differ.", sweep=True)
    numbers_checked: int | None = key(
        None, "Numbers on the console that were compared with something; null if no text is read.",
        better="more", gated=False, junit="numbers_checked", heading="numbers", rank=2,
        text=lambda value, result: f"{value:,} of {result.read.numbers:,}",
    )  # fmt: skip
    inferences: int = key(0, "Inferences that the image reported.", better="")
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests
    details: str = ""  # several lines: tables, fault reports
    console: Path | None = None
    coverage: Coverage | None = None  # of a traced case
    compared_with: str = ""  # source of the expected values; "" if nothing was compared
    budgets: tuple[BudgetVerdict, ...] = ()  # of the case, kept or not
    stated: Stated | None = field(default=None, compare=False, repr=False)  # tensors
    mismatch: Mismatch | None = field(default=None, compare=False)  # None with another model
    read: ConsoleCoverage | None = None  # how much of the text was compared; None: no text is read
    listing: Listing | None = field(default=None, compare=False, repr=False)  # of expect.values


def _with_spread(value: float, result: CaseResult) -> str:
    return f"{value:,.4g} ± {result.measures.milliseconds_spread or 0:,.2g}"


@dataclass(frozen=True)
class Measures:
    """The figures of a run; None for one that neither the image nor the target gives.

    A field with a ``key`` is a measure; :class:`~harness.case.columns.Measure` names its facts.
    """

    size: Size | None = None
    images: tuple[ImageSize, ...] = ()  # of several that ran together; `size` is the first's
    arena_declared: int | None = key(
        None, "Size of the tensor arena.", unit="B", better="", sweep=True
    )
    arena_used: int | None = key(
        None, "Used part of the tensor arena.",
        unit="B", history="arena", source="uart", junit="arena_used_bytes", heading="arena B",
        rank=2, budget="arena", sweep=True,
    )  # fmt: skip
    stack_used: int | None = key(
        None, "Most of the stack that was used at a time.",
        unit="B", history="stack", source="uart", junit="stack_used_bytes", heading="stack B",
        rank=1, budget="stack", sweep=True,
    )  # fmt: skip
    instructions: int | None = key(
        None, "Instructions of one inference, the median; on simulator and Renode.",
        unit="instructions", history="instructions", junit="instructions_per_inference",
        heading="instr./inf.", rank=5, budget="instructions", sweep=True, axis="instructions",
    )  # fmt: skip
    total_instructions: int | None = key(
        None, "Instructions from boot to end.", unit="instructions", history="total_instructions"
    )
    cycles: int | None = key(
        None, "Cycles of one inference, the median; on boards.",
        unit="cycles", history="cycles", source="dwt", noisy=True, junit="cycles_per_inference",
        heading="cycles/inf.", rank=6, sweep=True,
    )  # fmt: skip
    interpreter_ticks: int | None = key(
        None, "Instructions or cycles of one inference outside its operators, the median; of an "
        "image with `op` records.",
    )  # fmt: skip
    milliseconds: float | None = key(
        None, "Time of one inference, calibrated; null without a calibration of its kernels.",
        unit="ms", history="milliseconds", source="calibrated", junit="milliseconds_per_inference",
        heading="ms/inf.", rank=7, text=_with_spread,
    )  # fmt: skip
    milliseconds_spread: float | None = key(
        None, "Standard deviation of `milliseconds`.", unit="ms"
    )
    # Derived from milliseconds or cycles, which are gated.
    microjoules: float | None = key(
        None, "Energy of one inference; null without a supply in the lab's calibration.",
        unit="µJ", history="microjoules", source="calibrated", noisy=True, gated=False,
        junit="microjoules_per_inference",
    )  # fmt: skip
    virtual_seconds: float | None = key(None, "Time of the run on the target's clock.", unit="s")
    wall_seconds: float = key(
        0.0, "Time of the run on the host's clock.",
        unit="s", history="wall_seconds", source="host", noisy=True, gated=False,
    )  # fmt: skip
    adequacy: float | None = key(
        None, "Share of the mistakes of kernels that the inputs would notice; null without a "
        "budget of it.", better="more",
    )  # fmt: skip
    mistakes_missed: int | None = key(
        None, "Mistakes of kernels that the inputs would not notice; null without a budget of "
        "adequacy.", history="mistakes_missed", source="numpy", heading="missed", rank=2,
    )  # fmt: skip
    ticks_source: str = ""
    operators: tuple[OperatorTicks, ...] = ()  # of an image that profiles itself; most ticks first
    profiled: tuple[Profiled, ...] = ()  # if the case was traced; most first
    time: str = ""  # per inference, in words, with its source

    @property
    def flash(self) -> int | None:
        """Bytes of flash used."""
        return self.size.flash if self.size else None

    @property
    def ram(self) -> int | None:
        """Bytes of RAM used."""
        return self.size.ram if self.size else None


class _ResultField(Generic[T]):
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
    name = _ResultField(lambda one: one.setup.name)
    sample = _ResultField(lambda one: one.setup.sample)
    resolver = _ResultField(lambda one: one.setup.resolver)
    builder = _ResultField(lambda one: one.setup.builder)
    target = _ResultField(lambda one: one.setup.target)
    elf = _ResultField(lambda one: one.setup.elf)
    elf_sha256 = _ResultField(lambda one: one.setup.elf_sha256)
    compiler = _ResultField(lambda one: one.setup.compiler)
    model = _ResultField(lambda one: one.setup.model)
    chip = _ResultField(lambda one: one.setup.chip)
    power_on = _ResultField(lambda one: one.setup.power_on)

    verdict = _ResultField(lambda one: one.judgement.verdict)
    reason = _ResultField(lambda one: one.judgement.reason)
    problems = _ResultField(lambda one: one.judgement.problems)
    hint = _ResultField(lambda one: one.judgement.hint)

    stated = _ResultField(lambda one: one.evidence.stated)
    mismatch = _ResultField(lambda one: one.evidence.mismatch)
    listing = _ResultField(lambda one: one.evidence.listing)
    findings = _ResultField(lambda one: one.evidence.findings)
    outputs_compared = _ResultField(lambda one: one.evidence.outputs_compared)
    mismatches = _ResultField(lambda one: one.evidence.mismatches)
    inferences = _ResultField(lambda one: one.evidence.inferences)
    tests = _ResultField(lambda one: one.evidence.tests)
    details = _ResultField(lambda one: one.evidence.details)
    console = _ResultField(lambda one: one.evidence.console)
    coverage = _ResultField(lambda one: one.evidence.coverage)
    compared_with = _ResultField(lambda one: one.evidence.compared_with)
    budgets = _ResultField(lambda one: one.evidence.budgets)
    read = _ResultField(lambda one: one.evidence.read)
    numbers_checked = _ResultField(lambda one: one.evidence.numbers_checked)

    size = _ResultField(lambda one: one.measures.size)
    images = _ResultField(lambda one: one.measures.images)
    adequacy = _ResultField(lambda one: one.measures.adequacy)
    mistakes_missed = _ResultField(lambda one: one.measures.mistakes_missed)
    arena_declared = _ResultField(lambda one: one.measures.arena_declared)
    arena_used = _ResultField(lambda one: one.measures.arena_used)
    stack_used = _ResultField(lambda one: one.measures.stack_used)
    instructions = _ResultField(lambda one: one.measures.instructions)
    cycles = _ResultField(lambda one: one.measures.cycles)
    ticks_source = _ResultField(lambda one: one.measures.ticks_source)
    operators = _ResultField(lambda one: one.measures.operators)
    interpreter_ticks = _ResultField(lambda one: one.measures.interpreter_ticks)
    profiled = _ResultField(lambda one: one.measures.profiled)
    total_instructions = _ResultField(lambda one: one.measures.total_instructions)
    virtual_seconds = _ResultField(lambda one: one.measures.virtual_seconds)
    wall_seconds = _ResultField(lambda one: one.measures.wall_seconds)
    milliseconds = _ResultField(lambda one: one.measures.milliseconds)
    milliseconds_spread = _ResultField(lambda one: one.measures.milliseconds_spread)
    microjoules = _ResultField(lambda one: one.measures.microjoules)
    time = _ResultField(lambda one: one.measures.time)

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
        for part in ("size", "stated", "mismatch", "listing"):
            del values[part]
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
