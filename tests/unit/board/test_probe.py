"""Memory through pyOCD: against a fake session with real memory behind it; and labgrid's client."""

from __future__ import annotations

import importlib
import sys

import pytest
from firmwares import build  # noqa: F401

from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.base.platforms import chip_table
from harness.simulator import Machine
from harness.simulator.debug_port import DebugPort
from harness.targets.board.probe import PyocdMemory

CHIP = chip_table()


class FakeTarget:
    """RAM at 0x2000_0000, nothing else, as pyOCD's target would answer."""

    def __init__(self):
        self.ram = bytearray(0x1000)

    def read_memory_block8(self, address, size):
        offset = self._offset(address, size)
        return list(self.ram[offset : offset + size])

    def write_memory_block8(self, address, data):
        offset = self._offset(address, len(data))
        self.ram[offset : offset + len(data)] = bytes(data)

    def _offset(self, address, size):
        if not 0x2000_0000 <= address <= 0x2000_1000 - size:
            raise RuntimeError(f"Memory transfer fault @ 0x{address:08x}")
        return address - 0x2000_0000


class FakeSession:
    def __init__(self):
        self.target = FakeTarget()
        self.closed = 0

    def close(self):
        self.closed += 1


@pytest.fixture
def fake():
    return FakeSession()


def test_the_probe_is_opened_at_the_first_access(fake):
    asked = []
    memory = PyocdMemory("960000001", CHIP, connect=lambda probe: asked.append(probe) or fake)
    assert asked == []
    memory.write(0x2000_0010, b"hello")
    assert memory.read(0x2000_0010, 5) == b"hello"
    assert asked == ["960000001"]
    memory.close()
    memory.close()
    assert fake.closed == 1


def test_a_fault_is_target_lost_with_the_address(fake):
    memory = PyocdMemory("1", CHIP, connect=lambda _: fake)
    with pytest.raises(TargetLost, match=r"read 4 bytes at 0x00000000.*transfer fault"):
        memory.read(0, 4)


@pytest.mark.parametrize(("address", "size"), [(-1, 4), (0xFFFF_FFFF, 2), (0, 1 << 21)])
def test_impossible_ranges_are_refused(fake, address, size):
    with pytest.raises(UsageError):
        PyocdMemory("1", CHIP, connect=lambda _: fake).read(address, size)


@pytest.mark.parametrize(
    ("address", "size"), [(0, 1 << 20), (0xFFFF_FFFF, 1), (0, 0), ((1 << 32) - 4, 4)]
)
def test_accesses_of_up_to_a_mebibyte_of_4_gib_are_possible(fake, address, size):
    memory = PyocdMemory("1", CHIP, connect=lambda _: fake)
    if size:
        with pytest.raises(TargetLost):  # no memory there, and no mistake of the user
            memory.read(address, size)
    else:
        assert memory.read(address, size) == b""
    for low, much in ((address, (1 << 20) + 1), (1 << 32, 1), (-1, 0), (0, -1)):
        with pytest.raises(UsageError, match=f"no memory access of {much} bytes at 0x"):
            memory.read(low, much)


def test_a_write_that_fails_is_target_lost_and_one_out_of_range_a_mistake(fake):
    memory = PyocdMemory("7", CHIP, connect=lambda _: fake)
    with pytest.raises(TargetLost, match=r"the probe 7 could not write 3 bytes at 0x00000010: "):
        memory.write(0x10, b"abc")
    with pytest.raises(UsageError):
        memory.write(1 << 32, b"x")


def test_a_core_that_the_probe_does_not_reach_is_target_lost(fake):
    def refused(address):
        raise RuntimeError(f"Memory transfer fault @ 0x{address:08x}")

    fake.target.read32 = refused
    memory = PyocdMemory("1", CHIP, connect=lambda _: fake)
    with pytest.raises(TargetLost, match="could not read the core: Memory transfer fault"):
        memory.core_state()


