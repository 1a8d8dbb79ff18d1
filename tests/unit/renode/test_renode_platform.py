"""Renode's platform descriptions and scripts: what is checked in, against each chip's table."""

from __future__ import annotations

import re
import types
from functools import cache

import pytest
import renode_platforms

from harness.base import paths, platforms
from harness.targets.renode.description import SAU_REGIONS, SCRIPTS, Security, unmodelled
from harness.targets.renode.machine import QUANTUM, make

PLATFORMS = paths.platforms()
CHIPS = platforms.chip_names()
BLOCK = re.compile(r"^(\w+): ([\w.]+) @ (\{[^}]*\}|[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)*)", re.M)
TAG = re.compile(r'Tag <(0x[0-9A-F]+), (0x[0-9A-F]+)> "(\w+)" (0x\d)')
IMPLIED = 0x1000
SIZES = {"gpio": 0x300}  # the GPIO model's own size
ROWS = [(chip, row.name) for chip in CHIPS for row in platforms.chip_table(chip).blocks]


@cache
def described(chip):
    return re.sub(r"//.*", "", (PLATFORMS / f"{chip}.repl").read_text())


@cache
def blocks(chip):
    found = {}
    for name, model, where, body in BLOCK.findall(described(chip)):
        bases = {int(one, 16) for one in re.findall(r"sysbus (0x[0-9A-Fa-f]+)", where)}
        irq = re.search(r"-> nvic@(\d+)", body)
        size = re.search(r"size: (0x[0-9A-Fa-f]+)", body)
        found[name.upper()] = (
            model,
            bases,
            int(irq[1]) if irq else None,
            int(size[1], 16) if size else None,
        )
    return found


def tags(chip):
    found: dict[str, tuple[set[int], set[int]]] = {}
    for start, end, name, _ in TAG.findall(described(chip)):
        bases, sizes = found.setdefault(name.removesuffix("_NS"), (set(), set()))
        bases.add(int(start, 16))
        sizes.add(int(end, 16) - int(start, 16) + 1)
    return found


def test_the_files_are_those_of_todays_tables():
    here = [*PLATFORMS.glob("*.repl"), *PLATFORMS.glob("*.resc")]
    assert {path.name: path.read_text() for path in here} == renode_platforms.made()


@pytest.mark.parametrize(("chip", "name"), ROWS)
def test_a_peripheral_is_at_its_address_of_the_table(chip, name):
    row = platforms.chip_table(chip).peripheral(name)
    if name in blocks(chip):
        _, bases, irq, given = blocks(chip)[name]
        assert bases == set(row.addresses)
        assert irq == row.irq or (irq is None and row.model in ("spu", "spu_large", "gpio"))
        assert (given or SIZES.get(row.model, IMPLIED)) == row.size
    else:
        assert tags(chip)[name] == (set(row.addresses), {row.size})


@pytest.mark.parametrize("chip", CHIPS)
def test_a_memory_is_at_its_address_of_the_table(chip):
    for area in platforms.chip_table(chip).areas:
        _, bases, _, size = blocks(chip)[area.name.upper()]
        assert (bases, size) == ({area.origin}, area.size)


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
    assert set(blocks(chip)) - known == {"CPU", "NVIC", "DWT"}
    assert set(tags(chip)) <= known


@pytest.mark.parametrize("chip", CHIPS)
def test_the_core_is_the_tables_core(chip):
    soc = platforms.chip_table(chip)
    text = described(chip)
    assert f'cpuType: "{soc.core}"' in text
    assert f"numberOfMPURegions: {soc.mpu_regions}" in text
    assert f"PerformanceInMips: {soc.cpu_hz // 1_000_000}" in text
    assert f"frequency: {soc.cpu_hz}" in text
    assert f"priorityMask: 0x{(0xFF << (8 - soc.priority_bits)) & 0xFF:X}" in text


def test_the_nrf5340_has_its_own_memory_and_serial_ports():
    assert blocks("nrf5340")["RAM"][3] == 0x80000
    assert blocks("nrf5340")["UARTE2"][1:3] == ({0x5000B000, 0x4000B000}, 11)
    assert blocks("nrf9151")["UARTE2"][1:3] == ({0x5000A000, 0x4000A000}, 10)


def test_gpiote_hears_every_port():
    ports = re.findall(r"port(\d): (p\d)", described("nrf5340"))
    assert ports == [("0", "p0"), ("1", "p1")] * 2


@pytest.mark.parametrize("board", platforms.board_names())
def test_leds_and_buttons_are_at_the_boards_pins(board):
    pins = platforms.board_table(board).pins
    text = (PLATFORMS / f"{board}.repl").read_text()
    found = re.findall(r"^(\w+): Miscellaneous.(?:LED|Button) @ p0 (\d+)$", text, re.M)
    assert {name: int(pin) for name, pin in found} == pins


