"""The folder that all users of a bench share, with hostile content."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.errors import BoardUnavailable, UsageError
from harness.targets.board.lab import checked_name
from harness.targets.board.lock import ProbeLock
from harness.targets.board.policy import Quarantine
from harness.targets.board.state import StateFolder, fresh_name

NOTE, HOLDER, LOCK, CURRENT = (
    "960.quarantine.json", "960.holder.json", "960.lock", "960.current",
)  # fmt: skip
as_root = pytest.mark.needs("root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return StateFolder(tmp_path / "lab").path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_made_for_all_and_sticky_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        made = StateFolder(tmp_path / "lab").path
    finally:
        os.umask(before)
    assert mode_of(made) == 0o1777


def test_a_folder_of_ones_own_that_lacks_the_sticky_bit_gets_it(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab").chmod(0o777)
    StateFolder(tmp_path / "lab")
    assert mode_of(tmp_path / "lab") == 0o1777


@as_root
def test_foreign_folder_without_sticky_bit_is_refused(tmp_path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab").chmod(0o777)
    os.chown(tmp_path / "lab", 12345, 12345)
    with pytest.raises(BoardUnavailable, match=r"user 12345.*chmod \+t"):
        StateFolder(tmp_path / "lab")
    assert mode_of(tmp_path / "lab") == 0o777


@as_root
def test_foreign_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir(mode=0o755)
    os.chown(tmp_path / "lab", 12345, 12345)
    with pytest.raises(BoardUnavailable, match="belongs to user 12345 and is not shared"):
        StateFolder(tmp_path / "lab")


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "lab").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BoardUnavailable, match="it is a link"):
        StateFolder(tmp_path / "lab")
    assert mode_of(tmp_path / "elsewhere") == 0o700


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab").touch()
    with pytest.raises(BoardUnavailable, match="Not a directory"):
        StateFolder(tmp_path / "lab")


def planted_link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "victim")


def planted_second_name(path: Path) -> None:
    os.link(path.parent.parent / "victim", path)


def planted_folder(path: Path) -> None:
    path.mkdir()


def planted_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 33)


PLANTED = [planted_link, planted_second_name, planted_folder, os.mkfifo, planted_large]
USES: dict[str, Callable[[Path], object]] = {
    "set aside": lambda lab: Quarantine(lab).add("dk", "960", "reason"),
    "ask": lambda lab: Quarantine(lab).note("960"),
    "lock": lambda lab: ProbeLock("960", "dk", state=lab).acquire(),
    "take": lambda lab: ProbeLock("960", "dk", state=lab).take(),
}


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize(
    ("use", "name"),
    [("set aside", NOTE), ("ask", NOTE), ("lock", HOLDER), ("lock", LOCK), ("lock", CURRENT),
     ("take", CURRENT)],
)  # fmt: skip
def test_planted_file_is_refused_and_left_alone(
    folder: Path, tmp_path: Path, use: str, name: str, plant: Callable[[Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    plant(folder / name)
    with pytest.raises(BoardUnavailable) as refused:
        USES[use](folder)
    assert refused.value.message.startswith(f"cannot use {folder / name}: it ")
    assert "\n" not in refused.value.message
    assert (victim.read_text(), mode_of(victim)) == ("precious", 0o600)


@pytest.mark.parametrize("content", [b"\xff\x00\x01", b"[]", b'{"a": 1}', b"[" * 9000])
def test_a_board_whose_quarantine_note_is_garbled_is_not_used(folder: Path, content: bytes) -> None:
    (folder / NOTE).write_bytes(content)
    with pytest.raises(BoardUnavailable, match="cannot be read"):
        Quarantine(folder).check("dk", "960")
    assert Quarantine(folder).release("960") is not None
    Quarantine(folder).check("dk", "960")


@pytest.mark.parametrize("content", [b"../../victim", b"960.lock/../x", b"\xff", b"x" * 5000])
def test_a_lock_file_is_only_one_of_the_probes_own(folder: Path, content: bytes) -> None:
    (folder / CURRENT).write_bytes(content)
    lock = ProbeLock("960", "dk", state=folder)
    lock.acquire()
    assert {path.name for path in folder.iterdir()} == {CURRENT, HOLDER, LOCK}
    lock.release()


def test_notes_are_files_that_the_next_user_can_write(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        Quarantine(folder).add("dk", "960", "reason")
        ProbeLock("960", "dk", state=folder).acquire()
    finally:
        os.umask(before)
    assert {mode_of(path) for path in folder.iterdir()} == {0o666}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder where another user may look, other than in ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@as_root
def test_another_users_notes_can_be_replaced_and_taken_away(place: Path) -> None:
    """As the next user of the bench: nothing here may need to remove the first one's files."""
    folder = StateFolder(place / "lab").path
    Quarantine(folder).add("dk", "960", "a long reason that the first user gave")
    first = ProbeLock("960", "dk", state=folder)
    first.acquire()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setuid(12345)
            quarantine = Quarantine(folder)
            quarantine.add("dk", "960", "short")
            assert quarantine.note("960").reason == "short"  # type: ignore[union-attr]
            quarantine.release("960")
            assert quarantine.note("960") is None
            thief = ProbeLock("960", "dk", state=folder)
            assert thief.take() is not None
            thief.check()
            thief.release()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Quarantine(folder).note("960") is None
    first.release()
    shutil.rmtree(place)


