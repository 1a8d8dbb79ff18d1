"""The interface of a machine: memory, registers, hooks, ends, coverage, findings."""

from __future__ import annotations

import struct

import pytest
from bare_chip import CODE, HERE, LOOP, STACK, BareChip

from harness.base.clock import RESETS_IN_A_LOOP
from harness.elf import Image
from harness.simulator.machine import End, Machine

NOP = 0xBF00
RAM, RAM_END = 0x2000_0000, 0x2004_0000


# memory and registers, as a debugger sees them


@pytest.mark.parametrize("place", [0x000F_FFFC, RAM, RAM_END - 4, 0x00FF_8FFC])
def test_memory_is_read_and_written_as_by_a_debugger(chip: BareChip, place: int) -> None:
    chip.machine.write_memory(place, b"abcd")
    assert chip.machine.read_memory(place, 4) == b"abcd"


@pytest.mark.parametrize(
    ("place", "size"), [(0x0010_0000, 1), (0x000F_FFFD, 4), (RAM_END, 1), (0x5000_8000, 4)]
)
def test_a_debugger_access_outside_memory_is_refused(chip: BareChip, place: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"no memory at 0x{place:08x} \\({size} bytes\\)"):
        chip.machine.read_memory(place, size)
    with pytest.raises(ValueError, match=f"no memory at 0x{place:08x} \\({size} bytes\\)"):
        chip.machine.write_memory(place, bytes(size))


def test_registers_are_named(chip: BareChip) -> None:
    values = {f"r{n}": 0x100 + n for n in range(13)} | {"sp": 0x2000_8000, "lr": 0x1235}
    for name, value in values.items():
        chip.machine.write_register(name, value)
    chip.machine.write_register("pc", CODE)
    registers = chip.machine.registers
    assert {name: registers[name] for name in values} == values
    assert registers["pc"] == CODE
    assert registers["xpsr"] & 1 << 24
    assert list(registers) == [*(f"r{n}" for n in range(13)), "sp", "lr", "pc", "xpsr"]


def test_a_machine_starts_from_its_vector_table(waiting: Image) -> None:
    machine = Machine(waiting)
    registers = machine.registers
    assert (registers["sp"], registers["pc"], registers["lr"]) == (STACK, LOOP, 0xFFFF_FFFF)
    assert (machine.now, machine.seconds, machine.resets) == (0, 0.0, 0)
    machine.close()
    machine.close()


def test_a_reset_reads_the_vector_table_again(chip: BareChip) -> None:
    chip.machine.write_memory(0, struct.pack("<2I", STACK - 0x100 + 3, CODE | 1))
    chip.machine.reset()
    registers = chip.machine.registers
    assert (registers["sp"], registers["pc"]) == (STACK - 0x100, CODE)


# ends


def test_time_ends_a_run_as_its_deadline(chip: BareChip) -> None:
    before = chip.now
    assert chip.machine.run(until_tick=before + 1000) is End.DEADLINE
    assert chip.now == before + 1000
    assert chip.machine.seconds == chip.now / 64e6


def test_a_count_of_instructions_ends_a_run_as_its_condition(chip: BareChip) -> None:
    before = chip.machine.core.executed
    assert chip.machine.run(until_executed=before + 7) is End.CONDITION
    assert chip.machine.core.executed == before + 7


@pytest.mark.parametrize("printed", [b"", b"boot\n"])
def test_resets_of_the_firmware_are_a_loop_in_spite_of_output(
    chip: BareChip, printed: bytes
) -> None:
    sysresetreq = (0x6001, HERE)  # str r1, [r0]
    ends = []
    for _ in range(RESETS_IN_A_LOOP):
        ends.append(chip.play(*sysresetreq, steps=1, r0=0xE000_ED0C, r1=0x05FA_0004))
        chip.machine.printed(printed)
    assert ends == [End.CONDITION] * (len(ends) - 1) + [End.RESET_LOOP]
    assert chip.machine.resets == len(ends)


def test_a_pin_reset_is_not_one_of_the_firmware(chip: BareChip) -> None:
    for _ in range(RESETS_IN_A_LOOP):
        chip.machine.reset()
    assert (chip.machine.resets, chip.machine.firmware_resets) == (RESETS_IN_A_LOOP, 0)


def play_to(chip: BareChip, *code: int) -> int:
    """Put ``code`` at CODE and go there; the ticks so far."""
    chip.machine.write_memory(CODE, struct.pack(f"<{len(code)}H", *code))
    chip.machine.write_register("pc", CODE)
    return chip.now