def test_the_core_is_read_through_the_debug_registers(fake, build):  # noqa: F811
    """The fake's target is the simulated chip's debug port."""
    machine = Machine(build("counter"))
    machine.run(until_tick=1_000_000)
    port = DebugPort(machine)
    fake.target.read32 = lambda address: port.read_memory(address, 4)
    fake.target.write32 = lambda address, word: port.write_memory(address, 4, word)
    fake.target.read_memory_block8 = lambda address, size: port.read_block(address, size, 1)
    state = PyocdMemory("1", CHIP, connect=lambda _: fake).core_state()
    assert state.registers == machine.core_state().registers
    assert state.memory == machine.core_state().memory
    assert not port.core.halted
    machine.close()


def test_closing_a_vanished_probe_is_not_an_error(fake):
    def gone():
        raise RuntimeError("unplugged")

    fake.close = gone
    memory = PyocdMemory("1", CHIP, connect=lambda _: fake)
    memory.read(0x2000_0000, 1)
    memory.close()
    memory.close()


PYOCD = """
import pyocd
from pyocd.core.exceptions import Error

class Target:
    def read_memory_block8(self, address, size):
        if address:
            raise Error("transfer fault")
        return [7] * size

class Session:
    target = Target()
    def open(self):
        if pyocd.fails:
            raise Error("chip is locked")

class ConnectHelper:
    @staticmethod
    def session_with_chosen_probe(**asked):
        pyocd.asked = asked
        return None if asked["unique_id"] == "404" else Session()
"""


@pytest.fixture
def pyocd(tmp_path, monkeypatch):
    """A pyOCD with one probe, whatever its number, but 404."""
    core = tmp_path / "pyocd" / "core"
    core.mkdir(parents=True)
    (tmp_path / "pyocd" / "__init__.py").write_text("fails = False\n")
    (core / "__init__.py").touch()
    (core / "exceptions.py").write_text("class Error(Exception): pass\n")
    (core / "helpers.py").write_text(PYOCD)
    for name in [one for one in sys.modules if one.partition(".")[0] == "pyocd"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("pyocd")
    for name in [one for one in sys.modules if one.partition(".")[0] == "pyocd"]:
        del sys.modules[name]


def test_pyocd_attaches_to_the_probe_without_unlocking_or_waiting(pyocd):
    assert PyocdMemory("960", CHIP).read(0, 2) == b"\x07\x07"
    assert pyocd.asked["unique_id"] == "960"
    assert (pyocd.asked["blocking"], pyocd.asked["return_first"]) == (False, True)
    options = pyocd.asked["options"]
    assert (options["auto_unlock"], options["connect_mode"]) == (False, "attach")
    assert (options["resume_on_disconnect"], options["no_config"]) == (True, True)


def test_errors_of_pyocd_are_target_lost(pyocd):
    with pytest.raises(TargetLost, match="transfer fault"):
        PyocdMemory("960", CHIP).read(4, 2)
    with pytest.raises(TargetLost, match="pyOCD does not see the probe 404"):
        PyocdMemory("404", CHIP).read(0, 2)
    pyocd.fails = True
    with pytest.raises(TargetLost, match="could not connect through probe 960: chip is locked"):
        PyocdMemory("960", CHIP).read(0, 2)


def test_memory_without_pyocd_is_an_environment_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyocd", None)
    monkeypatch.setitem(sys.modules, "pyocd.core.helpers", None)
    monkeypatch.setitem(sys.modules, "pyocd.core.exceptions", None)
    with pytest.raises(EnvironmentMissing, match="pyOCD, which is not installed") as missing:
        PyocdMemory("960", CHIP).read(0, 2)
    assert missing.value.hint == "pip install 'tflm-hil[pyocd]'"


@pytest.mark.needs("pyocd")
def test_real_pyocd_reports_a_missing_probe():
    with pytest.raises(TargetLost, match="pyOCD does not see the probe 960000001"):
        PyocdMemory("960000001", CHIP).read(0x2000_0000, 4)
