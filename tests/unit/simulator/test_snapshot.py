"""Snapshots: a run goes on from one as it went on before, here and in another process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.elf import Firmware
from harness.errors import UsageError
from harness.simulator import snapshot
from harness.simulator.machine import Machine

Build = Callable[[str], Firmware]
HZ = 64_000_000
NAMES = ["exceptions", "threads", "guard", "idle"]


def state(machine: Machine) -> tuple[object, ...]:
    ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
    printed = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, printed, ram, machine.registers


_ELSEWHERE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_snapshot import HZ, state
from harness.elf import Firmware
from harness.simulator import snapshot
from harness.simulator.machine import Machine
machine = Machine(Firmware.from_elf(Path(sys.argv[1])))
snapshot.restore(machine, snapshot.load(machine, Path(sys.argv[2])))
machine.run(until_tick=HZ // 50)
print(state(machine))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("after", [60, 400, 1200])
def test_another_process_goes_on_as_this_one(
    build: Build, tmp_path: Path, name: str, after: int
) -> None:
    machine, path = Machine(build(name)), tmp_path / "booted"
    machine.run(until_executed=after, until_tick=HZ)
    snapshot.save(machine, snapshot.take(machine), path)
    machine.run(until_tick=HZ // 50)
    elf = build(name).path
    command = [sys.executable, "-c", _ELSEWHERE, str(elf), str(path), str(Path(__file__).parent)]
    here = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": here}
    )
    assert done.stdout.strip() == str(state(machine))
    machine.close()


def test_programmed_flash_and_code_in_it_go_back(build: Build) -> None:
    machine = Machine(build("exceptions"))
    kept = snapshot.take(machine)
    machine.write_memory(0xF_0000, b"new")
    machine.run(until_tick=HZ // 50)
    snapshot.restore(machine, kept)
    assert machine.read_memory(0xF_0000, 3) == b"\xff\xff\xff"
    fresh = Machine(build("exceptions"))
    for one in (machine, fresh):
        one.run(until_tick=HZ // 50)
    assert state(machine) == state(fresh)
    machine.close()
    fresh.close()


def test_a_snapshot_of_another_image_is_refused(build: Build, tmp_path: Path) -> None:
    one, other = Machine(build("exceptions")), Machine(build("threads"))
    snapshot.save(one, snapshot.take(one), tmp_path / "booted")
    with pytest.raises(UsageError, match="another image"):
        snapshot.load(other, tmp_path / "booted")
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda data: b"\x7fELF" + data, "is no snapshot"),
        (lambda data: b"", "is no snapshot"),
        (lambda data: data[:-20], "damaged"),
        (lambda data: data[:18] + zlib.compress(b'["list", []]'), "damaged"),
        (lambda data: data[:18] + zlib.compress(b"[]"), "damaged"),
        (lambda data: data[:18] + zlib.compress(b"[" * 100_000), "damaged"),
        (lambda data: data[:18] + zlib.compress(bytes(80 << 20)), "too large"),
        (lambda data: data[:18] + zlib.compress(b'["dict", [["made_by", 1]]]'), "damaged"),
    ],
)
def test_what_is_no_whole_snapshot_is_refused(
    build: Build, tmp_path: Path, spoil: Callable[[bytes], bytes], complaint: str
) -> None:
    machine, path = Machine(build("exceptions")), tmp_path / "booted"
    snapshot.save(machine, snapshot.take(machine), path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UsageError, match=complaint):
        snapshot.load(machine, path)
    machine.close()
