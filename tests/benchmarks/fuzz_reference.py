"""Damaged models, 100,000 of them: each is run, or refused in one line, within 5 s and 1 GB.

    python tests/benchmarks/fuzz_reference.py [cases] [seed]

Every operator is among the seeds, loops, branches and streams too. Truncation, flipped bits,
hostile words, spliced files, and shapes, scales and options set to extremes. Address space is
limited to what is used at the start and 1 GiB more, so that a larger allocation fails; a case that
takes 5 s of the processor is ended. Exits with 1 if any case did harm.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import signal
import struct
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from networks import anomaly_detection, keyword_spotting
from operator_models import every_operator

from harness.base import paths
from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.node import NUMPY_TYPES

WORDS = (0, 1, 2, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 1 << 16, 1 << 20, 1 << 24)
LIMIT = 1 << 30
SECONDS = 5


class Hang(Exception):
    """A case took too long."""


def damaged(seeds: list[bytes], rng: np.random.Generator) -> bytes:
    data = bytearray(seeds[rng.integers(len(seeds))])
    # The structure stands at the ends of the file, the weights in the middle.
    weights = rng.integers(0, 4) == 0
    low, high = (
        (0, len(data))
        if weights
        else ((0, min(4096, len(data))), (max(0, len(data) - 8192), len(data)))[rng.integers(2)]
    )
    kind = rng.integers(6)
    if kind == 0:
        return bytes(data[: rng.integers(len(data))])
    if kind == 1:
        other = seeds[rng.integers(len(seeds))]
        cut = int(rng.integers(len(data)))
        return bytes(data[:cut]) + other[int(rng.integers(len(other))) :]
    for _ in range(int(rng.choice([1, 1, 1, 2, 4, 8]))):
        if kind in (2, 3):
            bit = int(rng.integers(8 * low, 8 * high))
            data[bit // 8] ^= 1 << bit % 8
        else:
            place = int(rng.integers(low // 4, high // 4 - 1)) * 4
            word = WORDS[rng.integers(len(WORDS))] if kind == 4 else int(rng.integers(0, 2048))
            data[place : place + 4] = struct.pack("<I", word)
    return bytes(data)


def outcome(data: bytes) -> str:
    try:
        model = Model.from_bytes(data, "fuzz")
        interpreter = Interpreter(model)
        interpreter.invoke([np.zeros(t.shape, NUMPY_TYPES[t.dtype]) for t in model.inputs])
    except HilError as error:
        if "\n" in error.message or len(error.message) > 1000:
            return "HARM: a message of several lines"
        return type(error).__name__
    return "ran"


def used() -> int:
    """Bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    seeds = [path.read_bytes() for path in sorted(paths.models().glob("*.tflite"))]
    seeds += [anomaly_detection(), keyword_spotting(), *every_operator() * 2]
    for seed in seeds:
        if outcome(seed) != "ran":  # it also loads every kernel before the limit is set
            raise SystemExit("a seed does not run undamaged")
    resource.setrlimit(resource.RLIMIT_AS, (used() + LIMIT, resource.RLIM_INFINITY))

    def hang(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, hang)
    results: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        data = damaged(seeds, rng)
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            result = outcome(data)
        except Exception as error:
            result = f"HARM: {type(error).__name__}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        taken = time.process_time() - start
        if taken > max(slowest, 1.0):
            print(f"case {number} took {taken:.1f} s: {result}", file=sys.stderr)
        slowest = max(slowest, taken)
        results[result] += 1
        if result.startswith("HARM") and results[result] <= 3:
            place = Path(f"fuzz_{number}.tflite")
            place.write_bytes(data)
            print(f"{result}: kept as {place}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{count} cases: {dict(results)}; slowest {slowest:.2f} s; peak memory {peak} MiB")
    return int(any(result.startswith("HARM") for result in results))


if __name__ == "__main__":
    sys.exit(main())
