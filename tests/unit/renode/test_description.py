"""Renode's platform descriptions: what is checked in, against each chip's table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pytest
import renode_platforms

from harness.base import paths, platforms
from harness.simulator.peripherals import MODELS
from harness.targets.renode.description import SAU_REGIONS, SOURCES

PLATFORMS = paths.platforms()
CHIPS = platforms.chip_names()
BLOCK = re.compile(r"^(\w+): ([\w.]+) @ (\{[^}]*\}|[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)*)", re.M)
ADDRESS = re.compile(r"(?:sysbus |address: )(0x[0-9A-Fa-f]+)")
ROWS = [(chip, row.name) for chip in CHIPS for row in platforms.chip_table(chip).blocks]


@dataclass(frozen=True)
class Described:
    """A block of a description."""

    model: str
    bases: frozenset[int]
    irq: int | None
    size: int | None
    row: str


@cache
def described(chip: str) -> str:
    return re.sub(r"//.*", "", (PLATFORMS / f"{chip}.repl").read_text())


@cache
def blocks(chip: str) -> dict[str, Described]:
    return {
        name.upper(): Described(
            model,
            frozenset(int(one, 16) for one in ADDRESS.findall(where)),
            int(irq[1]) if (irq := re.search(r"-> nvic@(\d+)", body)) else None,
            int(size[1], 16) if (size := re.search(r"size: (0x[0-9A-Fa-f]+)", body)) else None,
            row[1] if (row := re.search(r'block: "(\w+)"', body)) else "",
        )
        for name, model, where, body in BLOCK.findall(described(chip))
    }


def test_the_files_are_those_of_todays_tables():
    here = [*PLATFORMS.glob("*.repl"), *PLATFORMS.glob("*.resc")]
    assert {path.name: path.read_text() for path in here} == renode_platforms.made()


@pytest.mark.parametrize(("chip", "name"), ROWS)
def test_a_block_is_at_its_addresses_of_the_table_with_the_simulators_model(chip, name):
    table, block = platforms.chip_table(chip), blocks(chip)[name]
    row = table.peripheral(name)
    assert block.model == f"Nordic.{MODELS[row.model].__name__}"
    assert (block.irq, block.row) == (row.irq, name)
    assert block.bases == {window + row.offset for window in table.windows}  # the model refuses one


@pytest.mark.parametrize("chip", CHIPS)
def test_a_memory_is_at_its_address_of_the_table(chip):
    for area in platforms.chip_table(chip).areas:
        block = blocks(chip)[area.name.upper()]
        assert (block.bases, block.size) == ({area.origin}, area.size)


@pytest.mark.parametrize("chip", CHIPS)
def test_information_words_are_those_of_the_table(chip):
    table = platforms.chip_table(chip)
    words = re.findall(r"WriteDoubleWord (0x\w+) (0x\w+)", described(chip))
    assert [(int(at, 16), int(word, 16)) for at, word in words] == [
        *table.ficr.items(),
        *table.uicr.items(),
    ]


@pytest.mark.parametrize("chip", CHIPS)
def test_the_description_holds_nothing_that_the_table_does_not(chip):
    table = platforms.chip_table(chip)
    known = {row.name for row in table.blocks} | {area.name.upper() for area in table.areas}
    core = {"CPU", "NVIC", "DWT", "CHIP", "ITM", "FPB", "TPIU", "ETM"}
    assert set(blocks(chip)) - known == core


@pytest.mark.parametrize("chip", CHIPS)
def test_the_core_is_the_tables_core(chip):
    table, text = platforms.chip_table(chip), described(chip)
    for line in (
        f'cpuType: "{table.core}"', "enableTrustZone: true",
        f"numberOfMPURegions: {table.mpu_regions}", f"numberOfSAURegions: {SAU_REGIONS}",
        f"PerformanceInMips: {table.cpu_hz // 1_000_000}", f"frequency: {table.cpu_hz}",
        f"systickFrequency: {table.cpu_hz}",
        f"priorityMask: 0x{(0xFF << (8 - table.priority_bits)) & 0xFF:X}",
    ):  # fmt: skip
        assert f"    {line}" in text


@pytest.mark.parametrize(
    ("chip", "name", "bases", "irq"),
    [("nrf5340", "UARTE2", {0x5000B000, 0x4000B000}, 11),
     ("nrf9151", "UARTE2", {0x5000A000, 0x4000A000}, 10)],
)  # fmt: skip
def test_siblings_have_their_own_serial_ports(chip, name, bases, irq):
    assert (blocks(chip)[name].bases, blocks(chip)[name].irq) == (bases, irq)


@pytest.mark.parametrize("chip", CHIPS)
def test_every_source_is_included_before_the_description(chip):
    script = (PLATFORMS / f"{platforms.board_with(chip).key}.resc").read_text()
    (line,) = (line for line in script.splitlines() if line.startswith("include "))
    included = [name.rpartition("/")[2] for name in line.split()[1:]]
    assert included == list(SOURCES)
    assert set(included) == {path.name for path in (PLATFORMS / "peripherals").iterdir()}
    assert script.index(line) < script.index("LoadPlatformDescription")


@pytest.mark.parametrize("board", platforms.board_names())
def test_leds_and_buttons_are_at_the_boards_pins(board):
    text = (PLATFORMS / f"{board}.repl").read_text()
    found = re.findall(r"^(\w+): Miscellaneous.(?:LED|Button) @ p0 (\d+)$", text, re.M)
    assert {name: int(pin) for name, pin in found} == platforms.board_table(board).pins


ALIAS = 'address: 0xE002E000; size: 0x1000; region: "NonSecure"; cpu: cpu'


@pytest.mark.parametrize("chip", CHIPS)
def test_the_system_control_space_has_its_non_secure_alias(chip):
    assert ALIAS in described(chip)


@pytest.mark.parametrize("board", platforms.board_names())
def test_the_non_secure_variant_has_no_security_states_and_no_alias(board):
    text = (PLATFORMS / f"{board}_nonsecure.repl").read_text()
    assert f'using "./{board}.repl"' in text
    assert "cpu:\n    enableTrustZone: false\n" in text
    assert "nvic: @ sysbus new Bus.BusPointRegistration { address: 0xE000E000; cpu: cpu }" in text
