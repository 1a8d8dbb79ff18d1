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
        ("PWM0=absent.npz", "PWM0 takes no feed"),
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
