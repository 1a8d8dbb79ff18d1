"""Does the console keep up? 60 s of 1 Mbaud through a pseudo-terminal, and as fast as it goes.

    python tests/benchmarks/bench_console.py [SECONDS]

A writer in its own process sends numbered lines at 100,000 bytes a second (1 Mbaud, 8N1); the
console has to hold every one of them, in order.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import tty

from harness.targets.board.console import SerialConsole

WRITER = """
import hashlib, os, sys, time
fd, seconds, rate = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
digest, sent, number, started = hashlib.sha256(), 0, 0, time.monotonic()
pending = b""
while time.monotonic() - started < seconds:
    due = int((time.monotonic() - started) * rate) - sent if rate else 65536
    if due <= 0:
        time.sleep(0.0005)
        continue
    while len(pending) < due:
        pending += b"%08d the quick brown fox jumps over the lazy dog\\r\\n" % number
        number += 1
    written = os.write(fd, pending[: min(due, 4096)])
    digest.update(pending[:written])
    pending = pending[written:]
    sent += written
print(sent, digest.hexdigest())
"""


def measure(seconds: float, rate: float) -> tuple[int, int, float, float]:
    """Bytes sent, bytes lost (-1: the same number, not the same bytes), seconds, CPU seconds."""
    master, slave = os.openpty()
    tty.setraw(slave)
    console = SerialConsole(os.ttyname(slave), 1_000_000, limit=1 << 30)
    started, busy = time.monotonic(), time.process_time()
    arguments = [sys.executable, "-P", "-c", WRITER, str(master), str(seconds), str(rate)]
    done = subprocess.run(arguments, pass_fds=(master,), capture_output=True, check=True)
    sent, digest = done.stdout.decode().split()
    limit = time.monotonic() + 10
    while console.end < int(sent) and time.monotonic() < limit:
        time.sleep(0.01)
    elapsed, busy = time.monotonic() - started, time.process_time() - busy
    data = console.since(0)
    console.close()
    os.close(slave)
    os.close(master)
    lost = int(sent) - len(data)
    if not lost and hashlib.sha256(data).hexdigest() != digest:
        lost = -1
    return int(sent), lost, elapsed, busy


def main() -> int:
    """Print what came through; exit code 1 where a byte was lost."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    worst = 0
    for title, length, rate in (("1 Mbaud", seconds, 100_000.0), ("unpaced", seconds / 6, 0.0)):
        sent, lost, elapsed, busy = measure(length, rate)
        share = 100 * busy / elapsed
        print(f"{title}: {sent} bytes in {length:g} s, {lost} lost, {share:.0f} % of a core")
        worst = max(worst, abs(lost))
    return 1 if worst else 0


if __name__ == "__main__":
    raise SystemExit(main())
