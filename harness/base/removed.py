"""Names that the last release had: removed or renamed ones. A row stays for one release."""

from __future__ import annotations

from harness.base.errors import UsageError

#: Name -> what to use instead. Names: ``command``, ``command subcommand``, ``command --option``,
#: ``key NAME`` of a TOML file, ``keyword NAME`` of Robot, ``fault model NAME``.
INSTEAD = {
    "boards conform": "in a clone: TFLM_HIL_BOARD=NAME pytest tests/hostile --hil-target board",
    "campaign --parquet": "--json FILE, which has the records",
    "doctor --renode-version": "nothing: --with renode installs the one release that is pinned",
    "fault model brownout": "reset",
    "fault model lost": "the models on memory, registers and instructions: campaign --help",
    "fault model noise": "the models on memory, registers and instructions: campaign --help",
    "footprint --leave-one-out": "footprint WITH.elf --baseline WITHOUT.elf, for two builds",
    "footprint --linker-script": "--map FILE, the linker's map file",
    "footprint --operators": "footprint WITH.elf --baseline WITHOUT.elf, for two builds",
    "history compare --html": "--markdown FILE or --json FILE",
    "resolver check --live": "nothing: resolver check runs the image",
    "resolver explain": "resolver dump, which has the functions of each registration",
    "run --allure": "--junit FILE, which Allure reads",
    "sweep --parquet": "--csv FILE",
    "virtual-board --list-misbehaviours": "a clone has boards that misbehave, in tests/support",
    "virtual-board --misbehave": "a clone has boards that misbehave, in tests/support",
    "virtual-board --play": "a clone has boards that print the text in flash, in tests/support",
}

#: Name -> today's name, for names that still work: ``command``, ``key NAME`` of a case, on each
#: door, ``--option`` of a command.
RENAMED = {
    "chips": "list chips",
    "samples": "list samples",
    "where": "list paths",
    "key beside": "also_load",
    "key watch": "observe_after",
    "key ends": "end",
    "key ends_at": "end = { line = ... }",
    "key values": "expect.values",
    "--beside": "--also-load",
    "--watch": "--observe-after",
    "--never-ends": "--end never",
}


def renamed(name: str, place: str = "") -> str:
    """The note for a renamed one, "" for any other name; ``place`` is who wrote it."""
    if name not in RENAMED:
        return ""
    where = f"{place}: " if place else ""
    return f"{where}{name.removeprefix('key ')} is now called {RENAMED[name]}"


def removed(name: str, where: str = "") -> UsageError | None:
    """The error for a removed name, which says what to use instead; None for any other name.

    The message begins with ``where``.
    """
    if name not in INSTEAD:
        return None
    place = f"{where}: " if where else ""
    return UsageError(f"{place}{name} was removed", hint=INSTEAD[name])