@pytest.mark.parametrize("branch", [(HERE,), (0xF7FF, 0xBFFE)], ids=["narrow", "wide"])
def test_with_stand_a_branch_to_itself_ends_the_run_at_once(
    chip: BareChip, branch: tuple[int, ...]
) -> None:
    before = play_to(chip, NOP, NOP, *branch)
    assert chip.machine.run(until_tick=before + 1000, stop_when_idle=True) is End.IDLE
    assert (chip.now - before, chip.machine.registers["pc"]) == (2, CODE + 4)
    assert chip.machine.run(until_tick=before + 1000, stop_when_idle=True) is End.IDLE
    assert chip.now - before == 2
    assert chip.machine.run(until_tick=before + 1000) is End.DEADLINE
    assert chip.now - before == 1000


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_branch_to_itself_that_a_timer_may_end_is_counted_in_any_slices(
    chip: BareChip, step: int
) -> None:
    chip.write(0xE000_E014, 5000)  # SysTick: every 5,001 ticks, with its interrupt
    chip.write(0xE000_E018, 0)
    chip.write(0xE000_E010, 7)
    before, executed = play_to(chip, NOP, HERE), chip.machine.core.executed
    for tick in range(before + step, before + 4000 + step, step):
        end = chip.machine.run(until_tick=min(tick, before + 4000), stop_when_idle=True)
        assert end is End.DEADLINE
    assert chip.machine.core.executed - executed == 4000
    assert chip.machine.run(until_tick=before + 64_000_000, stop_when_idle=True) is End.IDLE
    assert chip.running == 15  # its handler is a branch to itself, too, which SysTick cannot end


def test_a_lockup_ends_a_run(chip: BareChip) -> None:
    chip.play(0xBE00, 0xBE00, steps=1)
    chip.play(0xBE00, steps=1)
    assert chip.machine.run(until_tick=chip.now + 1000) is End.LOCKUP


# patterns


def test_a_pattern_on_the_console_ends_a_run(chip: BareChip) -> None:
    base = 0x5000_8000
    chip.machine.write_memory(RAM, b"hello, world")
    for offset, value in ((0x50C, 29), (0x524, 0x01D6_0000), (0x500, 8), (0x544, RAM), (0x548, 12)):
        chip.write(base + offset, value)
    chip.machine.write_register("r0", base + 8)
    chip.machine.write_register("r1", 1)
    chip.machine.write_memory(CODE, struct.pack("<2H", 0x6001, HERE))
    chip.machine.write_register("pc", CODE)
    assert chip.machine.run(until_tick=chip.now + 100_000, pattern=b"wor.d") is End.CONDITION
    assert chip.machine.registers["pc"] == CODE + 2
    assert chip.machine.run(until_tick=chip.now + 10, pattern=b"wor.d") is End.DEADLINE


# hooks


def test_a_hook_is_called_before_its_instruction_and_may_stop_there(chip: BareChip) -> None:
    machine, seen = chip.machine, list[int]()
    machine.write_memory(CODE, struct.pack("<4H", 0x3001, 0x3001, 0x3001, HERE))

    def note(at: Machine) -> bool:
        seen.append(at.registers["r0"])
        return len(seen) == 2

    machine.hook(CODE + 2 | 1, note)
    machine.hook(CODE + 4, note)
    machine.write_register("r0", 0)
    machine.write_register("pc", CODE)
    assert machine.run(until_tick=chip.now + 100) is End.CONDITION
    assert (seen, machine.registers["pc"]) == ([1, 2], CODE + 4)
    assert machine.run(until_tick=chip.now + 100) is End.DEADLINE
    assert machine.registers["r0"] == 3


def test_all_hooks_of_an_address_are_called_until_removed(chip: BareChip) -> None:
    seen = []
    for name in ("first", "second"):
        chip.machine.hook(LOOP, lambda _, name=name: seen.append(name))
    chip.machine.run(until_executed=chip.machine.core.executed + 1)
    assert seen == ["first", "second"]
    chip.machine.unhook(LOOP | 1)
    chip.machine.unhook(LOOP)
    chip.machine.run(until_executed=chip.machine.core.executed + 5)
    assert seen == ["first", "second"]


def test_a_hook_may_change_the_program_counter(chip: BareChip) -> None:
    chip.machine.hook(LOOP, lambda at: at.write_register("pc", CODE))
    chip.play(NOP, steps=1)
    chip.machine.write_register("pc", LOOP)
    chip.machine.run(until_executed=chip.machine.core.executed + 2)
    assert chip.machine.registers["pc"] == CODE + 2


def test_a_hook_on_a_special_instruction_does_not_hide_it(chip: BareChip) -> None:
    seen = []
    chip.machine.hook(CODE, lambda _: seen.append("here"))
    chip.play(0xBF30, steps=1)  # wfi
    assert (seen, chip.machine.sleeping) == (["here"], "wfi")


def test_a_hook_at_an_unknown_symbol_is_refused(chip: BareChip) -> None:
    with pytest.raises(ValueError, match="the image has no symbol 'Nowhere'"):
        chip.machine.hook("Nowhere", lambda _: True)


# coverage


def test_executed_addresses_are_halfwords(chip: BareChip) -> None:
    chip.play(NOP, 0xF3AF, 0x8000, NOP, steps=4)
    assert chip.machine.executed_addresses() == [LOOP, *range(CODE, CODE + 10, 2)]


def test_where_gives_function_file_and_line(chip: BareChip) -> None:
    assert chip.machine.where() == str(chip.machine.firmware.locate(LOOP))
