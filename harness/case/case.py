"""A case: one image on one target, and its expected results.

The class is the schema: each field declared with :func:`key` is a key of a ``[[case]]``. Case file,
JSON schema, command line, pytest's fixture, Robot's keywords and docs/cases.md take the key from
here (:mod:`.schema`), so a new one is one field, and the code that uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from harness.base import numbers, tables
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.errors import UsageError
from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.base.platforms import DEFAULT_CHIP, BoardTable, board_with, chip_called
from harness.base.tables import key
from harness.build.builders import runtime_of
from harness.build.options import BuildOptions
from harness.elf import combined
from harness.targets import registry
from harness.targets.pins import Press, parse_press
from harness.targets.registry import DEFAULT
from harness.uart import scraper
from harness.uart.scrapers import PrintedTensors, TensorRegex, reads_tests

if TYPE_CHECKING:
    from harness.footprint.budget import Budget

#: Groups of keys in ``--help``.
IMAGE, RESULTS, RUN, TARGET = "Image", "Expected results", "Run", "Target"
#: The end of an image that must switch the chip off, and that of one that must never end.
SYSTEM_OFF, NEVER = "system_off", "never"
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s?%")


@tables.check("the name of a target")
def target_name(name: str) -> str:
    """``name``; raises :class:`UsageError` for an unknown one."""
    if not name:
        raise ValueError("an empty text names no target")
    return registry.target(name).name


@tables.check("the name of a builder")
def builder_name(name: str) -> str:
    """``name``; raises :class:`UsageError` for an unknown one."""
    runtime_of(name)
    return name


@tables.check("the name of a chip")
def _chip(name: str) -> str:
    return chip_called(name).key if name else ""


@tables.check("the name of a scraper, a /regex/, or a list of them")
def _scraper(given: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if given:
        scraper(given)  # raises UsageError for an unknown one
    return given


@dataclass(frozen=True)
class LastLine:
    """The end of an image that prints a last line: a regex that matches it."""

    line: str


@dataclass(frozen=True)
class HostStep:
    """A step of the host: send text or bytes (hexadecimal), or wait for a line."""

    send: str | Hex | None = None
    wait: str | None = None

    @property
    def data(self) -> bytes:
        """The bytes to send."""
        return bytes.fromhex(self.send.hex) if isinstance(self.send, Hex) else _bytes(self.send)


@dataclass(frozen=True)
class Hex:
    """Bytes as hexadecimal digits; blanks between them do not matter."""

    hex: str


def _bytes(text: str | None) -> bytes:
    return (text or "").encode()


def share_of(value: object) -> float:
    """Convert ``"95 %"`` to 0.95; raise UsageError for anything else, and for more than 100 %."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    share = float(match[1]) / 100 if match else math.inf
    if share > 1:
        raise UsageError(
            f"the adequacy {value!r} is not a share of all mistakes", hint='adequacy = "95 %"'
        )
    return share


@dataclass(frozen=True)
class Budgets:
    """Upper limits of figures.

    ``adequacy`` is a lower limit: the share of kernel mistakes that the inputs must detect, 0 to 1.
    """

    limits: tuple[Budget, ...] = ()
    adequacy: float | None = None


@tables.check("a table of limits", raw=True)
def _budgets(table: Any) -> Budgets:
    if isinstance(table, Budgets):
        return table
    if not isinstance(table, Mapping):
        raise ValueError("must be a table of limits")
    from harness.case.columns import BUDGETS  # noqa: PLC0415 - few cases have any
    from harness.footprint.budget import from_table  # noqa: PLC0415

    known = ("flash", "ram", *BUDGETS, "adequacy", "operators", "files")
    tables.only(table, dict.fromkeys(known), "budgets")
    upper = {name: value for name, value in table.items() if name != "adequacy"}
    share = table.get("adequacy")
    limits = from_table(upper, {name: one.unit for name, one in BUDGETS.items()})
    return Budgets(limits, None if share is None else share_of(share))


