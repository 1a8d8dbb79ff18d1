"""Targets: one protocol, and a registry of what implements it."""

from __future__ import annotations

from importlib import import_module

from harness.elf import Firmware
from harness.errors import UsageError
from harness.targets.base import (
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Executed,
    Fault,
    Session,
    Stop,
    SymbolReached,
    Until,
)

#: Target names and the module that holds each one's `open(firmware, **options)`; a module is
#: imported when its target is first used, so that Unicorn is not loaded for a board.
TARGETS = {
    "simulator": "harness.targets.simulator",
    "renode": "harness.targets.renode",
    "board": "harness.targets.board",
    "virtual-board": "harness.targets.board.virtual",
}


def open(name: str, firmware: Firmware, **options: object) -> Session:  # noqa: A001
    """Open a session on the target called ``name``.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` where this machine
    has no such target.
    """
    try:
        module = import_module(TARGETS[name])
    except KeyError:
        raise UsageError(f"no target {name!r}", hint=f"one of {', '.join(TARGETS)}") from None
    session: Session = module.open(firmware, **options)
    return session


__all__ = [
    "TARGETS",
    "ConsoleChunk",
    "ConsoleMatch",
    "Counters",
    "Elapsed",
    "Executed",
    "Fault",
    "Session",
    "Stop",
    "SymbolReached",
    "Until",
    "open",
]
