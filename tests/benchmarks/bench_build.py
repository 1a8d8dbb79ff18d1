"""What builds of the samples cost: ``python tests/benchmarks/bench_build.py``.

Prints processor seconds, of compilers too, and each step as a share of the first image, in a new
build folder and without ccache; asserts nothing about time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable

from harness.base import paths
from harness.build.builders import build_all, build_one
from harness.build.table import load


def processor_seconds(work: Callable[[], object]) -> float:
    """Of this process and its children."""
    before = os.times()
    work()
    return sum(os.times()[:4]) - sum(before[:4])


def main() -> None:
    """Each step finds what the steps before it built."""
    samples = [(name, "exact") for name in load().samples]
    header = paths.own_samples() / "common" / "include" / "hil" / "record.h"
    steps: dict[str, Callable[[], object]] = {
        "the first image": lambda: build_one("hello_world", "exact"),
        "another configuration": lambda: build_one("hello_world", "too_small"),
        f"{len(samples)} samples": lambda: build_all(samples),
        "one, nothing changed": lambda: build_one("hello_world", "exact"),
        f"{len(samples)}, nothing changed": lambda: build_all(samples),
        "one, a touched header": lambda: (os.utime(header), build_one("hello_world", "exact")),
    }
    first = 0.0
    for name, work in steps.items():
        wall = time.monotonic()
        seconds = processor_seconds(work)
        first = first or seconds
        wall = time.monotonic() - wall
        print(f"{name:<24}{seconds:8.2f} s {100 * seconds / first:6.1f} % {wall:8.2f} s elapsed")


if __name__ == "__main__":
    os.environ["CCACHE_DISABLE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TFLM_HIL_CACHE"] = folder
        main()
