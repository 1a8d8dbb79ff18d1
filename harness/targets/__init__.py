"""Targets: one protocol, and a registry of its implementations."""

from __future__ import annotations

from harness.targets.base import (
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Executed,
    Fault,
    Stop,
    SymbolReached,
    Until,
)
from harness.targets.opening import Targets, open_target
from harness.targets.registry import TARGETS, Ability, Target, target, who_can
from harness.targets.session import Session

__all__ = [
    "TARGETS",
    "Ability",
    "ConsoleChunk",
    "ConsoleMatch",
    "Counters",
    "Elapsed",
    "Executed",
    "Fault",
    "Session",
    "Stop",
    "SymbolReached",
    "Target",
    "Targets",
    "Until",
    "open_target",
    "target",
    "who_can",
]
