"""Names and values of the Robot variables that the libraries read."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from robot.libraries.BuiltIn import BuiltIn, RobotNotRunningError

from harness.base.errors import UsageError
from harness.build.builders import BUILDERS
from harness.targets.registry import DEFAULT, all_options
from robot import running

#: Similarity (difflib) from which on a name on the command line counts as misspelt.
_SIMILARITY = 0.8


def names() -> list[str]:
    """The names of all variables that the libraries read."""
    return [
        "TARGET",
        "BUILDER",
        "CHIP",
        "HISTORY",
        "ALLOW_SKIPS",
        *(name.upper() for name in all_options()),
    ]


def value(name: str, default: str = "") -> object:
    """The value of a variable; ``default`` if it is not set or Robot does not run."""
    try:
        return BuiltIn().get_variable_value("${" + name + "}", default)
    except RobotNotRunningError:
        return default


class SuiteVariables:
    """A listener that tells variables of a suite's file from those of the resources it imports."""

    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        #: Their names, in capitals.
        self.names: frozenset[str] = frozenset()

    def start_test(self, data: running.TestCase, result: object) -> None:
        """Notes the variables of the test's suite."""
        self._note(data.parent)

    def start_keyword(self, data: running.Keyword, result: object) -> None:
        """Notes the variables of a suite whose setup or teardown runs."""
        if isinstance(data.parent, running.TestSuite):
            self._note(data.parent)

    def _note(self, suite: running.TestSuite) -> None:
        written = (one.name.strip("${}@& =").upper() for one in suite.resource.variables)
        self.names = frozenset(written)


def is_set(name: str, of_suite: Collection[str]) -> bool:
    """Whether the user set a variable: on the command line, in the suite, or while it runs.

    ``of_suite`` are the names that the suite's file sets. The fallback of robot/tflm.resource
    (``${TARGET}`` is the default target) does not count.
    """
    check_spelling(_of_command_line())
    given = name in of_suite or name in map(str.upper, _of_command_line())
    return given or str(value(name)) not in ("", DEFAULT, BUILDERS[0])


def target_options() -> dict[str, str]:
    """The options of targets that variables such as ``${RENODE}`` and ``${BOARD}`` set."""
    values = {name: value(name.upper()) for name in all_options()}
    return {name: str(one) for name, one in values.items() if one}


def target() -> str:
    """The default target of keywords.

    Raises :class:`UsageError` if the command line sets a variable whose name seems to be misspelt,
    to prevent a run on another target than intended.
    """
    check_spelling(_of_command_line())
    return str(value("TARGET", DEFAULT))


def chip() -> str:
    """The default chip of keywords; "" for the chip of the image, or the default one."""
    return str(value("CHIP"))


def builder() -> str:
    """The default builder of keywords."""
    return str(value("BUILDER", BUILDERS[0]))


def allow_skips() -> bool:
    """True if cases that cannot run on this machine may be skipped.

    Raises :class:`UsageError` if the variable is neither true nor false.
    """
    given = str(value("ALLOW_SKIPS", "false"))
    if given.lower() not in ("true", "false"):
        raise UsageError(f"ALLOW_SKIPS is {given!r}", hint="--variable ALLOW_SKIPS:true, or false")
    return given.lower() == "true"


def check_spelling(given: list[str]) -> None:
    """Raises :class:`UsageError` for a name that is similar to one of :func:`names`."""
    known = names()
    for name in given:
        near = difflib.get_close_matches(name.upper(), known, 1, _SIMILARITY)
        if near and near[0] != name.upper():
            raise UsageError(
                f"the command line sets the unknown variable {name}",
                hint=f"--variable {near[0]}:...; if {name} is a variable of your own, rename it",
            )


def _of_command_line() -> list[str]:
    """The names of Robot's global variables, including those of ``--variable``."""
    try:
        scope = BuiltIn()._variables._global  # not available in Robot's public API
    except RobotNotRunningError:
        return []
    return [name for name in scope.as_dict(decoration=False) if name.isidentifier()]