def test_a_note_is_read_whole_while_another_process_writes_it(folder: Path) -> None:
    state = StateFolder(folder)
    texts = [json.dumps({"a": "x" * size}) for size in (1, 3000)]
    child = os.fork()
    if child == 0:
        for number in range(400):
            state.write("note", texts[number % 2])
        os._exit(0)
    state.open("note")
    seen = {len(note["a"]) for _ in range(400) if (note := state.read_note("note"))}
    os.waitpid(child, 0)
    assert seen <= {1, 3000}


def test_file_of_more_than_64_kib_is_not_read(folder: Path) -> None:
    state = StateFolder(folder)
    assert state.read("note") == "" and state.read_note("note") is None
    (folder / "note").write_text("x" * 65536)
    assert state.read("note") == "x" * 65536
    (folder / "note").write_text("x" * 65537)
    with pytest.raises(BoardUnavailable, match=r"too large for a note \(65,537 bytes\)"):
        state.read("note")


def test_write_replaces_the_content_and_remove_deletes_it(folder: Path) -> None:
    state = StateFolder(folder)
    for text in ("a long text", "short", ""):
        state.write("note", text)
        assert (folder / "note").read_text() == text == state.read("note")
    state.remove("note")
    state.remove("note")
    assert not (folder / "note").exists()


def test_a_fresh_name_is_another_each_time() -> None:
    names_given = {fresh_name("960", ".lock") for _ in range(20)}
    assert len(names_given) == 20
    assert all(re.fullmatch(r"960\.[0-9a-f]{8}\.lock", name) for name in names_given)


def test_the_folder_is_the_named_one_else_the_variables_else_one_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFLM_HIL_LAB_STATE", str(tmp_path / "variable"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert StateFolder(tmp_path / "deep" / "named").path == tmp_path / "deep" / "named"
    assert StateFolder().path == tmp_path / "variable"
    monkeypatch.delenv("TFLM_HIL_LAB_STATE")
    assert StateFolder().path == tmp_path / "tflm-hil-lab"
    assert (tmp_path / "deep" / "named").is_dir()


@pytest.mark.parametrize("name", ["960000001", "bench-1", "Prüfstand 2", "a", "dk_1.b", "x" * 64])
def test_names(name: str) -> None:
    assert checked_name(name, "the name") == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "../../x", "a/b", "a\0b", "a\nb", "-rf", " a", "x" * 65,
             "ü" * 64 + "x", "a\u202eb", "\udcff"],
)  # fmt: skip
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        checked_name(name, "the name")
