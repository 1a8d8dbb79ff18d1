"""How long a footprint takes: ``python tests/benchmarks/bench_footprint.py [ELF...]``.

Prints processor seconds, and each step as a share of the whole; asserts nothing about time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness import footprint
from harness.build.builders import build_one
from harness.elf import Image
from harness.footprint.files import Sources

_ROUNDS = 5


def best(work: Callable[[], object]) -> float:
    """The shortest of a few runs, in seconds of processor time: others may use the machine."""
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def report(path: Path) -> None:
    """One image: the whole, then its steps, each on a fresh image as a user has it."""
    whole = best(lambda: footprint.analyse(Image.from_elf(path)))
    steps = {
        "open": lambda: Image.from_elf(path),
        "regions": lambda: footprint.regions(Image.from_elf(path)),
        "files": lambda: Sources(image := Image.from_elf(path)).of_parts(image.layout.parts),
        "graph": lambda: Image.from_elf(path).graph,
    }
    size = path.stat().st_size / 1e6
    print(f"{path.name}: {size:.1f} MB, {whole:.3f} s, {size / whole:.1f} MB/s")
    for name, work in steps.items():
        print(f"  {name:<10}{100 * best(work) / whole:5.0f} %")


def main() -> None:
    """The images given, or the largest sample."""
    for path in [Path(name) for name in sys.argv[1:]] or [build_one("digits", "all")]:
        report(path)


if __name__ == "__main__":
    main()
