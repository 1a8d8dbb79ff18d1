"""lab.toml is read strictly."""

from __future__ import annotations

import tomllib

import pytest

from harness.base.errors import UsageError
from harness.targets.board import lab

GOOD = """
state = "/var/lib/lab"
[policy]
retries = 2
backoff = 0.5
quarantine = false
[[board]]
name = "dk1"
probe = "960012345"
port = "rfc2217://bench2:4001"
runner = "nrfutil"
baud = 1000000
tags = ["modem"]
power_cycle = ["uhubctl", "-a", "cycle", "{probe}"]
[[board]]
name = "dk2"
probe = 960012346
"""


def test_every_key_of_the_documentation_is_read():
    read = lab.parse(tomllib.loads(GOOD))
    first, second = read.entries
    assert first.port == "rfc2217://bench2:4001"
    assert (first.baud, first.tags, first.runner) == (1_000_000, ("modem",), "nrfutil")
    assert second.probe == "960012346"
    assert read.policy.retries == 2
    assert not read.policy.quarantine


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[board]]\nname = "a"', "'probe' is missing"),
        ('[[board]]\nname = "a"\nprobe = "1"\npower_cicle = []', "unknown key 'power_cicle'"),
        ('[[board]]\nname = "a"\nprobe = "1"\nbaud = "fast"', "baud is a whole number"),
        ('[[board]]\nname = "a"\nprobe = "1"\ntags = "x"', "tags is a list"),
        ('[[board]]\nname = "a"\nprobe = "1"\nport = 3', "port is a text"),
        (
            '[[board]]\nname="a"\nprobe="1"\n[[board]]\nname="a"\nprobe="2"',
            "two boards have the name",
        ),
        ('[[board]]\nname="a"\nprobe="1"\n[[board]]\nname="b"\nprobe="001"', "the probe '001'"),
        ("[policy]\nretries = -1", "retries: -1 is not a number"),
        ("[policy]\nretries = true", "retries is a whole number"),
        ("[polizy]\nretries = 1", "unknown key 'polizy'"),
        ("board = 3", "board is a list"),
        ("state = 3", "state is a text"),
    ],
)
def test_a_mistake_is_named(text, words):
    with pytest.raises(UsageError, match=words):
        lab.parse(tomllib.loads(text))


def test_a_file_that_was_named_and_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UsageError, match=r"lab\.toml"):
        lab.load(tmp_path / "lab.toml")


def test_no_file_is_an_empty_lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TFLM_HIL_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert lab.load().entries == ()
    (tmp_path / "lab.toml").write_text(GOOD)
    assert len(lab.load().entries) == 2


def test_a_broken_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text("[[board")
    with pytest.raises(UsageError, match="is not TOML"):
        lab.load(path)


def test_missing_keys_have_their_defaults():
    read = lab.parse(tomllib.loads('[[board]]\nname = "a"\nprobe = "1"'))
    assert (read.policy.retries, read.policy.quarantine, read.state) == (1, True, None)
    assert (read.policy.backoff, read.policy.power_cycle_seconds) == (1.0, 30.0)
    assert (read.policy.return_seconds, read.policy.settle_seconds) == (5.0, 1.0)
    assert read.policy.flash_seconds == 120.0
    (board,) = read.entries
    assert (board.baud, board.port, board.power_cycle) == (None, "", ())
    assert lab.parse({}).entries == ()


@pytest.mark.parametrize("retries", [0, 10])
def test_up_to_ten_retries_are_made(retries):
    assert lab.parse({"policy": {"retries": retries}}).policy.retries == retries
    with pytest.raises(UsageError, match="11 is not a number from 0 to 10"):
        lab.parse({"policy": {"retries": 11}})


@pytest.mark.parametrize("probe", [True, 1.5, [], "", "../1", -1])
def test_invalid_serial_number_is_refused(probe):
    with pytest.raises(UsageError, match="cannot be used: 1 to 64 letters"):
        lab.parse({"board": [{"name": "a", "probe": probe}]})


def test_a_lab_is_found_where_it_is_named_then_here_then_in_the_users_folder(tmp_path, monkeypatch):
    def write(name, board):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'[[board]]\nname = "{board}"\nprobe = "1"\n')
        return path

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TFLM_HIL_LAB", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    mine = write("config/tflm-hil/lab.toml", "mine")
    assert (lab.load().entries[0].name, lab.load().path) == ("mine", mine)
    write("lab.toml", "here")
    assert lab.load().entries[0].name == "here"
    monkeypatch.setenv("TFLM_HIL_LAB", str(write("named.toml", "named")))
    assert lab.load().entries[0].name == "named"
    assert lab.load(write("given.toml", "given")).entries[0].name == "given"


def test_a_board_may_name_its_chip():
    (board,) = lab.parse({"board": [{"name": "a", "probe": "1", "chip": "nRF9151"}]}).entries
    assert board.chip == "nrf9151"
    with pytest.raises(UsageError, match="no chip 'nrf52840'; one of nrf5340, nrf9131"):
        lab.parse({"board": [{"name": "a", "probe": "1", "chip": "nrf52840"}]})
