"""The Monitor commands that make a machine, the agent's facts, and the files of an image."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base import paths, platforms
from harness.base.power_on import pattern, words
from harness.elf.file import Segment
from harness.targets.renode import machine

NRF9160 = platforms.chip_table("nrf9160")
FOLDER = f"@{paths.platforms()}/"
MADE = """\
Clear
emulation SetGlobalAdvanceImmediately true
emulation Mode SynchronizedTimers
emulation SetGlobalQuantum "0.001000"
mach create "nrf9160dk"
machine LoadPlatformDescription @nrf9160dk.repl
sysbus.nvic FilterCcrDiv0Write false
sysbus UnhandledAccessBehaviour ThrowException
"""


def made(chip, *, non_secure=False, quantum=0.001) -> list[str]:
    """The commands, without where this checkout lies."""
    commands = machine.make(chip, non_secure=non_secure, quantum=quantum)
    return [command.replace(FOLDER, "@") for command in commands]


def test_a_machine_is_made_command_by_command():
    assert made(NRF9160) == MADE.splitlines()


@pytest.mark.parametrize(
    ("chip", "options", "command", "instead"),
    [
        ("nrf9160", {"non_secure": True}, 5,
         "machine LoadPlatformDescription @nrf9160dk_nonsecure.repl"),
        ("nrf9160", {"quantum": 0.00001}, 3, 'emulation SetGlobalQuantum "0.000010"'),
        ("nrf5340", {}, 4, 'mach create "nrf5340dk"'),
        ("nrf5340", {}, 5, "machine LoadPlatformDescription @nrf5340dk.repl"),
        ("nrf9131", {}, 5, "machine LoadPlatformDescription @nrf9131ek.repl"),
        ("nrf9151", {}, 5, "machine LoadPlatformDescription @nrf9151dk.repl"),
        ("nrf9161", {}, 5, "machine LoadPlatformDescription @nrf9161dk.repl"),
    ],
)  # fmt: skip
def test_a_command_depends_on_chip_security_state_and_quantum(chip, options, command, instead):
    assert made(platforms.chip_table(chip), **options)[command] == instead


def agent(chip: str, seed: int = 1) -> list[object]:
    """The agent's arguments."""
    table, console = platforms.chip_table(chip), platforms.board_with(chip).console
    call = ast.parse(machine.agent(table, 0x8200, console, seed)).body[0].value
    assert call.func.id == "Agent"
    return [ast.literal_eval(argument) for argument in call.args]


@pytest.mark.parametrize(
    ("chip", "facts"),
    [
        ("nrf9160", [("uarte0", 29, 28, 27, 26, 115200, False, 1, False, "the nRF9160 DK"), 64,
                     ((0, 0x100000), (0x20000000, 0x20040000)), (0x50003000, 32, 32, 67), 16]),
        ("nrf5340", [("uarte0", 20, 22, 19, 21, 115200, False, 1, False, "the nRF5340 DK"), 64,
                     ((0, 0x100000), (0x20000000, 0x20080000)), (0x50003000, 64, 64, 130), 16]),
    ],
)  # fmt: skip
def test_the_agent_knows_the_chips_facts(chip, facts):
    vectors, _, *others = agent(chip)
    assert (vectors, others) == (0x8200, facts)


@pytest.mark.parametrize("seed", [1, 7])
def test_registers_that_a_reset_leaves_undefined_have_the_seeds_pattern(seed):
    _, registers, *_ = agent("nrf9160", seed)
    general, floats = range(13), range(75, 107)
    assert set(registers) == {*general, *floats, 22, 25, 74}  # Renode's numbers
    assert tuple(registers[number] for number in general) == words(seed, 0xFFFFF000, 13)
    assert tuple(registers[number] for number in floats) == words(seed, 0xFFFFF100, 32)
    assert registers[22] == words(seed, 0xFFFFF038, 1)[0] & ~3  # the process stack pointer
    assert registers[25] & 0x07F0FFFF == 1 << 24  # of xPSR the flags alone, and Thumb state


def loaded(image, folder, seed=1) -> dict[str, bytes]:
    """The contents of the memories, by name."""
    call = ast.parse(machine.load(image, folder, seed)).body[0].value
    assert call.func.id == "load"
    (argument,) = call.args
    return {name: Path(file).read_bytes() for name, file in ast.literal_eval(argument)}


def test_segments_are_loaded_where_they_are_stored(firmware, tmp_path):
    empty = Segment(0x2000_0000, 0x2000_0000, 64, b"")
    late = Segment(0x2000_0000, 0x1000, 2, b"ab")
    flash = loaded(replace(firmware, composed=(*firmware.segments, empty, late)), tmp_path)["flash"]
    table = firmware.segments[0].data
    assert flash == (table.ljust(0x1000, b"\xff") + b"ab").ljust(0x100000, b"\xff")


@pytest.mark.parametrize("seed", [1, 7])
def test_flash_is_erased_and_ram_has_the_seeds_pattern(firmware, tmp_path, seed):
    contents, end = loaded(firmware, tmp_path, seed), len(firmware.segments[0].data)
    assert contents.keys() == {"flash", "ram"}
    assert contents["flash"][end:] == b"\xff" * (0x100000 - end)
    assert contents["ram"] == pattern(seed, 0x20000000, 0x40000)


def test_uicr_keeps_the_chips_words_beside_those_of_the_image(firmware, tmp_path):
    word = Segment(0xFF8100, 0xFF8100, 4, b"word")
    uicr = loaded(replace(firmware, composed=(*firmware.segments, word)), tmp_path)["uicr"]
    chip = firmware.chip
    assert uicr[0x100:0x104] == b"word"
    assert all(uicr[at : at + 4] == value.to_bytes(4, "little") for at, value in chip.uicr.items())
