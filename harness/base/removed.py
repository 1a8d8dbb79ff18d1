"""Names that the last release had and this one has not. A row stays for one release."""

from __future__ import annotations

from harness.base.errors import UsageError

#: Name -> what to use instead. Names: ``command``, ``command subcommand``, ``command --option``,
#: ``key NAME`` of a TOML file, ``keyword NAME`` of Robot.
INSTEAD: dict[str, str] = {
    "boards conform": "in a clone: TFLM_HIL_BOARD=NAME pytest tests/hostile --hil-target board",
    "virtual-board --list-misbehaviours": "a clone has boards that misbehave, in tests/support",
    "virtual-board --misbehave": "a clone has boards that misbehave, in tests/support",
    "virtual-board --play": "a clone has boards that print the text in flash, in tests/support",
}


def removed(name: str, where: str = "") -> UsageError | None:
    """The error for a removed name, which says what to use instead; None for any other name.

    The message begins with ``where``.
    """
    if name not in INSTEAD:
        return None
    place = f"{where}: " if where else ""
    return UsageError(f"{place}{name} was removed", hint=INSTEAD[name])
