"""Nights of a lab: one document of results, replayed with changes that depend on a seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: 2026-01-01T03:00Z; one night follows the other by a day.
FIRST, DAY = 1767236400.0, 86400.0
FIGURES = ("flash", "ram", "arena_used", "stack_used", "instructions")


@dataclass(frozen=True)
class Change:
    """What a commit made worse: from ``night`` on, a figure of one case is larger by ``by``."""

    night: int
    case: str
    field: str
    by: int


def case(name: str = "hello_world-exact", **changes: Any) -> dict[str, Any]:
    """One case of a document of results, as ``tflm-hil run --json`` writes it."""
    return {
        "name": name, "sample": "hello_world", "resolver": "exact", "builder": "standalone",
        "target": "simulator", "verdict": "pass", "reason": "20 values equal", "flash": 29_048,
        "ram": 9_176, "arena_used": 564, "stack_used": 1_048, "instructions": 5_950,
        "cycles": None, "total_instructions": 1_244_756, "wall_seconds": 0.5, "elf": None,
        "elf_sha256": "",
        "operators": [{"operator": "FULLY_CONNECTED", "ticks": 5_636, "kernel": "standalone int8"}],
    } | changes  # fmt: skip


def document(*cases: dict[str, Any], night: int = 0, **run: Any) -> dict[str, Any]:
    """A document of results of ``night``, of a commit of its own on ``main``."""
    occasion = {
        "started": FIRST + DAY * night, "commit": f"{night:040x}", "branch": "main",
        "machine": "lab", "tool": "0.1.0", "command": "tflm-hil run hil.toml",
    } | run  # fmt: skip
    return {"run": occasion, "cases": list(cases or [case()])}


def cases(count: int) -> list[dict[str, Any]]:
    """``count`` cases with different figures."""
    return [
        case(f"case-{number:03}", flash=20_000 + 37 * number, instructions=5_000 + 991 * number)
        for number in range(count)
    ]


def nights(
    base: list[dict[str, Any]],
    count: int,
    changes: tuple[Change, ...] = (),
    *,
    seed: int = 1,
    noise: float = 0.002,
) -> Iterator[dict[str, Any]]:
    """``count`` nights: wall time and a board's cycles have noise, ``changes`` come and stay.

    Every few nights something gets better or the size moves down: that is not a regression.
    """
    chance = random.Random(seed)
    rows = copy.deepcopy(base)
    by_name = {row["name"]: row for row in rows}
    clean = [row for row in rows if row["name"] not in {one.case for one in changes}]
    for night in range(count):
        if clean and chance.random() < 0.2:
            row, field = chance.choice(clean), chance.choice(FIGURES)
            if row[field]:
                row[field] -= chance.randint(1, max(1, row[field] // 500))
        for change in changes:
            if change.night == night:
                by_name[change.case][change.field] += change.by
        shown = [
            row | {"wall_seconds": max(0.01, chance.gauss(0.5, 0.2))}
            | ({"cycles": round(row["cycles"] * chance.gauss(1, noise))} if row["cycles"] else {})
            for row in rows
        ]  # fmt: skip
        yield document(*shown, night=night)


def seeded_changes(base: list[dict[str, Any]], count: int, nights: int, seed: int = 7
                   ) -> tuple[Change, ...]:  # fmt: skip
    """``count`` regressions of ``count`` cases, each in a night of its own, all after the tenth."""
    chance = random.Random(seed)
    names = chance.sample([row["name"] for row in base], count)
    when = chance.sample(range(12, nights), count)
    return tuple(
        Change(night, name, chance.choice(FIGURES), chance.choice((1, 4, 64, 1_000)))
        for night, name in zip(when, names, strict=True)
    )