@dataclass(frozen=True, repr=False)
class Case:
    """One image, and its expected results; a case that runs has one target."""

    name: str = key(help="The case's name; its files lie in a folder of this name.", group=IMAGE)
    elf: Path | None = key(
        None, "The image: an ELF or HEX file, FILE@ADDRESS, or a build folder.", group=IMAGE
    )
    sample: str = key("", "A sample of this project instead of an image.", group=IMAGE)
    also_load: tuple[Path, ...] = key(
        (), "A further image to load: a bootloader, the secure firmware, the ELF of a HEX file.",
        group=IMAGE, live=True, option="IMAGE",
    )  # fmt: skip
    resolver: str = key(
        "", "Resolver configuration of a SAMPLE, or all-configurations.", group=IMAGE, live=True,
        option="CFG", default_text="exact",
    )  # fmt: skip
    builder: Annotated[str, builder_name] = key(
        "prebuilt", "Builder of a SAMPLE: standalone, with this project's small runtime, or "
        "zephyr, with Zephyr and tflite-micro; -ns: for the non-secure world, with a secure image "
        "of this project or TF-M.", group=IMAGE, live=True,
        option="standalone|standalone-ns|zephyr|zephyr-ns", default_text="standalone",
    )  # fmt: skip
    chip: Annotated[str, _chip] = key(
        "", "The chip of the image, or to build a SAMPLE for (`tflm-hil list chips`).", group=IMAGE,
        live=True, option="NAME",
        default_text=f"detected in the image; {DEFAULT_CHIP} for a SAMPLE",
    )  # fmt: skip
    tags: tuple[str, ...] = key((), "Words by which --tag selects cases.", group=IMAGE)
    model: Path | None = key(
        None, "The .tflite of the image, or the name of a model of this project; outputs must "
        "equal those of the reference.", group=RESULTS, live=True, option="FILE|NAME",
    )  # fmt: skip
    scraper: Annotated[str | tuple[str, ...], _scraper] = key(
        "", "For an image that prints no records: the parser of its output, a regex with named "
        "groups, or a list of them for lines of several kinds.", group=RESULTS, live=True,
        option="NAME|/REGEX/",
    )  # fmt: skip
    inputs: Path | tuple[str | TensorRegex, ...] | None = key(
        None, ".npy or .npz, one row per inference, sent through the console; or regexes of the "
        "inputs that the image prints.", group=RESULTS, live=True, option="FILE",
    )  # fmt: skip
    outputs: tuple[str | TensorRegex, ...] = key(
        (), "Regexes of the outputs that the image prints, one for each output of the model.",
        group=RESULTS, live=True, option="REGEX",
    )  # fmt: skip
    rows: Annotated[int | None, numbers.count] = key(
        None, "Rows of the inputs to send.", group=RESULTS, option="N", default_text="all"
    )
    vectors: Path | None = key(
        None, "A file like that of the inputs, whose rows are all sent after them.",
        group=RESULTS, option="FILE",
    )  # fmt: skip
    inferences: Annotated[int | None, numbers.count] = key(
        None, "Required number of results.", group=RESULTS, live=True, option="N", default_text="1"
    )
    reference: Literal["numpy", "none"] = key(
        "numpy", "What outputs must equal.", group=RESULTS, live=True, option="numpy|none"
    )
    rounding: Rounding = key(
        "double", "Rounding of requantization: double as in TFLM, single as in parts of CMSIS-NN.",
        group=RESULTS, live=True, option="double|single",
    )  # fmt: skip
    multipliers: Multipliers = key(
        "double", "Precision in which multipliers are computed from scales: double since TFLM of "
        "autumn 2026, single before.", group=RESULTS, live=True, option="double|single",
    )  # fmt: skip
    tolerance: Annotated[float | None, numbers.tolerance] = key(
        None, "Largest difference of an output.", group=RESULTS, live=True, option="X",
        default_text="exact; for float sums an error bound",
    )  # fmt: skip
    expect: Expected = key(Expected(), "Findings, values, tests, lines.", group=RESULTS, live=True)
    budgets: Annotated[Budgets, _budgets] = key(
        Budgets(), "The most that the image may cost.", group=RESULTS
    )
    baseline: Path | None = key(
        None, "The base of budgets that are steps: an ELF, or JSON of footprint or run.",
        group=RESULTS, option="FILE",
    )  # fmt: skip
    end: Literal["idle", "never", "system_off"] | LastLine = key(
        "idle", "How the image ends: it comes to rest, never ends (then it is watched for "
        "--observe-after seconds after the last expected result), switches the chip off, or prints "
        "a last line that matches a regex.", group=RUN, option="idle|never|system_off|/REGEX/",
    )  # fmt: skip
    observe_after: Annotated[float, numbers.seconds] = key(
        1.0, "Time after the end, on the target's clock, during which the image is still watched.",
        group=RUN, option="SECONDS",
    )  # fmt: skip
    timeout: Annotated[float, numbers.seconds] = key(
        10.0, "Time limit of the run, on the target's clock (virtual on simulators).",
        group=RUN, live=True, option="SECONDS",
    )  # fmt: skip
    guard: Annotated[float, numbers.seconds] = key(
        120.0,
        "Time limit on the wall clock, for runs that hang.",
        group=RUN,
        live=True,
        option="SECONDS",
    )
    press: tuple[str, ...] = key(
        (), "Press a button (button1, button2, P0.6) S seconds after the start, for the given "
        "time.", group=RUN, option="PIN[@S[+S]]",
    )  # fmt: skip
    steps: tuple[HostStep, ...] = key(
        (), "What the host sends, and the lines that it waits for, in turn.", group=RUN
    )
    repeat: Annotated[int, numbers.count] = key(
        1, "Runs of the case, of which each must pass.", group=RUN, option="N"
    )
    targets: tuple[Annotated[str, target_name], ...] = key(
        (DEFAULT,), f"Where to run: {', '.join(registry.TARGETS)}.", group=TARGET, live=True,
        option="T[,T...]", split=True,
    )  # fmt: skip
    options: Mapping[str, object] = key(
        {}, "Options of targets.", group=TARGET, live=True, merged=True
    )
    start: Literal["chip", "elf"] = key(
        "chip", "Where the core starts: chip, at the vector table where the chip looks, or elf, at "
        "that of the ELF, wherever it lies.", group=TARGET, live=True,
    )  # fmt: skip
    peripherals: Mapping[str, object] = key(
        {},
        "Models for peripherals that the simulator has none of.",
        group=TARGET,
        live=True,
        merged=True,
    )
    built_with: BuildOptions = field(default_factory=BuildOptions)  # changes to a sample's build
    #: The keys that somebody wrote for this case alone; None: those without their default.
    given: frozenset[str] | None = field(default=None, compare=False)
    #: That a door replaces the file's number of results, in one line; "" if it does not.
    count_replaced: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """The fields that differ from their defaults."""
        given = (
            f"{one.name}={value!r}"
            for one in fields(self)
            if (value := getattr(self, one.name)) != _default(one)
        )
        return f"Case({', '.join(given)})"

    @property
    def written(self) -> frozenset[str]:
        """The keys that somebody wrote for this case."""
        if self.given is not None:
            return self.given
        keys = (one.name for one in tables.key_fields(Case))
        defaults = {one.name: _default(one) for one in fields(self)}
        return frozenset(name for name in keys if getattr(self, name) != defaults[name])

    @property
    def target(self) -> str:
        """The target that it runs on."""
        return self.targets[0]

    def on(self, target: str) -> Case:
        """The same case on another target; its options are kept for those that take them."""
        if len(self.targets) == 1:
            return replace(self, targets=(target,))
        shared = self.written - {"start"}  # it may be for another target
        return replace(self, targets=(target,), given=shared)

    @property
    def target_options(self) -> dict[str, object]:
        """The options that the target takes, and the models of its peripherals."""
        models = {"peripherals": self.peripherals} if self.peripherals else {}
        start = {"start": self.start} if self.start != "chip" else {}
        given = {**models, **start, **self.options}
        taken = registry.target(self.target).options
        return {option.name: given[option.name] for option in taken if option.name in given}

    @property
    def reads_text(self) -> bool:
        """Whether results are read from the image's text, not from records."""
        return bool(self.scraper or self.outputs)

    @property
    def scraper_text(self) -> str:
        """The scraper as it is told."""
        return self.scraper if isinstance(self.scraper, str) else ", ".join(self.scraper)

    @property
    def wants_outputs(self) -> bool:
        """Whether outputs must come; a suite of tests goes on after a reset that is expected."""
        expect = self.expect
        goes_on = all(kind == Kind.REBOOTED for kind, _ in expect.findings)
        return expect.wants_outputs or (
            goes_on and expect.outputs is None and reads_tests(self.scraper)
        )

    @property
    def printed(self) -> PrintedTensors | None:
        """The regexes of the model's tensors; None for an image that does not print them."""
        if not self.outputs:
            return None
        inputs = self.inputs if isinstance(self.inputs, tuple) else ()
        outputs, read = (tuple(map(_regex, each)) for each in (self.outputs, inputs))
        return PrintedTensors(outputs, read, self.inferences or 0)

    @property
    def input_file(self) -> Path | None:
        """The file of inputs; None without one."""
        return self.inputs if isinstance(self.inputs, Path) else None

    @property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic of the reference."""
        return Arithmetic(self.rounding, self.multipliers)

    @property
    def least_results(self) -> int:
        """The smallest number of results; of inferences, if tensors are read."""
        rows = 0 if self.outputs else len(self.expect.values)
        return max(self.inferences or 1, rows)

    @property
    def least_of_each(self) -> tuple[int, ...]:
        """The smallest number of results of each scraper of results: tensors, other lines."""
        beside = (len(self.expect.values),) if self.outputs and self.scraper else ()
        return (self.least_results, *beside) if self.reads_text else ()

    @property
    def last_line(self) -> str:
        """The regex of the image's last line; "" without one."""
        return self.end.line if isinstance(self.end, LastLine) else ""

    @property
    def kit(self) -> BoardTable:
        """The development kit with the chip that the case, or else its image, names."""
        if self.chip or self.elf is None:
            return board_with(chip_called(self.chip or DEFAULT_CHIP).key)
        return board_with(combined.read(self.elf, self.also_load).chip.key)

    @property
    def presses(self) -> tuple[Press, ...]:
        """The button presses. Raises :class:`UsageError` for a pin that the kit does not have."""
        try:
            return tuple(parse_press(text, self.kit) for text in self.press)
        except UsageError as error:
            raise UsageError(f"press: {error.message}", hint=error.hint) from error


def _regex(given: str | TensorRegex) -> TensorRegex:
    return TensorRegex(given) if isinstance(given, str) else given


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()
