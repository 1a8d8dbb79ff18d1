"""The scripts that model NVMC, DPPIC and SPU in Renode, on a bus of words."""

from __future__ import annotations

import re
import types

import pytest

from harness.base import paths, platforms
from harness.targets.renode.description import SAU_REGIONS
from harness.targets.renode.machine import QUANTUM, make

SCRIPTS = paths.platforms() / "peripherals"


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

    It is told the chip's facts by the commands that make a machine.
    """

    def __init__(self, name, chip="nrf9160"):
        self.bus = Bus()
        self.cpu = Sau()
        machine = Machine(self.bus, {"sysbus.cpu": self.cpu})
        path = SCRIPTS / f"{name}.py"
        self.code = compile(path.read_text(), str(path), "exec")
        self.scope = {"self": types.SimpleNamespace(GetMachine=lambda: machine)}
        self.reset()
        for command in make(platforms.chip_table(chip), non_secure=False, quantum=QUANTUM):
            if match := re.fullmatch(rf"sysbus\.{name} ControlWrite (\d+) (0x\w+)", command):
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


def elsewhere(end_of_ram):
    """What is non-secure from the start: where nothing is, and the non-secure window."""
    return {(end_of_ram, 0x4FFFFFFF, False), (0x60000000, 0xDFFFFFFF, False)}


def test_the_spu_gives_flash_and_ram_away_in_stretches():
    spu = Peripheral("spu")
    for region in range(2, 32):
        spu.write(0x600 + 4 * region, 7)
    for region in (1, 2, 5):
        spu.write(0x700 + 4 * region, 7)
    assert spu.cpu.enabled == elsewhere(0x20040000) | {
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
    assert spu.cpu.enabled == elsewhere(0x20040000)


def test_registers_of_the_spu_keep_their_values_and_start_secure():
    spu = Peripheral("spu")
    assert spu.read(0x600) == spu.read(0x77C) == 0x17
    assert spu.read(0x800 + 4 * 8) & 0x80000010 == 0x80000010
    spu.write(0x800 + 4 * 8, 0x80000002)
    assert spu.read(0x800 + 4 * 8) == 0x80000002


@pytest.mark.parametrize("chip", platforms.chip_names())
def test_spu_needs_no_more_regions_than_the_core_has(chip):
    spu, counts = Peripheral("spu", chip), []
    for memory, first in (("flash", 0x600), ("ram", 0x700)):
        counts.append(platforms.chip_table(chip).spu_regions(memory))
        for region in range(0, counts[-1], 2):  # the most stretches, and four callable ends
            spu.write(first + 4 * region, 7)
    for at, region in ((0x500, 1), (0x508, 3), (0x540, 1), (0x548, 3)):
        spu.write(at, region)
        spu.write(at + 4, 1)
    assert len(spu.cpu.enabled) == 2 + sum(counts) // 2 + 4
    assert len(spu.cpu.regions) == SAU_REGIONS


def test_regions_are_as_large_as_the_chips():
    spu = Peripheral("spu", "nrf5340")
    for region in range(3, 64):
        spu.write(0x600 + 4 * region, 7)
    spu.write(0x700 + 4 * 63, 7)
    assert spu.cpu.enabled == elsewhere(0x20080000) | {
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
