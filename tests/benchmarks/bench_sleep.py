"""What a kernel that sleeps costs, beside another checkout: alternating runs, medians, one ratio.

``python tests/benchmarks/bench_sleep.py [IMAGE.elf] [BEFORE]``: IMAGE is a Zephyr image such as
tests/kernel/sleep (default: tests/firmware/usleep.c), BEFORE another checkout with its core
built. A run ends with ztest's last line, or after 1,000 virtual seconds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
RUNS = 5
HZ = 64_000_000
END = rb"PROJECT EXECUTION (SUCCESSFUL|FAILED)"


def main(image: Path | None, before: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        elf = image or _usleep(Path(folder))
        checkouts = [None] if before is None else [None, before]
        runs = [[_mips(elf, checkout) for checkout in checkouts] for _ in range(RUNS)]
    now, *others = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"{elf.name}: {now:.1f} MIPS")
    for other in others:
        print(f"before: {other:.1f} MIPS; {now / other:.1f} times as fast now")


def _usleep(folder: Path) -> Path:
    sources = HOME / "tests" / "firmware"
    elf = folder / "usleep.elf"
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m33", "-mthumb", "-O2", "-ffreestanding"]
    command += ["-nostdlib", "-T", str(sources / "machine.ld"), str(sources / "usleep.c")]
    subprocess.run([*command, "-o", str(elf)], check=True)
    return elf


def _mips(elf: Path, checkout: Path | None) -> float:
    """Of the installed package, or of the one in ``checkout``."""
    command = [sys.executable, __file__, "--run", str(elf)]
    environment = os.environ | ({} if checkout is None else {"PYTHONPATH": str(checkout)})
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    executed, seconds = json.loads(shown.stdout)
    return float(executed / seconds / 1e6)


def _run(elf: str) -> None:
    from harness.elf import Image
    from harness.simulator.machine import Machine

    machine = Machine(Image.from_elf(Path(elf)))
    started = time.process_time()
    machine.run(until_tick=1000 * HZ, pattern=END, lines=True)
    print(json.dumps([machine.core.executed, time.process_time() - started]))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        _run(arguments[1])
    else:
        paths = [Path(argument).resolve() for argument in arguments]
        main(
            next((path for path in paths if path.is_file()), None),
            next((path for path in paths if path.is_dir()), None),
        )
