"""A case: one image on one target, and its expected results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.base.platforms import DEFAULT_CHIP, BoardTable, board_with, chip_called
from harness.build.options import BuildOptions
from harness.build.variants import Expectation
from harness.elf import combined
from harness.targets.pins import Press
from harness.targets.registry import DEFAULT, TARGETS
from harness.uart import scraper
from harness.uart.scrapers import PrintedTensors

if TYPE_CHECKING:
    from harness.footprint.budget import Budget


@dataclass(frozen=True)
class Budgets:
    """Upper limits of figures, and the baseline file of relative limits (``"+1 %"``).

    ``adequacy`` is a lower limit: the share of kernel mistakes that the inputs must detect, 0 to 1.
    """

    limits: tuple[Budget, ...] = ()
    baseline: Path | None = None
    adequacy: float | None = None


#: Value of the key ``ends`` for an image that must switch the chip off.
SYSTEM_OFF = "system_off"


@dataclass(frozen=True)
class Case:
    """One image, run once on one target, and its expected results."""

    name: str
    elf: Path | None = None  # a prebuilt image: ELF, HEX, FILE@ADDRESS, build folder ...
    beside: tuple[Path, ...] = ()  # further images to load with `elf`
    sample: str = ""  # a sample, which is built unless `elf` is an image of it
    resolver: str = ""
    builder: str = "prebuilt"
    built_with: BuildOptions = field(default_factory=BuildOptions)  # changes to a sample's build
    chip: str = ""  # the image's chip; "": as the image says
    target: str = DEFAULT
    target_options: Mapping[str, object] = field(default_factory=dict)
    model: Path | None = None
    scraper: str = ""  # reads the results of an image that prints no records
    printed: PrintedTensors | None = None  # regexes of tensors, for an image that prints them
    inputs: Path | None = None  # .npy or .npz, a row per inference; fed unless `printed` is set
    rows: int = 0  # number of rows of `inputs` to feed; 0: all
    vectors: Path | None = None  # further inputs: all of their rows follow those of `inputs`
    inferences: int = 1  # smallest number of results
    reference: bool = True  # compare outputs with the NumPy reference
    arithmetic: Arithmetic = field(default_factory=Arithmetic)  # of the reference
    tolerance: float | None = None  # None: bit-exact, float sums within reference/float_error
    expected: Expectation = field(default_factory=Expectation)
    values: tuple[Mapping[str, float | str], ...] = ()  # for scrapers: expected, result by result
    tests: Mapping[str, str] = field(default_factory=dict)  # for scrapers: test -> pass, fail, skip
    lines_absent: tuple[str, ...] = ()  # regexes that no line of the console may match
    ends: bool = True  # False: firmware that never ends on purpose; see `watch`
    ends_off: bool = False  # the image must switch the chip off (System OFF)
    ends_at: str = ""  # for scrapers: a regex of the image's last line
    watch: float = 1.0  # seconds on the target's clock after the last expected result, or the end
    budgets: Budgets = Budgets()
    timeout: float = 10.0  # seconds on the target's clock
    guard: float = 120.0  # seconds on the wall clock
    presses: tuple[Press, ...] = ()  # button presses during the run
    trace: bool = False  # measure coverage: instructions by function, lines

    @property
    def reads_text(self) -> bool:
        """Whether results are read from the image's text, not from records."""
        return bool(self.scraper or self.printed)

    def __repr__(self) -> str:
        """The fields that differ from their defaults."""
        given = (
            f"{one.name}={value!r}"
            for one in fields(self)
            if (value := getattr(self, one.name)) != _default(one)
        )
        return f"Case({', '.join(given)})"

    def on(self, target: str, options: Mapping[str, object] | None = None) -> Case:
        """The same case on another target."""
        return replace(self, target=target, target_options=options or {})

    def for_chip(self, name: str) -> Case:
        """The same case for the chip that an option names; "" for none.

        Raises :class:`UsageError` if the case names another one, or no chip has that name.
        """
        if not name:
            return self
        wanted = chip_called(name)
        if self.chip and self.chip != wanted.key:
            raise UsageError(
                f"case {self.name!r} is for the {chip_called(self.chip).name}, and the chip that "
                f"is named is the {wanted.name}",
                hint="leave the chip out, or choose other cases",
            )
        return replace(self, chip=wanted.key)


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def kit_of(case: Case) -> BoardTable:
    """The board with the chip that ``case``, or else its image, names."""
    if case.chip or case.elf is None:
        return board_with(chip_called(case.chip or DEFAULT_CHIP).key)
    return board_with(combined.read(case.elf, case.beside).chip.key)


def check_expects(case: Case) -> None:
    """Raise :class:`UsageError` for a case that expects no outputs, no finding and no last line."""
    if not (case.expected.outputs or case.expected.findings or case.ends_at):
        raise UsageError(
            "expect.outputs = false names nothing that must be seen",
            hint="name the image's last line (ends_at) or a finding (expect.findings)",
        )


def check_ends(case: Case) -> None:
    """Raise :class:`UsageError` for a case that expects nothing, or contradicts its scraper.

    A scraper that reads the image's last line contradicts ``ends = false``.
    """
    check_expects(case)
    if case.scraper and not case.ends and scraper(case.scraper).end is not None:
        raise UsageError(
            f"scraper {case.scraper} has a last line of its own",
            hint="leave out `ends = false` (--never-ends)",
        )


def on_targets(cases: Iterable[Case], targets: Sequence[str]) -> list[Case]:
    """Each case once on each of ``targets``, which replace those of its case file."""
    unique = {case.name: case for case in cases}.values()
    return [case.on(target) for case in unique for target in targets]


def target_names(text: str) -> list[str]:
    """Split ``simulator,renode`` into names; raise :class:`UsageError` for an unknown target."""
    names = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if name not in TARGETS:
            raise UsageError(
                f"no target {name!r}" if name else f"{text!r} names no target",
                hint=f"one of {', '.join(TARGETS)}; separate several with commas",
            )
    return names
