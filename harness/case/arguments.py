"""The keys of a case as keyword arguments. tests/support/case_keys.py writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict


class SessionArguments(TypedDict, total=False):
    """The keys that count in a live session; ``set``: further ones, as TOML (docs/cases.md)."""

    set: str | Sequence[str]
    also_load: Sequence[str | Path]
    resolver: str
    builder: str
    chip: str
    model: str | Path
    scraper: str | Sequence[str]
    inputs: str | Path | Sequence[str | Mapping[str, Any]]
    outputs: Sequence[str | Mapping[str, Any]]
    inferences: int
    reference: Literal["numpy", "none"]
    rounding: Literal["double", "single"]
    multipliers: Literal["double", "single"]
    tolerance: float
    expect: Mapping[str, Any]
    timeout: float
    guard: float
    target: str
    options: Mapping[str, Any]
    start: Literal["chip", "elf"]
    peripherals: Mapping[str, Any]


class CaseArguments(SessionArguments, total=False):
    """The keys of a case (docs/cases.md)."""

    rows: int
    vectors: str | Path
    budgets: Mapping[str, Any]
    baseline: str | Path
    end: Literal["idle", "never", "system_off"] | Mapping[str, Any]
    observe_after: float
    press: Sequence[str]
    steps: Sequence[Mapping[str, Any]]
    repeat: int
