"""lab.toml is read strictly."""

from __future__ import annotations

import tomllib

import pytest

from harness.errors import UsageError
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


def test_everything_that_the_manual_shows_is_read():
    read = lab.parse(tomllib.loads(GOOD))
    first, second = read.entries
    assert first.port == "rfc2217://bench2:4001"
    assert (first.baud, first.tags, first.runner) == (1_000_000, ("modem",), "nrfutil")
    assert second.probe == "960012346"
    assert read.policy.retries == 2
    assert not read.policy.quarantine
    assert read.by_probe("000960012345") is first
    assert read.by_probe("1") is None


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
