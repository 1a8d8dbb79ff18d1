"""Models and feeds that a user gives to peripherals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.base.errors import UsageError
from harness.base.findings import Kind
from harness.case import load_cases
from harness.elf import Image
from harness.simulator import Machine, snapshot

documentation = Path(__file__).parents[3].joinpath("docs").resolve

RAM = 0x2000_8000
MINE = """
from harness.simulator.peripherals.base import Nordic

class Pwm(Nordic):
    TASKS = {"SEQSTART0": 0x008}
    EVENTS = {"SEQEND0": 0x110}

    def task_seqstart0(self):
        self.event("SEQEND0")
"""


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    path = tmp_path / "samples.npz"
    np.savez(path, SAADC=np.arange(-2, 4, dtype=np.int16), PDM=np.arange(8, dtype=np.int16))
    return path


def _words(machine: Machine, count: int) -> list[int]:
    return list(np.frombuffer(machine.read_memory(RAM, 2 * count), "<i2"))


def _adc(machine: Machine) -> None:
    adc = machine.devices["SAADC"]
    for offset, value in ((0x500, 1), (0x510, 1), (0x520, 2), (0x62C, RAM), (0x630, 4), (0, 1)):
        adc.write(offset, value)


def _sample(machine: Machine) -> None:
    machine.devices["SAADC"].write(0x004, 1)
    machine.run(until_tick=machine.now + 64 * 24)  # two channels: 10 + 2 us each


def test_a_sample_is_one_value_for_each_channel(waiting: Image, feed: Path) -> None:
    machine = Machine(waiting, peripherals=f"SAADC={feed}")
    _adc(machine)
    _sample(machine)
    assert _words(machine, 2) == [-2, -1]
    assert machine.devices["SAADC"].read(0x104) == 0
    _sample(machine)
    assert _words(machine, 4) == [-2, -1, 0, 1]
    assert machine.devices["SAADC"].read(0x104) == 1  # END
    assert machine.devices["SAADC"].read(0x634) == 4  # AMOUNT


def test_an_exhausted_feed_is_a_finding(waiting: Image, feed: Path) -> None:
    machine = Machine(waiting, peripherals={"SAADC": str(feed)})
    _adc(machine)
    for _ in range(2):
        _sample(machine)
    machine.devices["SAADC"].write(0, 1)
    for _ in range(2):
        _sample(machine)
    found = [one for one in machine.findings if one.kind is Kind.FEED_EXHAUSTED]
    assert [one.subject for one in found] == ["SAADC"]


def test_a_frame_of_a_microphone_takes_its_time(waiting: Image, feed: Path) -> None:
    machine = Machine(waiting, peripherals=f"PDM={feed}")
    pdm = machine.devices["PDM"]
    for offset, value in ((0x500, 1), (0x508, 1), (0x560, RAM), (0x564, 4), (0, 1)):
        pdm.write(offset, value)
    ticks = 4 * 31 * 64 * 2  # 32 MHz / 31, ratio 64, four samples
    start = machine.now
    machine.run(until_tick=start + ticks - 1)
    assert pdm.read(0x108) == 0
    machine.run(until_tick=start + ticks)
    assert pdm.read(0x108) == 1
    assert _words(machine, 4) == [0, 1, 2, 3]


def test_a_model_of_ones_own(waiting: Image, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    machine = Machine(waiting, peripherals=f"PWM0={tmp_path / 'mine.py'}:Pwm")
    machine.devices["PWM0"].write(0x008, 1)
    assert machine.devices["PWM0"].read(0x110) == 1
    assert not [one for one in machine.findings if one.kind is Kind.UNMODELLED_TASK]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("SAADC", "is not NAME=MODEL"),
        ("TIMER0=mine.py:Timer", "TIMER0 cannot be given a model"),
        ("SAADC=a.npz,SAADC=b.npz", "given twice"),
        ("SAADC=absent.npz", "absent.npz"),
        ("PWM0=absent.npz", "PWM0 cannot read its data"),
        ("PWM0=absent.py:Pwm", "no Python file"),
        ("PWM0=nobody", "no model 'nobody'"),
    ],
)
def test_a_model_that_cannot_be_had_is_named(waiting: Image, given: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Machine(waiting, peripherals=given)


def test_the_guide_s_class_runs(waiting: Image, tmp_path: Path) -> None:
    guide = (documentation() / "how-to" / "peripheral.md").read_text()
    (tmp_path / "mine.py").write_text(guide.partition("```python\n")[2].partition("```")[0])
    machine = Machine(waiting, peripherals=f"PWM0={tmp_path / 'mine.py'}:Pwm")
    pwm = machine.devices["PWM0"]
    pwm.write(0x008, 1)
    assert (pwm.read(0x108), pwm.read(0x110)) == (1, 0)
    machine.run(until_tick=machine.now + 64_000)
    assert pwm.read(0x110) == 1


def test_a_case_file_names_them(waiting: Image, tmp_path: Path, feed: Path) -> None:
    (tmp_path / "hil.toml").write_text(
        f'[[case]]\nname = "adc"\nelf = "{waiting.path}"\n'
        '[case.peripherals]\nSAADC = {feed = "samples.npz"}\nPWM0 = "mine.py:Pwm"\nI2S = "codec"\n'
    )
    [case] = load_cases(tmp_path / "hil.toml")
    assert case.target_options["peripherals"] == {
        "SAADC": str(feed), "PWM0": f"{tmp_path / 'mine.py'}:Pwm", "I2S": "codec",
    }  # fmt: skip


def test_a_snapshot_rewinds_the_feed(waiting: Image, feed: Path) -> None:
    machine = Machine(waiting, peripherals=f"SAADC={feed}")
    _adc(machine)
    _sample(machine)
    before = snapshot.take(machine)
    _sample(machine)
    first = _words(machine, 4)
    snapshot.restore(machine, before)
    assert machine.devices["SAADC"].read(0x634) == 2
    _sample(machine)
    assert _words(machine, 4) == first


# bus masters

TWIM1 = {"enable": (0x500, 6), "address": (0x588, 0x48), "frequency": (0x524, 0x0640_0000)}


@pytest.fixture
def bus(tmp_path: Path) -> Path:
    path = tmp_path / "bus.npz"
    answers = np.array([0x12, 0x34, 0x56], np.uint8)
    np.savez(path, **{"TWIM1.0x48": answers, "SPIM2": np.arange(8, dtype=np.uint8)})
    return path


@pytest.fixture
def master(waiting: Image, bus: Path) -> Machine:
    machine = Machine(waiting, peripherals=f"TWIM1={bus}")
    for offset, value in TWIM1.values():
        machine.devices["TWIM1"].write(offset, value)
    return machine


def _step(machine: Machine, ticks: int = 100_000) -> None:
    machine.run(until_tick=machine.now + ticks)


def test_a_read_of_a_device_gives_its_next_bytes(master: Machine) -> None:
    twim = master.devices["TWIM1"]
    twim.write(0x200, 1 << 12)  # LASTRX_STOP
    twim.write(0x534, RAM)
    twim.write(0x538, 2)
    twim.write(0x000, 1)
    assert (twim.read(0x14C), twim.read(0x15C)) == (1, 0)  # RXSTARTED, LASTRX
    _step(master)
    assert [twim.read(event) for event in (0x15C, 0x104, 0x124)] == [1, 1, 0]
    assert (master.read_memory(RAM, 2), twim.read(0x53C)) == (b"\x12\x34", 2)


def test_a_register_is_written_and_read_with_a_repeated_start(master: Machine) -> None:
    twim = master.devices["TWIM1"]
    twim.write(0x200, 1 << 7 | 1 << 12)  # LASTTX_STARTRX, LASTRX_STOP
    for offset, value in ((0x544, RAM), (0x548, 1), (0x534, RAM + 16), (0x538, 1), (0x008, 1)):
        twim.write(offset, value)
    _step(master)
    assert [twim.read(event) for event in (0x160, 0x14C, 0x15C, 0x104)] == [1, 1, 1, 1]
    assert (twim.read(0x54C), master.read_memory(RAM + 16, 1)) == (1, b"\x12")


def test_an_address_where_nobody_answers_is_an_error(master: Machine) -> None:
    twim = master.devices["TWIM1"]
    twim.write(0x588, 0x49)
    twim.write(0x538, 1)
    twim.write(0x000, 1)
    _step(master)
    assert (twim.read(0x124), twim.read(0x4C4), twim.read(0x15C)) == (1, 1 << 1, 0)
    twim.write(0x4C4, 1 << 1)
    assert twim.read(0x4C4) == 0


def test_a_device_that_has_said_everything_is_a_finding(master: Machine) -> None:
    twim = master.devices["TWIM1"]
    for offset, value in ((0x534, RAM), (0x538, 4), (0x000, 1)):
        twim.write(offset, value)
    _step(master)
    found = [one for one in master.findings if one.kind is Kind.FEED_EXHAUSTED]
    assert [one.subject for one in found] == ["TWIM1.0x48"]


def test_a_master_that_is_not_enabled_transfers_nothing(master: Machine) -> None:
    master.devices["TWIM1"].write(0x500, 0)
    master.devices["TWIM1"].write(0x008, 1)
    assert [one.kind for one in master.findings] == [Kind.UNMODELLED_TASK]


def test_spi_stores_what_it_receives_and_takes_its_time(waiting: Image, bus: Path) -> None:
    machine = Machine(waiting, peripherals={"SPIM2": str(bus)})
    spim = machine.devices["SPIM2"]
    for offset, value in ((0x500, 7), (0x524, 0x1000_0000), (0x534, RAM), (0x538, 3), (0x010, 1)):
        spim.write(offset, value)
    _step(machine, 3 * 8 * 64 - 1)  # 1 MHz
    assert spim.read(0x118) == 0
    _step(machine, 1)
    assert [spim.read(event) for event in (0x110, 0x118, 0x120)] == [1, 1, 1]
    assert (machine.read_memory(RAM, 3), spim.read(0x53C)) == (b"\0\1\2", 3)


def test_a_snapshot_keeps_what_was_read_of_a_bus(master: Machine) -> None:
    twim = master.devices["TWIM1"]
    kept = snapshot.take(master)
    for _ in range(2):
        for offset, value in ((0x534, RAM), (0x538, 1), (0x000, 1)):
            twim.write(offset, value)
        _step(master)
    assert master.read_memory(RAM, 1) == b"\x34"
    snapshot.restore(master, kept)
    for offset, value in ((0x534, RAM), (0x538, 1), (0x000, 1)):
        twim.write(offset, value)
    _step(master)
    assert master.read_memory(RAM, 1) == b"\x12"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("TWIM1={0},SPIM1={0}", "another model already replaces UARTE1"),
        ("SPIM3={0}", "has no array SPIM3"),
        ("TWIM1={0},TWIM1={0}", "is given twice"),
        ("TWIM4={0}", "cannot be given a model"),
    ],
)
def test_masters_that_make_no_sense_are_refused(
    waiting: Image, bus: Path, given: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        Machine(waiting, peripherals=given.format(bus))


def test_the_slot_of_the_console_cannot_be_a_master(waiting: Image, tmp_path: Path) -> None:
    path = tmp_path / "bus.npz"
    np.savez(path, SPIM0=np.zeros(1, np.uint8))
    with pytest.raises(UsageError, match="UARTE0 is the console"):
        Machine(waiting, peripherals=f"SPIM0={path}")
