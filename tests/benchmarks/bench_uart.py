"""What does a console cost that prints without end? 100 MB each of text, noise and nonsense.

    python tests/benchmarks/bench_uart.py [KIND ...]

Prints processor seconds, and the most memory that the process held, kind by kind.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time

from harness.uart import Console, scraper
from harness.uart.scrapers import ExpectedResults

BYTES = 100 << 20
BLOCK = 1 << 16

#: What is repeated, and the scraper that reads it; "" for none.
KINDS = {
    "zeros": (b"\0", ""),
    "no UTF-8": (b"\xff", ""),
    "control": ("é\x01".encode(), ""),
    "escapes": (b"\x1b[", ""),
    "line ends": (b"\n", ""),
    "log": (b"[00:00:00.000,732] <inf> hello: inference 0 x_q -128 y_q 4\r\n", ""),
    "errors": (b"<err> a: b\n", ""),
    "fault dumps": (b"***** MPU FAULT *****\n", ""),
    "half messages": (b"Calling AddBuiltin with the same op more than\n", ""),
    "bad records": (b"~HIL 1 output a=b *00000000\n", ""),
    "regex": (b"[00:00:00.000,732] <inf> hello: x_q -128 y_q 4\r\n", r"/x_q (?P<x>\S+)/"),
    "hello_world": (b"x_value: 0.000000, y_value: 0.000000\n", "hello_world"),
    "ztest": (b"START - a\n PASS - a in 0.1 seconds\n", "ztest"),
    "unit_tests": (b"[ RUN      ] A\n[       OK ] A\n", "unit_tests"),
    "unity": (b"t/a.c:12:test_a:PASS\n", "unity"),
}


def measure(kind: str) -> None:
    """Feed one kind and print what it cost; "random" is any bytes."""
    unit, name = KINDS.get(kind, (b"", ""))
    noise = random.Random(1)
    console = Console([scraper(name)] if name else [])
    block = unit * (BLOCK // len(unit)) if unit else b""
    started = time.process_time()
    fed = 0
    while fed < BYTES:
        data = block or noise.randbytes(BLOCK)
        console.feed(data)
        fed += len(data)
    console.finish()
    if name:
        wanted = ExpectedResults(values=({"x": 0.0},), repeats=True, predict=lambda x, truncate: x)
        console.scrapers[0].check(wanted)
    seconds = time.process_time() - started
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{kind:14} {seconds:5.1f} s {most:4} MB, {len(console.findings)} findings", flush=True)


def main() -> int:
    """Each kind in a process of its own, so that memory is its own."""
    for kind in sys.argv[1:] or [*KINDS, "random"]:
        child = os.fork()
        if not child:
            measure(kind)
            os._exit(0)
        os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
