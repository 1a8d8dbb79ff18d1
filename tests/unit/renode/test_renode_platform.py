"""Every address, size and interrupt of nrf9160.repl against nrf9160.toml, both ways."""

from __future__ import annotations

import re
import tomllib
import types

import pytest

from harness.base import paths
from harness.targets.renode.machine import UNMODELLED

PLATFORMS = paths.platforms()
TABLE = tomllib.loads((PLATFORMS / "chips" / "nrf9160.toml").read_text())
TEXT = re.sub(r"//.*", "", (PLATFORMS / "nrf9160.repl").read_text())
BLOCK = re.compile(r"^(\w+): ([\w.]+) @ (\{[^}]*\}|[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)*)", re.M)
TAG = re.compile(r'Tag <(0x[0-9A-F]+), (0x[0-9A-F]+)> "(\w+)" (0x\d)')
IMPLIED = 0x1000
SIZES = {"P0": 0x300}  # the GPIO model's own size


def blocks():
    found = {}
    for name, model, where, body in BLOCK.findall(TEXT):
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


def expected_bases(entry):
    return {TABLE["windows"][one] + entry["offset"] for one in entry["bases"]}


def tags():
    found: dict[str, tuple[set[int], set[int]]] = {}
    for start, end, name, _ in TAG.findall(TEXT):
        bases, sizes = found.setdefault(name.removesuffix("_NS"), (set(), set()))
        bases.add(int(start, 16))
        sizes.add(int(end, 16) - int(start, 16) + 1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE["peripherals"])
def test_a_peripheral_is_at_its_address_of_the_table(name):
    entry = TABLE["peripherals"][name]
    size = entry.get("size", IMPLIED)
    if name in blocks():
        _, bases, irq, given = blocks()[name]
        assert bases == expected_bases(entry)
        assert irq == entry.get("irq") or (irq is None and entry["model"] in ("spu", "gpio"))
        assert (given or SIZES.get(name, IMPLIED)) == size
    else:
        bases, sizes = tags()[name]
        assert bases == expected_bases(entry)
        assert sizes == {size}


@pytest.mark.parametrize("name", TABLE["memory"])
def test_a_memory_is_at_its_address_of_the_table(name):
    _, bases, _, size = blocks()[name.upper()]
    assert bases == {TABLE["memory"][name]["origin"]}
    assert size == TABLE["memory"][name]["size"]


def test_the_description_holds_nothing_that_the_table_does_not():
    known = set(TABLE["peripherals"]) | {name.upper() for name in TABLE["memory"]}
    assert set(blocks()) - known == {"CPU", "NVIC", "DWT"}
    assert set(tags()) <= known


def test_the_core_is_the_tables_core():
    soc = TABLE["soc"]
    assert f'cpuType: "{soc["core"]}"' in TEXT
    assert f"numberOfMPURegions: {soc['mpu_regions']}" in TEXT
    assert f"PerformanceInMips: {soc['cpu_hz'] // 1_000_000}" in TEXT
    assert f"frequency: {soc['cpu_hz']}" in TEXT
    assert f"priorityMask: 0x{(0xFF << (8 - soc['priority_bits'])) & 0xFF:X}" in TEXT


def test_each_class_of_counters_cs_is_named_and_its_file_included():
    text = (PLATFORMS / "peripherals" / "counters.cs").read_text()
    classes = set(re.findall(r"^    public class (\w+)", text, re.M))
    assert classes == {model.split(".")[1] for model, *_ in blocks().values() if "Nrf" in model}
    assert "include $ORIGIN/peripherals/counters.cs\n" in (PLATFORMS / "nrf9160dk.resc").read_text()


def test_nvmc_reads_ready_even_without_its_model():
    assert {value for _, _, name, value in TAG.findall(TEXT) if name.startswith("NVMC")} == {"0x1"}


def test_each_tag_without_a_script_has_a_stub_where_accesses_fault():
    assert set(UNMODELLED) == set(tags()) - {"NVMC", "DPPIC"}


def test_the_non_secure_alias_is_registered_where_there_are_security_states():
    text = (PLATFORMS / "nrf9160dk_trustzone.repl").read_text()
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
    """Runs a Python peripheral as Renode does: one scope, one script run an access."""

    def __init__(self, name):
        self.bus = Bus()
        self.cpu = Sau()
        machine = Machine(self.bus, {"sysbus.cpu": self.cpu})
        path = PLATFORMS / "peripherals" / f"{name}.py"
        self.code = compile(path.read_text(), str(path), "exec")
        self.scope = {"self": types.SimpleNamespace(GetMachine=lambda: machine)}
        self._run(IsInit=True, IsRead=False, Offset=0, Value=0)

    def _run(self, **request):
        self.scope["request"] = types.SimpleNamespace(**request)
        exec(self.code, self.scope)
        return self.scope["request"].Value

    def read(self, offset):
        return self._run(IsInit=False, IsRead=True, Offset=offset, Value=0)

    def write(self, offset, value):
        self._run(IsInit=False, IsRead=False, Offset=offset, Value=value)


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


def test_spu_needs_no_more_regions_than_the_core_has():
    text = (PLATFORMS / "nrf9160dk_worlds.repl").read_text()
    given = int(re.search(r"numberOfSAURegions: (\d+)", text)[1])
    spu = Peripheral("spu")
    for region in range(0, 32, 2):  # the most stretches, and four callable ends
        spu.write(0x600 + 4 * region, 7)
        spu.write(0x700 + 4 * region, 7)
    for at, region in ((0x500, 1), (0x508, 3), (0x540, 1), (0x548, 3)):
        spu.write(at, region)
        spu.write(at + 4, 1)
    assert len(spu.cpu.enabled) == 1 + 2 * 16 + 4
    assert max(spu.cpu.regions) + 1 == given
