"""The registry of targets: one row each, with its abilities and options.

A row lists the abilities of its sessions; a session without one raises :class:`Unsupported`
(:mod:`harness.targets.session`). Command line, case files and Robot variables take their options
from here, so a new target or option is one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, Literal

from harness.base import power_on
from harness.base.closing import Closing
from harness.base.errors import EnvironmentMissing, UsageError
from harness.base.platforms import DEFAULT_CHIP, board_names, chip_called


class Ability(StrEnum):
    """An ability that not every target has, in words that follow "cannot"."""

    TRACE = "count what runs"  # profile(), coverage()
    STEP = "stop at an address"  # registers, run_to_address()
    PINS = "drive pins"  # pins
    STACKS = "show its stacks"  # core_state
    CALL = "call a function of the image"  # call()


@dataclass(frozen=True)
class TargetOption:
    """An option of a target's ``open()``: ``--NAME``, in Robot the variable ``${NAME}``."""

    name: str
    kind: Literal["text", "seconds"]
    help: str
    default: str = ""
    flag: str = ""  # on the command line, if it is not called as the option
    words: Callable[[], Iterable[str]] = tuple  # what it can be, for completion
    file: bool = False  # it can be the name of a file
    variable: str = ""  # the environment variable that gives it

    @property
    def spelled(self) -> str:
        """The option on the command line."""
        return self.flag or f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Target:
    """A target. ``module`` has its ``open(image, **options)`` and is imported when first used.

    ``instructions``: its cycle counter counts instructions, not the chip's cycles. ``parallel``:
    several processes may run one each. ``retried``: the module's ``run(image, action, **options)``
    tries a failure of the bench again. ``pool`` is a class (``module:name``) whose one instance
    serves all sessions of a run, given to ``open()`` as ``pool``. ``needs`` (``module:name``)
    raises :class:`EnvironmentMissing` if this machine lacks the program that the target drives.
    """

    name: str
    module: str
    instructions: bool
    abilities: frozenset[Ability] = frozenset()
    options: tuple[TargetOption, ...] = ()
    parallel: bool = False
    retried: bool = False
    pool: str = ""
    needs: str = ""

    def can(self, ability: Ability) -> bool:
        """True if its sessions have ``ability``."""
        return ability in self.abilities

    def option(self, name: str) -> TargetOption | None:
        """The option called ``name``, or None."""
        return next((option for option in self.options if option.name == name), None)

    def make_pool(self) -> Closing | None:
        """A pool that the sessions of a run share; None if they share nothing."""
        if not self.pool:
            return None
        make: Callable[[], Closing] = _named(self.pool)
        return make()

    def lacks(self) -> str:
        """Why this machine cannot drive the target; "" if it can, or only a session will tell."""
        if not self.needs:
            return ""
        try:
            _named(self.needs)()
        except EnvironmentMissing as error:
            return error.message
        return ""


def _named(place: str) -> Any:
    """The object at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def boards_of_lab() -> list[str]:
    """Names and tags of the boards in the lab file. Raises :class:`UsageError` if it is broken."""
    from harness.targets.board.lab import load  # noqa: PLC0415 - only for completion

    return [name for row in load().entries for name in (row.name, *row.tags)]


def _runners() -> Iterable[str]:
    from harness.targets.board.runners import RUNNERS  # noqa: PLC0415 - only for completion

    return RUNNERS


def _without_model() -> Iterable[str]:
    return [f"{block.name}=" for block in chip_called(DEFAULT_CHIP).without_model]


_EVERYTHING = frozenset(Ability)
_POWER_ON = TargetOption(
    "power_on",
    "text",
    f"what RAM and registers hold at first: a seed, {power_on.ZERO_WORD}, or "
    f"{power_on.BOTH_WORD} (two runs, which must show the same).",
    power_on.name_of(power_on.DEFAULT_SEED),
    words=lambda: (power_on.ZERO_WORD, power_on.BOTH_WORD),
)
#: Values of the option ``start``: the vector table where the chip looks, or that of the ELF.
CHIP, ELF = "chip", "elf"
_START = TargetOption(
    "start",
    "text",
    "where the core starts: chip, at the table where the chip looks, or elf, at the image's own.",
    CHIP,
    words=lambda: (CHIP, ELF),
)
_BOARD_OPTIONS = (
    TargetOption("board", "text", "its name, probe serial number or tag.", words=boards_of_lab),
    TargetOption(
        "lab",
        "text",
        "the lab file.",
        "$TFLM_HIL_LAB, or lab.toml",
        file=True,
        variable="TFLM_HIL_LAB",
    ),
    TargetOption("wait", "seconds", "how long to wait for a board in use.", "0"),
    TargetOption(
        "runner", "text", "the flash tool: nrfutil, nrfjprog, jlink, pyocd or west.",
        "the lab file's, or the first that is installed", words=_runners,
    ),
)  # fmt: skip

_CONSOLE = TargetOption(
    "console", "text",
    'how the board hears its console: "uarte=UARTE1 txd=1 rxd=0 baud=1000000", or a board\'s name.',
    "as the chip's kit is wired", "--wiring", board_names,
)  # fmt: skip
_PERIPHERALS = TargetOption(
    "peripherals",
    "text",
    "models for peripherals without one: SAADC=samples.npz,PWM0=mine.py:Pwm.",
    words=_without_model,
)

_ROWS = (
    Target(
        "simulator",
        "harness.targets.simulator",
        True,
        _EVERYTHING,
        (
            TargetOption(
                "timing",
                "text",
                "instructions, or branches: a taken one lasts a tick more.",
                words=lambda: ("instructions", "branches"),
            ),
            _POWER_ON,
            _PERIPHERALS,
            _CONSOLE,
            _START,
        ),
        parallel=True,
    ),
    Target(
        "renode",
        "harness.targets.renode",
        True,
        _EVERYTHING - {Ability.CALL},
        (
            TargetOption(
                "renode",
                "text",
                "the Renode to use.",
                "$RENODE, or PATH",
                file=True,
                variable="RENODE",
            ),
            _POWER_ON,
            _CONSOLE,
            _PERIPHERALS,  # which it refuses by name
            _START,
        ),
        pool="harness.targets.renode.server:RenodePool",
        needs="harness.targets.renode.find:locate",
    ),
    Target(
        "board",
        "harness.targets.board",
        False,
        frozenset({Ability.STACKS}),
        _BOARD_OPTIONS,
        retried=True,
    ),
    Target(
        "virtual-board",
        "harness.targets.board.virtual",
        True,
        frozenset({Ability.PINS, Ability.STACKS}),
        (_CONSOLE,),
        retried=True,
        needs="harness.targets.board.virtual:require_tool",
    ),
)

#: All targets by name, the default first.
TARGETS = {row.name: row for row in _ROWS}
DEFAULT = _ROWS[0].name


def target(name: str) -> Target:
    """The target called ``name``. Raises :class:`UsageError` for an unknown one."""
    try:
        return TARGETS[name]
    except KeyError:
        raise UsageError(f"no target {name!r}", hint=f"one of {', '.join(TARGETS)}") from None


def who_can(ability: Ability) -> list[str]:
    """The names of the targets with ``ability``."""
    return [row.name for row in _ROWS if row.can(ability)]


def all_options() -> dict[str, tuple[TargetOption, list[str]]]:
    """Every option by name, with the targets that take it."""
    options: dict[str, tuple[TargetOption, list[str]]] = {}
    for row in _ROWS:
        for option in row.options:
            options.setdefault(option.name, (option, []))[1].append(row.name)
    return options