@pytest.mark.parametrize("chip", CHIPS)
def test_each_class_of_counters_cs_is_named_and_its_file_included(chip):
    text = (PLATFORMS / "peripherals" / "counters.cs").read_text()
    classes = set(re.findall(r"^    public class (\w+)", text, re.M))
    named = {model.split(".")[1] for model, *_ in blocks(chip).values() if "Nrf" in model}
    assert classes == named
    script = (PLATFORMS / f"{platforms.board_with(chip).key}.resc").read_text()
    assert "include $ORIGIN/peripherals/counters.cs\n" in script


@pytest.mark.parametrize("chip", CHIPS)
def test_nvmc_reads_ready_even_without_its_model(chip):
    values = {value for _, _, name, value in TAG.findall(described(chip)) if "NVMC" in name}
    assert values == {"0x1"}


@pytest.mark.parametrize("chip", CHIPS)
def test_each_tag_without_a_script_has_a_stub_where_accesses_fault(chip):
    stubbed = {block.name for block in unmodelled(platforms.chip_table(chip))}
    assert stubbed == set(tags(chip)) - set(SCRIPTS)


@pytest.mark.parametrize("board", platforms.board_names())
def test_the_non_secure_alias_is_registered_where_there_are_security_states(board):
    text = (PLATFORMS / f"{board}_trustzone.repl").read_text()
    assert re.search(r'address: 0xE002E000; size: 0x1000; region: "NonSecure"; cpu: cpu', text)
    assert re.search(r"BusPointRegistration \{ address: 0xE000E000; cpu: cpu \}", text)


class Bus:
    def __init__(self):
        self.words = {}

    def ReadDoubleWord(self, address):  # noqa: N802
        return self.words.get(address, 0)

    def WriteDoubleWord(self, address, value):  # noqa: N802
        self.words[address] = value


class Sau:
    """What Renode 1.17's core shows of its SAU: the region that RegionNumber names."""

    SAURegionNumber = 0

    def __init__(self):
        self.__dict__["regions"] = {}

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name != "SAURegionNumber":
            self.regions.setdefault(self.SAURegionNumber, {})[name] = value

    @property
    def enabled(self):
        """Of each region in force: first address, last address, whether callable."""
        limits = {n: one["SAURegionLimitAddress"] for n, one in self.regions.items()}
        return {
            (self.regions[n]["SAURegionBaseAddress"], limit | 0x1F, bool(limit & 2))
            for n, limit in limits.items()
            if limit & 1
        }


class Machine(dict):
    def __init__(self, bus, peripherals):
        super().__init__(peripherals)
        self.SystemBus = bus


class Peripheral:
    """Runs a Python peripheral as Renode does: one scope, one script run an access.

    It is told the chip's facts by the commands of its ``.resc`` or of the harness.
    """

    def __init__(self, name, chip="nrf9160"):
        self.bus = Bus()
        self.cpu = Sau()
        machine = Machine(self.bus, {"sysbus.cpu": self.cpu})
        path = PLATFORMS / "peripherals" / f"{name}.py"
        self.code = compile(path.read_text(), str(path), "exec")
        self.scope = {"self": types.SimpleNamespace(GetMachine=lambda: machine)}
        self.reset()
        told = make(platforms.chip_table(chip), Security.WORLDS, quantum=QUANTUM, strict=True)
        local = {"spu": "attribution"}.get(name, name)
        for command in told:
            if match := re.fullmatch(rf"sysbus\.{local} ControlWrite (\d+) (0x\w+)", command):
                self._run("IsUser", int(match[1]), int(match[2], 16))

    def reset(self):
        self._run("IsInit")

    def _run(self, kind, offset=0, value=0):
        kinds = dict.fromkeys(("IsInit", "IsUser", "IsRead", "IsWrite"), False)
        kinds[kind] = True
        self.scope["request"] = types.SimpleNamespace(**kinds, Offset=offset, Value=value)
        exec(self.code, self.scope)
        return self.scope["request"].Value

    def read(self, offset):
        return self._run("IsRead", offset)

    def write(self, offset, value):
        self._run("IsWrite", offset, value)


def test_nvmc_erases_the_page_whose_first_word_was_written_under_een():
    nvmc = Peripheral("nvmc")
    nvmc.bus.words.update({0x3000: 1, 0x3004: 2, 0x4000: 3})
    assert nvmc.read(0x400) == nvmc.read(0x408) == 1
    nvmc.write(0x504, 2)
    nvmc.bus.words[0x3000] = 0xFFFFFFFF
    nvmc.write(0x504, 0)
    assert nvmc.bus.words[0x3004] == nvmc.bus.words[0x3FFC] == 0xFFFFFFFF
    assert nvmc.bus.words[0x4000] == 3


