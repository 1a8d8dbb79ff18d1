"""Renode measured: ``bench_renode.py mips ELF [SECONDS]`` and ``bench_renode.py cases [COUNT]``.

``mips``: MIPS against quantum, and the simulator beside it on the same ELF, which should compute
for long; ``SECONDS`` (0.5) is virtual. ``cases``: seconds for each of COUNT (100) runs of
hello_world over one process. With neither word: both, the first on the sample residual.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from harness.base.errors import EnvironmentMissing
from harness.build.standalone import build_standalone
from harness.elf import Image
from harness.targets import ConsoleMatch, Elapsed, open_target
from harness.targets.renode import RenodeServer

END = ConsoleMatch(rb"~HIL \d+ end [^\n]*\n")


def cpu_seconds(server: RenodeServer | None) -> float:
    """CPU time of Renode, or of this process: what other work on the machine does not change."""
    if server is None:
        return time.process_time()
    process = next(server.folder.glob("renode-*")).name.removeprefix("renode-")
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(session, seconds: float, server: RenodeServer | None = None) -> str:
    begun, used = time.monotonic(), cpu_seconds(server)
    session.run(Elapsed(seconds), session.deadline(2 * seconds, guard=300))
    count = session.counters.instructions / 1e6
    wall, used = time.monotonic() - begun, cpu_seconds(server) - used
    return f"{count / wall:.0f} MIPS, {count / used:.0f} a CPU second, {count:.3f} M executed"


def mips(elf: str, seconds: float) -> None:
    firmware = Image.from_elf(elf)
    for quantum in (0.0001, 0.001, 0.01):
        with RenodeServer(quantum=quantum) as server:
            for run in ("cold", "warm"):
                with open_target("renode", firmware, server=server) as session:
                    print(f"renode, quantum {quantum:g} s, {run}: {rate(session, seconds, server)}")
    with open_target("simulator", firmware) as session:
        print(f"simulator: {rate(session, seconds)}")


def cases(count: int) -> None:
    firmware = Image.from_elf(build_standalone("hello_world", "exact").elf)
    taken, seen = [], set()
    load = os.getloadavg()[0]
    with RenodeServer() as server:
        for _ in range(count):
            begun = time.monotonic()
            with open_target("renode", firmware, server=server) as session:
                session.run(END, session.deadline(10))
                seen.add((session.counters.instructions, session.read()))
            taken.append(time.monotonic() - begun)
        print(
            f"{count} cases: median {statistics.median(taken):.3f} s, first {taken[0]:.2f} s, "
            f"largest of the others {max(taken[1:]):.3f} s; {server.starts} start, "
            f"{server.machines} machine, {len(seen)} result; load {load:.1f}"
        )


def main() -> None:
    if not sys.argv[1:]:
        cases(100)
        mips(str(build_standalone("residual", "exact").elf), 0.5)
    elif sys.argv[1:2] == ["cases"]:
        cases(int(sys.argv[2]) if len(sys.argv) > 2 else 100)
    elif sys.argv[1:2] == ["mips"] and len(sys.argv) > 2:
        mips(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 0.5)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except EnvironmentMissing as missing:
        print(f"not measured: {missing.message}")
