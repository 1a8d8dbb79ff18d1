"""Images that no nRF9160 could run: each is refused, or ends, with a clear word."""

from __future__ import annotations

import os
import random
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.clock import Deadline
from harness.base.errors import BadElf
from harness.elf import Image
from harness.simulator.machine import End, Machine

HZ = 64_000_000
VECTORS = struct.pack("<16I", 0x2001_0000, *([0x41] * 15))
WAIT = bytes.fromhex("30bf fde7")  # wfi; b .
#: How many images of random bytes: a few in every run, 10,000 with TFLM_HIL_FUZZ=10000.
IMAGES = int(os.environ.get("TFLM_HIL_FUZZ", "100"))

Segment = tuple[int, bytes]


def elf(*segments: Segment, entry: int = 0x41) -> bytes:
    """A minimal 32-bit Arm executable."""
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, entry, 52, 0, 0x5000400, 52, 32, len(segments), 40, 0, 0
    )
    at, table, body = 52 + 32 * len(segments), b"", b""
    for address, data in segments:
        table += struct.pack("<8I", 1, at, address, address, len(data), len(data), 5, 4)
        at, body = at + len(data), body + data
    return header + table + body


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Machine]:
    def make(*segments: Segment, **more: int) -> Machine:
        path = tmp_path / "image.elf"
        path.write_bytes(elf(*segments, **more))
        return Machine(Image.from_elf(path))

    return make


@pytest.mark.parametrize(
    ("segments", "complaint"),
    [
        ([(0, VECTORS + WAIT), (0x3000_0000, b"outside")], "outside every memory"),
        ([(0xF_FFF0, VECTORS + WAIT)], r"at 0x000ffff0 end \d+ B behind the FLASH"),
        ([(0, VECTORS + WAIT), (0x40, WAIT)], "overlap"),
        ([(0, b"")], "no segment to load"),
        ([], "no segment to load"),
        ([(0x2000_0000, VECTORS + WAIT)], "no vector table"),
        ([(0, b"\xff" * 64)], "not a stack in RAM"),
        ([(0, bytes(64))], "not a stack in RAM"),
        ([(0, struct.pack("<2I", 0x2001_0000, 0x60))], "not Thumb code in flash"),
        ([(0, struct.pack("<2I", 0x2001_0000, 0x6000_1001))], "not Thumb code in flash"),
        ([(0, struct.pack("<2I", 0x2001_0000, 0x2000_0101) + WAIT)], "not Thumb code in flash"),
    ],
    ids=[
        "segment outside memory", "segment over the end of flash", "overlapping segments",
        "empty segment", "no segments", "vector table in RAM", "erased vector table",
        "zero vector table", "reset vector without the Thumb bit", "reset vector in a device",
        "reset vector in RAM",
    ],
)  # fmt: skip
def test_a_wrong_image_is_refused_in_one_line(
    machine: Callable[..., Machine], segments: list[Segment], complaint: str
) -> None:
    with pytest.raises(BadElf) as refused:
        machine(*segments).close()
    assert re.search(complaint, refused.value.message)
    assert "\n" not in refused.value.message


def test_the_reset_vector_counts_not_the_entry_of_the_elf(machine: Callable[..., Machine]) -> None:
    started = machine((0, VECTORS + WAIT), entry=0x2000_0001)
    assert started.run(until_tick=HZ) is End.IDLE
    assert started.core.executed == 1
    started.close()


def test_long_straight_code_runs_as_loaded(machine: Callable[..., Machine]) -> None:
    steps = bytes.fromhex("0130 00bf") * 0x400  # adds r0, #1; nop
    started = machine((0, VECTORS + steps + WAIT))
    started.write_register("r0", 0)
    assert started.run(until_tick=HZ) is End.IDLE
    assert started.core.executed == 0x800 + 1
    assert started.registers["r0"] == 0x400
    started.close()


def test_random_bytes_as_firmware_end_within_their_budget(
    machine: Callable[..., Machine],
) -> None:
    rng = random.Random(9160)
    ends: dict[End, int] = {}
    for _ in range(IMAGES):
        code = rng.randbytes(rng.randrange(8, 400))
        if rng.random() < 0.5:  # vectors that point into it, so that faults are handled
            entries = [0x41 + 2 * rng.randrange(len(code) // 2) for _ in range(15)]
            vectors = struct.pack("<16I", 0x2001_0000, *entries)
        else:
            vectors = VECTORS
        run = machine((0, vectors + code))
        try:
            guard = Deadline(20, guard=20)
            end = run.run(until_executed=3000, until_tick=HZ, guard=guard)
            assert run.core.executed <= 3000
            assert end is not End.GUARD
            assert run.now <= HZ + 3000
        finally:
            run.close()
        ends[end] = ends.get(end, 0) + 1
    assert sum(ends.values()) == IMAGES


_DIGEST = """
import hashlib, sys
from harness.elf import Image
from harness.simulator.machine import Machine
machine = Machine(Image.from_elf(sys.argv[1]))
machine.run(until_tick=64_000_000)
ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
printed = b"".join(chunk.data for chunk in machine.console).hex()
print(machine.core.executed, machine.now, printed, ram, [c.time for c in machine.console])
"""


@pytest.mark.parametrize("name", ["exceptions", "threads", "resets"])
def test_two_processes_see_the_same_run(build: Callable[[str], Image], name: str) -> None:
    seen = [
        subprocess.run(
            [sys.executable, "-c", _DIGEST, str(build(name).path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) > 60