def test_dppic_keeps_enables_and_groups_switch_them():
    dppic = Peripheral("dppic")
    dppic.write(0x504, 0x8001)
    dppic.write(0x508, 0x1)
    assert dppic.read(0x500) == 0x8000
    dppic.write(0x804, 0x6)
    dppic.write(0x008, 1)
    assert dppic.read(0x500) == 0x8006
    dppic.write(0x00C, 1)
    assert dppic.read(0x500) == 0x8000


PERIPHERALS_NON_SECURE = (0x40000000, 0x4FFFFFFF, False)


def test_the_spu_gives_flash_and_ram_away_in_stretches():
    spu = Peripheral("spu")
    for region in range(2, 32):
        spu.write(0x600 + 4 * region, 7)
    for region in (1, 2, 5):
        spu.write(0x700 + 4 * region, 7)
    assert spu.cpu.enabled == {
        PERIPHERALS_NON_SECURE,
        (0x10000, 0xFFFFF, False),
        (0x20002000, 0x20005FFF, False),
        (0x2000A000, 0x2000BFFF, False),
    }


def test_the_spu_makes_the_end_of_a_secure_region_callable():
    spu = Peripheral("spu")
    spu.write(0x600 + 4, 7)
    spu.write(0x500, 0)
    spu.write(0x504, 4)  # 256 bytes
    callable_area = (0x7F00, 0x7FFF, True)
    assert callable_area in spu.cpu.enabled
    spu.write(0x500, 1)  # a non-secure region has no such end
    assert not any(is_callable for _, _, is_callable in spu.cpu.enabled)


def test_regions_that_the_spu_takes_back_are_off():
    spu = Peripheral("spu")
    spu.write(0x700 + 4 * 7, 7)
    spu.write(0x700 + 4 * 7, 0x17)
    assert spu.cpu.enabled == {PERIPHERALS_NON_SECURE}


def test_registers_of_the_spu_keep_their_values_and_start_secure():
    spu = Peripheral("spu")
    assert spu.read(0x600) == spu.read(0x77C) == 0x17
    assert spu.read(0x800 + 4 * 8) & 0x80000010 == 0x80000010
    spu.write(0x800 + 4 * 8, 0x80000002)
    assert spu.read(0x800 + 4 * 8) == 0x80000002


@pytest.mark.parametrize("chip", CHIPS)
def test_spu_needs_no_more_regions_than_the_core_has(chip):
    text = (PLATFORMS / f"{platforms.board_with(chip).key}_worlds.repl").read_text()
    given = int(re.search(r"numberOfSAURegions: (\d+)", text)[1])
    spu, counts = Peripheral("spu", chip), []
    for memory, first in (("flash", 0x600), ("ram", 0x700)):
        counts.append(platforms.chip_table(chip).spu_regions(memory))
        for region in range(0, counts[-1], 2):  # the most stretches, and four callable ends
            spu.write(first + 4 * region, 7)
    for at, region in ((0x500, 1), (0x508, 3), (0x540, 1), (0x548, 3)):
        spu.write(at, region)
        spu.write(at + 4, 1)
    assert len(spu.cpu.enabled) == 1 + sum(counts) // 2 + 4
    assert max(spu.cpu.regions) + 1 == given == SAU_REGIONS


def test_regions_are_as_large_as_the_chips():
    spu = Peripheral("spu", "nrf5340")
    for region in range(3, 64):
        spu.write(0x600 + 4 * region, 7)
    spu.write(0x700 + 4 * 63, 7)
    assert spu.cpu.enabled == {
        PERIPHERALS_NON_SECURE,
        (0xC000, 0xFFFFF, False),
        (0x2007E000, 0x2007FFFF, False),
    }


def test_a_channel_is_kept_if_the_chip_has_it():
    for chip, kept in (("nrf9160", 0x8000), ("nrf5340", 0x80008000)):
        dppic = Peripheral("dppic", chip)
        dppic.write(0x504, 0x80008000)
        assert dppic.read(0x500) == kept


def test_a_reset_of_a_script_keeps_the_chips_facts():
    dppic = Peripheral("dppic", "nrf5340")
    dppic.write(0x504, 1)
    dppic.reset()
    assert dppic.read(0x500) == 0
    dppic.write(0x504, 0x80000000)
    assert dppic.read(0x500) == 0x80000000
