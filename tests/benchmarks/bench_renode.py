"""Renode measured: ``bench_renode.py cases [COUNT]``, ``sleep``, or ``mips ELF [SECONDS]``.

``cases``: processor time of the first and of each further of COUNT (200) runs of hello_world over
one process, of the image's own run in it, and memory. ``sleep``: of 1,400 virtual seconds with as
many interrupts. ``mips``: MIPS against quantum, and the simulator beside it on the same ELF, which
should compute for long; ``SECONDS`` (0.5) is virtual. Without a word: all, ``mips`` on the sample
residual.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness.base.errors import EnvironmentMissing
from harness.build.standalone import build_standalone
from harness.elf import Image
from harness.targets import ConsoleMatch, Elapsed, open_target
from harness.targets.renode import RenodeServer

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from framed_images import FramedImage

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


def megabytes(server: RenodeServer) -> int:
    """Resident memory of Renode."""
    process = next(server.folder.glob("renode-*")).name.removeprefix("renode-")
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


def cases(count: int) -> None:
    firmware = Image.from_elf(build_standalone("hello_world", "exact").elf)
    whole, own, seen = [], [], set()
    with RenodeServer() as server:
        for number in range(count):
            before = cpu_seconds(server) if number else 0.0
            with open_target("renode", firmware, server=server) as session:
                begun = cpu_seconds(server)
                session.run(END, session.deadline(10))
                own.append(cpu_seconds(server) - begun)
                seen.add((session.counters.instructions, session.read()))
            whole.append(cpu_seconds(server) - before)
        others = range(count // 2, count)  # compiled by then
        further = statistics.mean(whole[one] for one in others)
        running = statistics.mean(own[one] for one in others)
        print(
            f"{count} cases, processor time: first {whole[0]:.1f} s, a further one {further:.3f} s,"
            f" of which the image runs {running:.3f} s; {megabytes(server)} MB; {server.starts}"
            f" start, {server.machines} machine, {len(seen)} result; load {os.getloadavg()[0]:.1f}"
        )


def sleep() -> None:
    """An RTC wakes the core each second."""
    body = """
    REG(0x50005008) = 1;
    while (!REG(0x50005104)) {}
    REG(0x50014540) = 32768;
    REG(0x50014304) = 1u << 16;
    REG(0xE000E100) = 1u << 20;
    REG(0x50014000) = 1;
    while (ticks < 1400) __asm volatile("wfi");
    """
    code = """
    volatile uint32_t ticks;
    void Irq0(void) {
      REG(0x50014140) = 0;
      REG(0x50014540) += 32768;
      (void)REG(0x50014140);
      ticks++;
    }
    """
    image = FramedImage("sleep", body, code, "IRQ0 20")
    with tempfile.TemporaryDirectory() as folder, RenodeServer() as server:
        firmware = image.build("arm-none-eabi-gcc", Path(folder))
        for run in ("cold", "warm"):
            with open_target("renode", firmware, server=server) as session:
                begun = cpu_seconds(server)
                session.run(ConsoleMatch(b"ok\n"), session.deadline(2000, guard=300))
                used, slept = cpu_seconds(server) - begun, session.counters.virtual_seconds
            print(f"{slept:,.0f} virtual s asleep, {run}: {used:.2f} s of processor time")


def main() -> None:
    if not sys.argv[1:]:
        cases(200)
        sleep()
        mips(str(build_standalone("residual", "exact").elf), 0.5)
    elif sys.argv[1:2] == ["cases"]:
        cases(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
    elif sys.argv[1:2] == ["sleep"]:
        sleep()
    elif sys.argv[1:2] == ["mips"] and len(sys.argv) > 2:
        mips(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 0.5)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except EnvironmentMissing as missing:
        print(f"not measured: {missing.message}")
