"""`run --rerun`: again after each change of a file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.case.plan import Request, plan
from harness.case.subject import Subject
from harness.cli.run.rerun import files_of, repeat

PAUSE = 0.01


class Runs:
    """What a run does the first, the second, ... time; the last one is interrupted."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter((*steps, self._stop))
        self.number = 0

    def _stop(self) -> None:
        raise KeyboardInterrupt

    def __call__(self) -> None:
        self.number += 1
        next(self._steps)()


def again(runs: Runs, *files: Path) -> int:
    with pytest.raises(KeyboardInterrupt):
        repeat(runs, lambda: files, PAUSE)
    return runs.number


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a.elf"
    path.write_bytes(b"first")
    return path


def test_a_change_during_the_run_is_not_missed(image: Path) -> None:
    assert again(Runs(lambda: image.write_bytes(b"second one")), image) == 2


def test_a_file_that_was_away_is_waited_for(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linker takes the old file away first, and writes the new one in pieces."""
    states = iter([None, b"n", b"new", None])

    def sleep(seconds: float) -> None:
        data = next(states)
        if data is not None:
            image.write_bytes(data)

    monkeypatch.setattr("time.sleep", sleep)
    assert again(Runs(image.unlink), image) == 2
    assert image.read_bytes() == b"new"


def test_an_error_is_shown_and_does_not_end_it(
    image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        image.write_bytes(b"mended while it ran")
        raise UsageError("a.elf is no ELF")

    assert again(Runs(fail), image) == 2
    assert "tflm-hil: a.elf is no ELF" in capsys.readouterr().err


def test_a_broken_case_file_waits_for_its_next_change(
    image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files cannot be told then: those of before count."""
    broken = iter([False, True, True, False])
    looks = count()
    monkeypatch.setattr("time.sleep", lambda _: next(looks) % 2 or image.write_bytes(b"edited"))

    def files() -> tuple[Path, ...]:
        if next(broken):
            raise UsageError("no TOML")
        return (image,)

    runs = Runs(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        repeat(runs, files, PAUSE)
    assert runs.number == 2


def test_the_files_of_a_sample_are_its_sources_and_its_model() -> None:
    what = Subject.find("hello_world")
    names = {path.name for path in files_of(plan(Request(what)), what)}
    assert {"main.cpp", "runner.cc", "hello_world_int8.tflite"} <= names


def test_the_files_of_a_case_file(tmp_path: Path, image: Path) -> None:
    file = tmp_path / "hil.toml"
    file.write_text('[[case]]\nname = "one"\nelf = "a.elf"\nmodel = "other.tflite"\n')
    model = tmp_path / "other.tflite"
    model.touch()
    what = Subject.find("hil.toml", tmp_path, case_files=True)
    found = files_of(plan(Request(what)), what)
    assert list(found) == [file, image, model]


def test_plain_bytes_are_a_file_without_their_address(image: Path) -> None:
    what = Subject.find(f"{image}@0x1000")
    assert list(files_of(plan(Request(what)), what)) == [image]
