"""Registers that the counting core answers for itself, against the devices' own answers."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base import native
from harness.elf import Image
from harness.simulator.machine import Machine
from harness.simulator.peripherals.base import INTEN, PLAIN_READ

Build = Callable[[str], Image]
HZ = 64_000_000
SIZE = 0x400
EVENT, EVENT_BIT, PUBLISH = 0x104, 1 << 1, 0x184
offsets = st.integers(0, SIZE // 4 - 1).map(lambda index: 4 * index)


def asking(firmware: Image) -> Machine:
    """A machine whose devices are asked about every access."""
    machine = Machine(firmware)
    for device in machine.devices.values():
        for offset in range(0, device.size, 4):
            device.regs.serve(offset, 0)
    return machine


def evidence(machine: Machine) -> tuple[object, ...]:
    return (
        machine.core.executed,
        machine.now,
        machine.registers,
        tuple(machine.console),
        machine.read_memory(0x2000_0000, 0x4_0000),
        {name: device.state() for name, device in machine.devices.items()},
        machine.nvic.state(),
        machine.events.state(),
        [str(finding) for finding in machine.findings],
    )


@pytest.mark.parametrize("step", [7, 100, HZ])
@pytest.mark.parametrize(
    "name", ["compute", "exceptions", "receive", "pins", "tickless", "threads", "sender", "counter",
             "usleep"],
)  # fmt: skip
def test_accesses_served_in_c_give_the_same_run(build: Build, name: str, step: int) -> None:
    asked, answered = asking(build(name)), Machine(build(name))
    for machine in (asked, answered):
        if name == "receive":
            machine.feed(b"\x00" + bytes(range(200)))
        while machine.core.executed < 3000:
            before = machine.core.executed
            machine.run(until_executed=before + step, until_tick=HZ // 50)
            if machine.core.executed == before:
                break
        machine.run(until_tick=HZ // 50)
    assert evidence(asked) == evidence(answered)


def test_python_serves_tasks_and_events_with_an_enabled_interrupt(build: Build) -> None:
    machine = Machine(build("exceptions"))
    asked: list[int] = []
    for device in machine.devices.values():
        device.write = lambda offset, value: asked.append(offset)  # type: ignore[method-assign]
    machine.run(until_executed=2000, until_tick=HZ)
    assert {0x000, 0x304} <= set(asked)  # TASKS_TRIGGER and INTENSET of the EGUs
    assert not {0x544, 0x548} & set(asked)  # storage of the UARTE


def test_the_core_reads_storage_and_events_itself(build: Build) -> None:
    machine = Machine(build("exceptions"))
    asked: list[int] = []
    for device in machine.devices.values():
        device.read = lambda offset: asked.append(offset) or 0  # type: ignore[func-returns-value,method-assign]
    machine.run(until_tick=HZ)
    assert b"".join(chunk.data for chunk in machine.console) == b"exceptions done\r\n"
    assert asked == []


def test_python_serves_transfers_only_with_interrupt_or_channel(build: Build) -> None:
    machine = Machine(build("sender"))
    asked: list[int] = []
    write = machine.uart.write

    def noted(offset: int, value: int) -> None:
        asked.append(offset)
        write(offset, value)

    machine.uart.write = noted  # type: ignore[method-assign]
    machine.run(until_tick=3 * HZ)
    assert len(machine.console) > 1500
    assert 1 < asked.count(0x008) < 10  # a channel's first use, another task on it, flash, no bytes


def test_the_core_sets_alarms_of_an_rtc_itself(build: Build) -> None:
    machine = Machine(build("usleep"))
    asked: list[int] = []
    rtc = machine.devices["RTC0"]
    read, write = rtc.read, rtc.write
    rtc.read = lambda offset: asked.append(offset) or read(offset)  # type: ignore[func-returns-value,method-assign]
    rtc.write = lambda offset, value: asked.append(offset) or write(offset, value)  # type: ignore[func-returns-value,method-assign]
    machine.run(until_tick=HZ)
    assert b"".join(chunk.data for chunk in machine.console) == b"end\n"
    found = machine.firmware.symbol("results")
    assert found is not None
    counts, alarms = struct.unpack("<2I", machine.read_memory(found.address, 8))
    assert (counts, alarms) == (20 * (3 + 4 + 5 + 6 + 7), 100)
    assert asked == [0x000]  # START


def test_the_counter_of_an_rtc_is_the_number_of_edges_of_its_clock(build: Build) -> None:
    machine = Machine(build("counter"))
    asked: list[int] = []
    rtc = machine.devices["RTC0"]
    rtc.read = lambda offset: asked.append(offset) or 0  # type: ignore[func-returns-value,method-assign]
    machine.run(until_tick=HZ)
    assert asked == []
    found = machine.firmware.symbol("results")
    assert found is not None
    words = struct.unpack("<52I", machine.read_memory(found.address, 4 * 52))
    first, cleared, overflown = words[1:11], words[11:13], words[15:51]
    assert list(first) == [n // 2 + n % 2 + first[0] for n in range(10)]
    assert cleared == (0, 1)
    assert words[13:15] == (1, 0xFFFFF0)
    assert list(overflown) == [(0xFFFFF0 + n // 2 + n % 2) % 2**24 for n in range(36)]
    assert words[51] == 100


@given(writes=st.lists(st.tuples(offsets, st.integers(0, 2**32 - 1))))
def test_registers_are_words_by_their_offset(writes: list[tuple[int, int]]) -> None:
    registers, model = native.load().Registers(SIZE), dict.fromkeys(range(0, SIZE, 4), 0)
    for offset, value in writes:
        registers[offset] = model[offset] = value
    assert {offset: registers[offset] for offset in model} == model
    copy = native.load().Registers(SIZE)
    copy.load(registers.save())
    assert copy.holds(registers.save())
    assert {offset: copy[offset] for offset in model} == model


@pytest.mark.parametrize("offset", [-4, 2, SIZE, 1 << 40])
def test_an_access_beside_or_between_registers_is_refused(offset: int) -> None:
    registers = native.load().Registers(SIZE)
    with pytest.raises((IndexError, OverflowError)):
        registers[offset] = 1
    with pytest.raises((IndexError, OverflowError)):
        registers.serve(offset, PLAIN_READ)


@pytest.mark.parametrize("size", [0, 2, 0x2_0000])
def test_a_block_of_registers_has_a_sensible_size(size: int) -> None:
    with pytest.raises(ValueError, match="words"):
        native.load().Registers(size)


def test_contents_of_another_block_are_refused() -> None:
    registers = native.load().Registers(SIZE)
    with pytest.raises(ValueError, match="not the contents"):
        registers.load(bytes(SIZE - 4))


@pytest.mark.parametrize(
    ("interrupt", "channel", "shorts", "concerned"),
    [(0, 0, 0, False), (EVENT_BIT, 0, 0, True), (0, 1 << 31, 0, True), (0, 0, 1, True)],
)
def test_an_event_concerns_others_by_interrupt_channel_or_shortcut(
    interrupt: int, channel: int, shorts: int, concerned: bool
) -> None:
    registers = native.load().Registers(SIZE)
    registers[INTEN], registers[PUBLISH], registers[0x200] = interrupt, channel, shorts
    assert registers.raise_event(EVENT) is concerned
    assert registers[EVENT] == 1


def test_registers_are_served_in_device_windows_only(build: Build) -> None:
    machine = Machine(build("compute"))
    registers = machine.chip.register_file(SIZE)
    with pytest.raises(ValueError, match="no room"):
        machine.core.serve(0x2000_0000, registers)
    with pytest.raises(TypeError):
        machine.core.serve(0x5000_0000, object())  # type: ignore[arg-type]
