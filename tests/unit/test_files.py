"""Files appear whole or not at all; what is no file is refused in one line."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base import files
from harness.base.errors import BadElf, CannotWrite, UsageError


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond 1,000 bytes, pytest's own log neither: for a few lines at a time."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def left_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    files.write(tmp_path / "a", "first")
    files.write(tmp_path / "a", b"second")
    assert left_in(tmp_path) == {"a": b"second"}


def test_a_disk_that_fills_up_leaves_no_file_and_names_it(tmp_path: Path) -> None:
    named = f"cannot write {tmp_path}/a: File too large"
    with full_disk(), pytest.raises(CannotWrite, match=named) as failed:
        files.write(tmp_path / "a", bytes(5000))
    assert failed.value.exit_code == 3
    assert left_in(tmp_path) == {}


def test_a_disk_that_fills_up_leaves_the_file_of_before(tmp_path: Path) -> None:
    files.write(tmp_path / "a", "before")
    with full_disk(), pytest.raises(CannotWrite):
        files.write(tmp_path / "a", bytes(5000))
    assert left_in(tmp_path) == {"a": b"before"}


def test_a_file_that_grows_can_be_read_meanwhile_and_stays(tmp_path: Path) -> None:
    with files.growing(tmp_path / "a") as file:
        file.write(b"some bytes")
        file.seek(5)
        assert file.read() == b"bytes"
    assert left_in(tmp_path) == {"a": b"some bytes"}


def test_an_interrupt_leaves_the_written_part_of_a_growing_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), files.growing(tmp_path / "a") as file:
        file.write(b"some bytes")
        raise KeyboardInterrupt
    assert left_in(tmp_path) == {"a": b"some bytes"}


@pytest.mark.parametrize("size", [1200, 100_000])
def test_a_growing_file_that_finds_no_room_is_named_and_leaves_nothing(
    tmp_path: Path, size: int
) -> None:
    with (
        full_disk(),
        pytest.raises(CannotWrite, match=f"cannot write {tmp_path}/a: File too large"),
        files.growing(tmp_path / "a") as file,
    ):
        file.write(bytes(size))
    assert left_in(tmp_path) == {}


@pytest.mark.parametrize("name", ["none/a", "a\0b", "x" * 300, "sub"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(CannotWrite, match="cannot write"):
        files.write(tmp_path / name, "text")


def test_an_interrupt_leaves_the_file_of_before(tmp_path, monkeypatch) -> None:
    files.write(tmp_path / "a", "before")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / "a", "after")
    assert left_in(tmp_path) == {"a": b"before"}


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "new", "")
    finally:
        os.umask(before)
    (tmp_path / "old").touch(mode=0o600)
    files.write(tmp_path / "old", "")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o640, "old": 0o600}


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


def test_a_device_and_a_pipe_are_written_as_they_are(tmp_path: Path) -> None:
    files.write(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        files.write(pipe, "text")
        assert reader.communicate()[0] == b"text"


def test_an_open_pipe_is_written_by_its_number_as_shells_pass_it() -> None:
    read, write = os.pipe()
    files.write(Path(f"/dev/fd/{write}"), "text")
    os.close(write)
    with os.fdopen(read, "rb") as end:
        assert end.read() == b"text"


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotWrite, match=r"cannot write .*pipe"):
        files.write(tmp_path / "pipe", "text")


def test_text_that_is_not_unicode_is_written_escaped(tmp_path: Path) -> None:
    files.write(tmp_path / "a", "name \udcff")
    assert (tmp_path / "a").read_bytes() == b"name \\udcff"


@pytest.fixture
def no_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Something that has a name and is no file."""
    path = tmp_path / "it"
    match request.param:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        case "device":
            return Path("/dev/zero")
        case "name with NUL":
            return tmp_path / "a\0b"
        case "long name":
            return tmp_path / ("x" * 300)
        case "link to itself":
            path.symlink_to(path)
    return path


KINDS = ["nothing", "folder", "pipe", "socket", "device", "name with NUL", "long name",
         "link to itself"]  # fmt: skip


@pytest.mark.parametrize("no_file", KINDS, indirect=True)
def test_a_path_that_is_not_a_file_is_refused_at_once_in_one_line(no_file: Path) -> None:
    assert not files.is_file(no_file)
    with pytest.raises(BadElf) as refused:
        files.read(no_file, error=BadElf)
    assert refused.value.message.startswith(("cannot read ", "there is no file "))
    assert "\n" not in refused.value.message


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="are more than"):
        files.read(tmp_path / "large")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "not TOML"),
        (b"\xff", "not TOML"),
        (b"a", "not TOML"),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "a.toml").write_bytes(text)
    with pytest.raises(UsageError, match=words):
        files.read_toml(tmp_path / "a.toml")


def test_nothing_is_read_from_a_pipe_without_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    call = [sys.executable, "-m", "harness", "run", str(tmp_path / "pipe")]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
