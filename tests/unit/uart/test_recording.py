"""A console's recording on disk."""

import gc
import warnings

from harness.base.findings import Kind
from harness.case import artifacts
from harness.uart import Console
from harness.uart.lines import Line
from harness.uart.recording import Recording

NOISE = b"".join(b"line %d \xff\r\n" % number for number in range(50_000))


def test_bytes_and_lines_are_kept_as_they_came():
    console = Console()
    console.feed(NOISE[:100_001], 1.5)
    console.feed(NOISE[100_001:], 2.25)
    console.finish()
    assert console.raw == NOISE
    assert console.size == len(NOISE)
    lines = list(console.read_lines())
    assert (len(lines), console.line_count) == (50_000, 50_000)
    assert lines[-1].text == "line 49999 \\xff"
    transcript = console.transcript().splitlines()
    assert transcript[0] == "[    1.500000] line 0 \\xff"
    assert transcript[-1] == "[    2.250000] line 49999 \\xff"


def test_reading_a_recording_does_not_disturb_writing():
    console = Console()
    console.feed(b"one\n")
    assert console.raw == b"one\n"
    assert [line.text for line in console.read_lines()] == ["one"]
    console.feed(b"two\n")
    console.finish()
    assert console.raw == b"one\ntwo\n"
    assert console.transcript().count("\n") == 2


def test_a_run_that_is_interrupted_leaves_its_console(tmp_path):
    try:
        with artifacts.recording(tmp_path) as recording:
            assert recording.path == tmp_path / "console.bin"
            Console(recording=recording).feed(b"hello\nhalf a li", 1.0)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert (tmp_path / "console.bin").read_bytes() == b"hello\nhalf a li"
    assert (tmp_path / "transcript.txt").read_text() == "[    1.000000] hello\n"


def test_a_recording_of_its_own_is_temporary():
    assert Recording().path is None


def test_a_long_temporary_recording_is_closed_with_its_console():
    """With pytest -W error a file that nobody closes is a failure."""
    console = Console()
    console.feed(b"x" * 2_000_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del console
        gc.collect()
    assert not caught


def test_the_kept_part_of_a_flood_is_complete(monkeypatch):
    monkeypatch.setattr("harness.uart.console.LARGEST", 100_000)
    console = Console()
    console.feed(NOISE)
    console.finish()
    assert NOISE.startswith(console.raw)
    assert len(console.raw) == console.size >= 100_000
    assert [one.kind for one in console.findings] == [Kind.CONSOLE_FLOOD]


def test_recording_that_restarts_holds_the_last_run_alone() -> None:
    recording = Recording()
    recording.keep(b"an attempt that was lost")
    recording.keep_line(Line(1, 1.0, "lost", b"lost"))
    recording.restart()
    recording.keep(b"again")
    recording.keep_line(Line(1, 2.0, "again", b"again"))
    assert b"".join(recording.blocks()) == b"again"
    assert recording.transcript() == "[    2.000000] again\n"
