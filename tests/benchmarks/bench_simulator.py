"""What the simulator costs: instructions a second with either counter, opening, restoring.

Run by hand: ``python tests/benchmarks/bench_simulator.py FIRMWARE.elf``.
"""

from __future__ import annotations

import sys
import time

from harness.deadline import Deadline
from harness.firmware.elf import Firmware
from harness.simulator import snapshot
from harness.simulator.machine import Machine

HZ = 64_000_000


def main(path: str) -> None:
    firmware = Firmware.from_elf(path)
    for native in (True, False):
        started = time.perf_counter()
        machine = Machine(firmware, native=native)
        opened = time.perf_counter()
        machine.run(until_tick=5 * HZ, guard=Deadline(20, guard=20))
        seconds = time.perf_counter() - opened
        print(
            f"native={native}: open {1e3 * (opened - started):.1f} ms, "
            f"{machine.core.executed} instructions in {seconds:.3f} s, "
            f"{machine.core.executed / seconds / 1e6:.1f} MIPS"
        )
        if native:
            kept = snapshot.take(machine)
            started = time.perf_counter()
            for _ in range(20):
                snapshot.restore(machine, kept)
            print(f"restore {1e3 * (time.perf_counter() - started) / 20:.2f} ms")
        machine.close()


if __name__ == "__main__":
    main(sys.argv[1])
