"""Robot's variables that the libraries read: names and values."""

from __future__ import annotations

import difflib

from robot.libraries.BuiltIn import BuiltIn, RobotNotRunningError

from harness.base.errors import UsageError
from harness.build.builders import BUILDERS
from harness.targets.registry import DEFAULT, all_options

#: How alike a name on the command line and one of these must be to count as misspelt.
_ALIKE = 0.8


def names() -> list[str]:
    """Every variable that the libraries read."""
    return [
        "TARGET",
        "BUILDER",
        "CHIP",
        "HISTORY",
        "ALLOW_SKIPS",
        *(name.upper() for name in all_options()),
    ]


def value(name: str, default: str = "") -> object:
    """The value of a variable; ``default`` if it is not set, or Robot does not run."""
    try:
        return BuiltIn().get_variable_value("${" + name + "}", default)
    except RobotNotRunningError:
        return default


def target() -> str:
    """The target of keywords that name none.

    Raises :class:`UsageError` if the command line sets a variable that looks like a misspelt one:
    another target would run than the one meant.
    """
    check_spelling(_of_command_line())
    return str(value("TARGET", DEFAULT))


def chip() -> str:
    """The chip of keywords that name none; "" for the one that an image is for, or the default."""
    return str(value("CHIP"))


def builder() -> str:
    """Who builds the samples of keywords that name no builder."""
    return str(value("BUILDER", BUILDERS[0]))


def allow_skips() -> bool:
    """Whether what cannot run here may be skipped. Raises :class:`UsageError` for other words."""
    given = str(value("ALLOW_SKIPS", "false"))
    if given.lower() not in ("true", "false"):
        raise UsageError(f"ALLOW_SKIPS is {given!r}", hint="--variable ALLOW_SKIPS:true, or false")
    return given.lower() == "true"


def check_spelling(given: list[str]) -> None:
    """Raise :class:`UsageError` for a name that is almost one of :func:`names`."""
    known = names()
    for name in given:
        near = difflib.get_close_matches(name.upper(), known, 1, _ALIKE)
        if near and near[0] != name.upper():
            raise UsageError(
                f"the command line sets the variable {name}, which is not read",
                hint=f"--variable {near[0]}:...; rename yours if it is another one",
            )


def _of_command_line() -> list[str]:
    """Names of Robot's global variables: its own, and those of ``--variable``."""
    try:
        scope = BuiltIn()._variables._global  # Robot has no public name for it
    except RobotNotRunningError:
        return []
    return [name for name in scope.as_dict(decoration=False) if name.isidentifier()]
