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
from harness.elf import Firmware
from harness.elf.regions import memories
from harness.elf.variables import Variables
from harness.footprint.files import Sources
from harness.footprint.graph import build
from harness.footprint.layout import lay_out

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
    """One image: the whole, then its steps, each on a fresh Firmware as a user has it."""
    whole = best(lambda: footprint.analyse(Firmware.from_elf(path)))
    firmware = Firmware.from_elf(path)
    layout = lay_out(firmware, memories(firmware))
    steps = {
        "open": lambda: Firmware.from_elf(path),
        "regions": lambda: footprint.regions(Firmware.from_elf(path)),
        "files": lambda: Sources(fresh := Firmware.from_elf(path), Variables(fresh)).of_parts(
            layout.parts
        ),
        "operators": lambda: build(Firmware.from_elf(path), layout),
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
