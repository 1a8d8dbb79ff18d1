"""The simulator on small firmwares of its own: exceptions, instructions, resets, the console."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.clock import Deadline
from harness.elf import Image
from harness.elf.coverage import Coverage
from harness.simulator import snapshot
from harness.simulator.event_queue import NEVER
from harness.simulator.machine import BRANCHES, INSTRUCTIONS, End, Machine
from harness.simulator.unicorn import CORE_REGISTERS

Build = Callable[[str], Image]
HZ = 64_000_000
SOURCES = Path(__file__).resolve().parents[2] / "firmware"


def results(machine: Machine, count: int) -> list[int]:
    symbol = machine.firmware.symbol("results")
    assert symbol is not None
    return list(struct.unpack(f"<{count}I", machine.read_memory(symbol.address, 4 * count)))


def run(machine: Machine, seconds: float = 10) -> End:
    return machine.run(until_tick=machine.now + round(seconds * HZ), guard=Deadline(60, guard=60))


def run_part(machine: Machine, step: int | None) -> End:
    until = NEVER if step is None else machine.core.executed + step
    return machine.run(until_executed=until, until_tick=HZ, guard=Deadline(60, guard=60))


def printed(machine: Machine) -> bytes:
    return b"".join(chunk.data for chunk in machine.console)


def digest(machine: Machine) -> tuple[object, ...]:
    ram = hashlib.sha256(machine.read_memory(0x2000_0000, 0x4_0000)).hexdigest()
    return machine.core.executed, machine.now, printed(machine), ram, machine.registers["pc"]


def test_exceptions_nest_tail_chain_and_keep_live_fp_registers(build: Build) -> None:
    machine = Machine(build("exceptions"))
    assert machine.run(until_tick=HZ, pattern=b"done") is End.CONDITION
    half = struct.unpack("<I", struct.pack("<f", 2.5))[0]
    expected = [0x01, 0x11, 0x02, 0x03, 0x14, half, 0x0B, 0x51, 0x11, 0x52, 0x24, 0x53]
    assert results(machine, 12) == expected
    assert printed(machine) == b"exceptions done\r\n"


def test_threads_keep_their_fp_registers_and_masks_hold(build: Build) -> None:
    machine = Machine(build("threads"))
    assert machine.run(until_tick=HZ, pattern=b"done") is End.CONDITION
    run(machine, 0.1)
    first, second = (struct.unpack("<I", struct.pack("<f", value))[0] for value in (2.0, 4.0))
    from_both_stacks = [0x001, 0x102]
    masked_then_taken, woken = [0xB1, 0xE0, 0xB2], [0xC101]
    unprivileged = [0x303]
    assert results(machine, 10) == [
        *from_both_stacks, first, second, first, *masked_then_taken, *woken, *unprivileged,
    ]  # fmt: skip
    assert machine.faults == []


def test_wfe_sleeps_until_the_interrupt_that_pends(build: Build) -> None:
    machine = Machine(build("threads"))
    machine.run(until_tick=HZ, pattern=b"done")
    started = 0.0006  # LFRC
    assert 49 / 32768 + started <= machine.seconds
    assert machine.seconds < 53 / 32768 + started + machine.core.executed / HZ


def test_stacks_beside_a_guard_work_until_they_overflow(build: Build) -> None:
    machine = Machine(build("guard"))
    assert machine.run(until_tick=HZ, pattern=b"done") is End.CONDITION
    stored = [0x3322_0011, 0x3FC0_0000, 0x5544]
    assert results(machine, 4) == [*stored, 1 + 2 + 3 + 4 + 5]
    assert results(machine, 5)[4] == 0x4092  # DACCVIOL, MSTKERR, MMARVALID
    assert results(machine, 6)[5] < 128  # in the guard
    assert results(machine, 7)[6] == 0x6010  # STKOF
    # Each overflow is found twice: by the access, and by the frame of the exception it becomes.
    assert [(fault.kind, fault.reason) for fault in machine.faults] == [
        ("MemManage", "DACCVIOL, MMARVALID"), ("MemManage", "MSTKERR"),
        ("UsageFault", "STKOF"), ("UsageFault", "STKOF"),
    ]  # fmt: skip
    for fault in machine.faults:
        assert "Deeper" in machine.fault_place(fault)
    assert "stack overflow" in machine.fault_report(machine.faults[1])
    assert "stack overflow" in machine.fault_report(machine.faults[2])


def test_sleep_is_skipped_and_takes_its_virtual_time(build: Build) -> None:
    machine = Machine(build("exceptions"))
    run(machine)
    asleep = machine.core.slept / HZ
    assert 100 / 32768 <= asleep < machine.seconds < asleep + 0.002  # the rest prints


def test_instructions_compute_as_the_host(build: Build) -> None:
    machine = Machine(build("compute"))
    run(machine)
    a, b = (0x7FFF, -0x7FFF), (0x0102, -0x0082)
    seed = 42
    for i in range(3000):
        seed = (seed * 1664525 + 1013904223) & 0xFFFF_FFFF
        seed ^= (i << 3) if seed & 0x100 else 0
    pi = struct.unpack("<f", struct.pack("<I", 0x40490FDB))[0]

    def single(value: float) -> int:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])

    bytes_a, bytes_b = (0x7FFF8001).to_bytes(4, "little"), (0x0102FF7E).to_bytes(4, "little")
    chosen = bytes(x if x + y > 255 else y for x, y in zip(bytes_a, bytes_b, strict=True))
    assert results(machine, 9) == [
        (a[0] * b[0] + a[1] * b[1] + 5) & 0xFFFF_FFFF,
        0x0002_007E,
        127,
        int.from_bytes(chosen, "little"),
        single(pi + pi * 1.5),
        single(3.0),
        single(math.sqrt(2.0)),
        3 << 8,
        seed,
    ]


@pytest.mark.parametrize("name", ["compute", "exceptions"])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_slices_of_any_size_give_the_same_run(build: Build, name: str, data: st.DataObject) -> None:
    whole = Machine(build(name))
    run(whole, 1)
    sliced = Machine(build(name))
    largest = data.draw(st.sampled_from([7, 1000]))
    while sliced.core.executed < min(4000, whole.core.executed):
        step = data.draw(st.integers(1, largest)) if largest > 7 else 1 + sliced.core.executed % 7
        sliced.run(until_executed=sliced.core.executed + step, until_tick=HZ)
    sliced.run(until_tick=HZ)
    assert digest(sliced) == digest(whole)


@pytest.mark.slow
def test_single_steps_give_the_same_run(build: Build) -> None:
    whole, stepped = Machine(build("exceptions")), Machine(build("exceptions"))
    run(whole, 1)
    for _ in range(200_000):
        before = stepped.core.executed
        if stepped.run(until_executed=before + 1, until_tick=HZ) is not End.CONDITION:
            break
        assert stepped.core.executed == before + 1
    assert digest(stepped) == digest(whole)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_user_threads_run_the_same_in_slices(build: Build, step: int) -> None:
    whole, sliced = Machine(build("userspace")), Machine(build("userspace"))
    whole.run(until_executed=14_000, until_tick=HZ)
    while sliced.core.executed < 14_000:
        sliced.run(until_executed=sliced.core.executed + step, until_tick=HZ)
    assert digest(sliced) == digest(whole)


def test_a_run_stops_at_any_instruction_count(build: Build) -> None:
    """Each count is the end of one run, of 199 instructions if it is not the first."""
    machine, step = Machine(build("masks")), 199
    start = snapshot.take(machine)
    run(machine, 1)
    counts = range(1, machine.core.executed)
    for first in range(step):
        snapshot.restore(machine, start)
        for count in counts[first::step]:
            machine.run(until_executed=count, until_tick=HZ)
            assert machine.core.executed == count


@pytest.mark.parametrize("timing", [INSTRUCTIONS, BRANCHES])
@pytest.mark.parametrize("image", ["exceptions", "usleep", "sender", "resets"])
def test_steps_are_the_registers_before_each_instruction(
    build: Build, image: str, timing: str
) -> None:
    recorded, stepped = Machine(build(image), timing=timing), Machine(build(image), timing=timing)
    steps: list[tuple[int, ...]] = []
    recorded.run(until_executed=3000, until_tick=HZ, steps=steps)
    for number, registers in enumerate(steps):
        assert stepped.core.read_many(CORE_REGISTERS) == registers, number
        stepped.run(until_executed=number + 1, until_tick=HZ)
    stepped.run(until_executed=3000, until_tick=HZ)  # asleep from the last one on
    assert len(steps) > 100
    assert digest(stepped) == digest(recorded)


def test_a_run_that_records_its_steps_ends_at_the_first_fault(build: Build) -> None:
    machine = Machine(build("deep"))
    steps: list[tuple[int, ...]] = []
    assert machine.run(until_tick=HZ, steps=steps) is End.CONDITION
    (fault,) = machine.faults
    assert steps[-1] == fault.registers
    assert len(steps) == machine.core.executed + 1


def test_every_instruction_is_in_the_profile(build: Build) -> None:
    machine = Machine(build("compute"))
    run(machine, 1)
    functions = Coverage.from_counts(machine.firmware, machine.core.profile(), []).functions
    assert sum(functions.values()) == machine.core.executed
    assert next(iter(functions)) == "Main"  # Mix stands inline in it


def test_coverage_names_the_lines_that_ran(build: Build) -> None:
    machine = Machine(build("receive"))
    run(machine, 0.01)
    coverage = Coverage.from_counts(machine.firmware, {}, machine.executed_addresses())
    (lines,) = (hits for path, hits in coverage.files.items() if path.endswith("/receive.c"))
    source = (SOURCES / "receive.c").read_text().splitlines()
    assert lines[1 + source.index("  while (!REG(UARTE0 + 0x110)) {")]
    assert not lines[1 + source.index("  results[0] = sum;")]


def test_a_fault_in_the_fault_handler_locks_up_and_names_the_caller(build: Build) -> None:
    machine = Machine(build("nullcall"))
    assert run(machine) is End.LOCKUP
    first = machine.faults[0]
    assert (first.kind, first.cause, first.reason) == ("HardFault", "UsageFault", "INVSTATE")
    assert machine.faults[1].kind == "Lockup"
    assert first.pc == 0


@pytest.mark.parametrize("step", [None, 1, 7])
def test_a_store_that_pends_an_interrupt_does_all_that_it_does_once(
    build: Build, step: int | None
) -> None:
    machine = Machine(build("stores"))
    while run_part(machine, step) is End.CONDITION:
        pass
    words = results(machine, 27)
    moved = [0, -8, -8, -512, -8, 4, 4, 0, 0, 8, 0, 12, 0]
    assert words[26] == len(moved)
    assert words[0:26:2] == [by & 0xFFFF_FFFF for by in moved]
    assert words[1:26:2] == list(range(1, 14))


def test_a_call_without_the_thumb_bit_faults_at_its_target_and_first_for_the_fetch(
    build: Build,
) -> None:
    """Armv8-M ARM, FetchInstr(): EPSR.T is looked at once the instruction is there."""
    machine = Machine(build("nothumb"))
    assert run(machine) is End.IDLE
    words = results(machine, 11)
    code, data = words[6:8]
    invstate, iaccviol = 1 << 17, 1 << 0
    assert words[:6] == [invstate, code, 0, invstate, data, 0]
    assert words[8:] == [iaccviol, data, 0]


def test_uicr_survives_a_soft_reset_and_the_watchdog_resets(build: Build) -> None:
    machine = Machine(build("resets"))
    assert run(machine) is End.IDLE
    assert machine.resets == 2
    stored, reasons = results(machine, 2)
    assert stored == 0x1234_5678
    assert reasons & 2
    assert machine.seconds > 1


def test_a_pin_reset_keeps_ram_and_retained_registers(build: Build) -> None:
    machine = Machine(build("retained"))
    assert run(machine) is End.IDLE
    assert results(machine, 2) == [0, 0]
    machine.reset()
    assert run(machine) is End.IDLE
    assert results(machine, 3) == [1, 0x5A, 0x1234]


@pytest.mark.parametrize("long_buffers", [0, 1])
def test_ten_kilobytes_in_bursts_arrive_complete(build: Build, long_buffers: int) -> None:
    machine = Machine(build("receive"))
    machine.run(until_tick=HZ, pattern=b"ready")
    data = bytes(i * 7 + (i >> 8) & 0xFF for i in range(10240))
    machine.feed(bytes([long_buffers]))
    for start in range(0, len(data), 1000):
        machine.feed(data[start : start + 1000])
        machine.run(until_tick=machine.now + HZ // 200)
    assert machine.run(until_tick=machine.now + 5 * HZ, pattern=b"received") is End.CONDITION
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xFFFF_FFFF
    assert results(machine, 1) == [total]


def test_a_restored_snapshot_runs_as_the_first_time(build: Build) -> None:
    machine = Machine(build("exceptions"))
    machine.run(until_executed=60, until_tick=HZ)
    kept = snapshot.take(machine)
    run(machine, 1)
    first = digest(machine)
    snapshot.restore(machine, kept)
    assert machine.core.executed == 60
    assert printed(machine) == b""
    run(machine, 1)
    assert digest(machine) == (first[0], machine.now, *first[2:])
