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
from bare_chip import BareChip

from harness.base.errors import UsageError
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import End, Machine
from harness.simulator.peripherals.gpio import Gpio

Build = Callable[[str], Image]
HZ = 64_000_000
NAMES = ["exceptions", "threads", "guard", "idle"]


def state(machine: Machine) -> tuple[object, ...]:
    ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
    printed = [(chunk.time, chunk.data) for chunk in machine.console]
    return machine.core.executed, machine.now, printed, ram, machine.registers


_ELSEWHERE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_snapshot import HZ, state
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import Machine
machine = Machine(Image.from_elf(Path(sys.argv[1])))
for path in sys.argv[3:]:
    snapshot.restore(machine, snapshot.load(machine, Path(path)))
    machine.run(until_tick=HZ // 50)
    print(state(machine))
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_continues_in_another_process(build: Build, tmp_path: Path, name: str) -> None:
    machine, paths = Machine(build(name)), []
    for after in (60, 400, 1200):
        machine.run(until_executed=after, until_tick=HZ // 50)
        paths.append(str(tmp_path / str(after)))
        snapshot.save(machine, snapshot.take(machine), Path(paths[-1]))
    machine.run(until_tick=HZ // 50)
    elf = str(build(name).path)
    command = [sys.executable, "-c", _ELSEWHERE, elf, str(Path(__file__).parent), *paths]
    here = os.pathsep.join(sys.path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": here}
    )
    assert done.stdout.splitlines() == [str(state(machine))] * len(paths)
    machine.close()


def test_code_in_flash_that_has_run_runs_as_the_snapshot_has_it(chip: BareChip) -> None:
    place, machine = 0x8000, chip.machine
    adds_1, adds_5 = 0x3201, 0x3205  # to r2
    chip.play(adds_1, steps=100, at=place, r2=0)
    kept = snapshot.take(machine)
    chip.play(adds_5, steps=100, at=place)
    snapshot.restore(machine, kept)
    machine.write_register("pc", place)
    machine.run(until_executed=machine.core.executed + 100)
    assert machine.registers["r2"] == 2


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
        (lambda data: b"\x7fELF" + data, "is not a snapshot"),
        (lambda data: b"", "is not a snapshot"),
        (lambda data: data[:-20], "damaged"),
        (lambda data: data[:18] + zlib.compress(b'["list", []]'), "damaged"),
        (lambda data: data[:18] + zlib.compress(b"[]"), "damaged"),
        (lambda data: data[:18] + zlib.compress(b"[" * 100_000), "damaged"),
        (lambda data: data[:18] + zlib.compress(bytes(80 << 20)), "too large"),
        (lambda data: data[:18] + zlib.compress(b'["dict", [["made_by", 1]]]'), "damaged"),
    ],
)
def test_an_incomplete_snapshot_is_refused(
    build: Build, tmp_path: Path, spoil: Callable[[bytes], bytes], complaint: str
) -> None:
    machine, path = Machine(build("exceptions")), tmp_path / "booted"
    snapshot.save(machine, snapshot.take(machine), path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UsageError, match=complaint):
        snapshot.load(machine, path)
    machine.close()


# everything that a chip remembers

TIMER0, RTC0, WDT, CLOCK, EGU0, DPPIC, P0, GPIOTE, SPU, UARTE0 = (
    0x5000_F000, 0x5001_4000, 0x5001_8000, 0x5000_5000, 0x5001_B000, 0x5001_7000, 0x5084_2500,
    0x5000_D000, 0x5000_3000, 0x5000_8000,
)  # fmt: skip
NONSECURE_ALIAS = 0x2_0000
#: Address -> value: something everywhere, and all that counts is counting.
WRITTEN = {
    TIMER0 + 0x510: 0, TIMER0 + 0x540: 5_000, TIMER0 + 0x544: 9_000, TIMER0 + 0x200: 1 << 1,
    TIMER0 + 0x304: 1 << 16, TIMER0: 1,
    RTC0 + 0x508: 1, RTC0 + 0x540: 9, RTC0 + 0x344: 1 << 16 | 1, RTC0: 1,
    WDT + 0x504: 30, WDT + 0x508: 3, WDT: 1,
    CLOCK + 0x518: 2, CLOCK + 0x51C: 0x5A, CLOCK + 0x008: 1,
    EGU0 + 0x080: 1 << 31 | 3, EGU0 + 0x180: 1 << 31 | 4, EGU0 + 0x304: 1,
    TIMER0 + 0x1C0: 1 << 31 | 3, GPIOTE: 0, GPIOTE + 0x080: 1 << 31 | 4,
    GPIOTE + 0x510: 3 | 9 << 8 | 3 << 16, DPPIC + 0x500: 0x18,
    P0 + 0x200: 0xC, P0 + 0x204: 2 << 16, P0 + 0x518 - 0x500: 1 << 5,
    SPU + 0x600 + 4 * 9: 7, SPU + 0x700 + 4 * 9: 7,
    0xE000_E014: 12_345, 0xE000_E018: 0, 0xE000_E010: 1,
    0xE002_E014: 777, 0xE002_E018: 0, 0xE002_E010: 1,
    0xE000_ED08: 0x2000_0100, 0xE002_ED08: 0x2000_0200, 0xE000_ED10: 1 << 4, 0xE000_ED14: 0x209,
    0xE000_ED20: 0x2040_0000, 0xE002_ED20: 0x6080_0000, 0xE000_ED24: 0xF << 16,
    0xE000_ED34: 0x1234, 0xE000_ED38: 0x5678, 0xE000_ED88: 0x00F0_0000, 0xE000_ED8C: 0xC00,
    0xE000_EDE8: 0x9ABC, 0xE000_ED98: 3, 0xE000_ED9C: 0x2000_8000, 0xE000_EDA0: 0x2000_8FE0,
    0xE000_EDFC: 1 << 24, 0xE000_1000: 1, 0xE000_EF38: 0x2000_0040,
    0xE000_E100: 1 << 8, 0xE000_E200: 1 << 7, 0xE000_E380: 1 << 8, 0xE000_E404: 0x2040_6080,
    0xE000_EDD0: 2,
}  # fmt: skip
READ_ONLY = (0xE000_E018, 0xE002_E018, 0xE000_1004, TIMER0 + 0x140, RTC0 + 0x504, EGU0 + 0x100,
             GPIOTE + 0x100, P0 + 0x010, WDT + 0x404, CLOCK + 0x418, CLOCK + 0x104)  # fmt: skip


def everything(chip: BareChip) -> dict[int, int]:
    return {at: chip.read(at) for at in (*WRITTEN, *READ_ONLY)}


def diary(chip: BareChip) -> list[tuple[object, ...]]:
    """What the chip shows now and as time goes on, until the watchdog has bitten."""
    seen: list[tuple[object, ...]] = []
    for _ in range(16):
        levels = chip.machine.devices["P0"].pads  # type: ignore[attr-defined]
        seen.append((chip.now, everything(chip), levels, chip.machine.resets))
        chip.wait(5_000)
    return seen


@pytest.fixture
def busy(chip: BareChip) -> BareChip:
    """Everything is in use, in the middle of something."""
    for address, value in WRITTEN.items():
        chip.write(address, value)
    port = chip.machine.devices["P0"]
    assert isinstance(port, Gpio)
    port.drive(1, True)
    port.drive(3, True)
    chip.wait(3_210)
    return chip


def spoil(chip: BareChip) -> None:
    """Everything is another."""
    chip.wait(100_000)
    chip.machine.devices["P0"].drive(3, None)  # type: ignore[attr-defined]
    chip.machine.reset()
    chip.write(TIMER0 + 0x540, 1)
    chip.write(TIMER0, 1)
    chip.wait(777)


def test_repr_of_a_snapshot_omits_memory_contents(chip: BareChip) -> None:
    shown = repr(snapshot.take(chip.machine))
    assert shown == "Snapshot(extras=0, executed=1, sequential=0, slept=0, resets=0, sleeping='')"


def test_a_pin_that_was_driven_is_driven_again(chip: BareChip) -> None:
    port = chip.machine.devices["P0"]
    assert isinstance(port, Gpio)
    port.drive(3, True)
    kept = snapshot.take(chip.machine)
    port.drive(3, None)
    snapshot.restore(chip.machine, kept)
    assert port.pads == 1 << 3


def test_all_devices_and_registers_are_restored(busy: BareChip) -> None:
    kept = snapshot.take(busy.machine)
    first = diary(busy)
    for _ in range(2):
        spoil(busy)
        snapshot.restore(busy.machine, kept)
        assert diary(busy) == first


def test_all_devices_and_blocks_are_in_the_file(
    busy: BareChip, waiting: Image, tmp_path: Path
) -> None:
    snapshot.save(busy.machine, snapshot.take(busy.machine), tmp_path / "busy")
    first = diary(busy)
    other = BareChip(waiting)
    spoil(other)
    snapshot.restore(other.machine, snapshot.load(other.machine, tmp_path / "busy"))
    assert diary(other) == first
    other.machine.close()


def test_a_sleeping_core_sleeps_on(chip: BareChip) -> None:
    chip.play(0xBF30, steps=1)  # wfi
    kept = snapshot.take(chip.machine)
    chip.play(0xBF00, steps=1)
    chip.machine.sleeping = ""
    chip.machine.reset()
    snapshot.restore(chip.machine, kept)
    assert (chip.machine.sleeping, chip.machine.resets) == ("wfi", 0)


def test_a_snapshot_drops_lockup_and_requested_reset(chip: BareChip) -> None:
    kept = snapshot.take(chip.machine)
    chip.play(0xBE00, steps=1)
    chip.play(0xBE00, steps=1)
    chip.machine.chip.request_reset()
    snapshot.restore(chip.machine, kept)
    assert chip.machine.run(until_tick=chip.now + 10) is End.DEADLINE
    assert chip.machine.resets == 0


def test_console_bytes_and_pending_input_are_restored(chip: BareChip) -> None:
    registers = {0x514: 28, 0x524: 0x01D6_0000, 0x500: 8, 0x534: 0x2000_1000, 0x538: 4}
    for offset, value in registers.items():
        chip.write(UARTE0 + offset, value)
    chip.write(UARTE0, 1)
    chip.machine.feed(b"abcdef")
    chip.machine.printed(b"before")
    chip.wait(4000)  # less than a byte
    kept = snapshot.take(chip.machine)
    for _ in range(2):
        chip.wait(20_000)
        assert chip.machine.read_memory(0x2000_1000, 4) == b"abcd"
        chip.machine.printed(b"after")
        snapshot.restore(chip.machine, kept)
        assert [chunk.data for chunk in chip.machine.console] == [b"before"]
        assert chip.read(UARTE0 + 0x110) == 0
        chip.machine.write_memory(0x2000_1000, bytes(4))


def test_fault_records_survive_a_restore(chip: BareChip) -> None:
    kept = snapshot.take(chip.machine)
    chip.play(0xDE00, steps=1)
    chip.read(0x5084_0510)
    snapshot.restore(chip.machine, kept)
    assert (len(chip.machine.faults), len(chip.machine.findings)) == (1, 1)
