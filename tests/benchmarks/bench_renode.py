"""MIPS against quantum on Renode, and the simulator beside it: ``bench_renode.py ELF [SECONDS]``.

The ELF should compute for long; ``SECONDS`` (0.5) is virtual.
"""

from __future__ import annotations

import sys
import time

from harness.firmware.elf import Firmware
from harness.targets import Elapsed
from harness.targets import open as open_target
from harness.targets.renode import RenodeServer


def mips(session, seconds: float) -> float:
    begun = time.monotonic()
    session.run(Elapsed(seconds), session.deadline(2 * seconds, guard=300))
    return session.counters.instructions / (time.monotonic() - begun) / 1e6


def main() -> None:
    firmware = Firmware.from_elf(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    for quantum in (0.0001, 0.001, 0.01):
        with RenodeServer(quantum=quantum) as server:
            for run in ("cold", "warm"):
                with open_target("renode", firmware, server=server) as session:
                    rate = mips(session, seconds)
                    count = session.counters.instructions
                    print(f"renode quantum {quantum:g} s {run}: {rate:.0f} MIPS, {count} executed")
    with open_target("simulator", firmware) as session:
        print(f"simulator: {mips(session, seconds):.0f} MIPS, {session.counters.instructions}")


if __name__ == "__main__":
    main()
