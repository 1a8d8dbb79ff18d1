"""One user at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from harness.base.errors import BoardUnavailable, TargetLost
from harness.targets.board.lock import Holder, ProbeLock

HOLD = """
import sys, time
from pathlib import Path
from harness.targets.board.lock import ProbeLock
lock = ProbeLock("960000001", "dk1", state=Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the board."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"held\n"
    yield child
    child.kill()
    child.communicate()


def lock_of(tmp_path):
    return ProbeLock("960000001", "dk1", state=tmp_path)


def test_a_free_board_is_acquired_and_released(tmp_path):
    lock = lock_of(tmp_path)
    assert not lock.held
    lock.acquire()
    holder = lock.holder()
    assert (holder.pid, holder.board) == (os.getpid(), "dk1")
    lock.check()
    lock.release()
    lock.release()
    assert lock.holder() is None
    assert not lock.held


def test_a_held_board_names_its_holder(tmp_path, other):
    started = time.monotonic()
    with pytest.raises(BoardUnavailable) as caught:
        lock_of(tmp_path).acquire(0.3)
    assert time.monotonic() - started < 5
    assert f"process {other.pid}" in caught.value.message
    assert "waited 0.3 s" in caught.value.message
    assert "--wait" in caught.value.hint
    assert caught.value.exit_code == 3


def test_a_holder_that_died_leaves_a_stale_note_that_is_taken_over(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    lock = lock_of(tmp_path)
    lock.acquire()
    assert lock.stale is not None
    assert lock.stale.pid == other.pid
    lock.release()


def test_waiting_gets_the_board_when_it_is_given_back(tmp_path):
    first = lock_of(tmp_path)
    first.acquire()
    threading.Timer(0.3, first.release).start()
    second = lock_of(tmp_path)
    second.acquire(10)
    assert second.stale is None
    second.release()


def test_taking_a_board_names_the_taker_to_its_holder(tmp_path):
    victim, thief = lock_of(tmp_path), lock_of(tmp_path)
    victim.acquire()
    assert thief.take().pid == os.getpid()
    with pytest.raises(TargetLost, match=r"taken over during the run by .* since"):
        victim.check()
    victim.release()
    thief.check()  # the victim's release does not undo the theft
    thief.release()


def test_two_probes_do_not_share_a_lock(tmp_path):
    with ProbeLock("1", "a", state=tmp_path) as one, ProbeLock("2", "b", state=tmp_path) as two:
        one.acquire()
        two.acquire()


def test_a_garbled_note_does_not_keep_a_free_board(tmp_path):
    (tmp_path / "960000001.holder.json").write_text("{")
    lock = lock_of(tmp_path)
    lock.acquire()
    assert lock.holder().pid == os.getpid()
    lock.release()


def test_a_state_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BoardUnavailable, match="cannot use"):
        lock_of(tmp_path / "file" / "state")


def test_the_note_is_json_that_other_tools_can_read(tmp_path):
    lock = lock_of(tmp_path)
    lock.acquire()
    note = json.loads((tmp_path / "960000001.holder.json").read_text())
    assert set(note) == {"owner", "host", "pid", "since", "board", "token"}
    lock.release()


def test_held_board_is_refused_at_once_by_default(tmp_path, other):
    started = time.monotonic()
    with pytest.raises(BoardUnavailable, match=r"process \d+\) since [^ ]+\nhint") as refused:
        lock_of(tmp_path).acquire()
    assert time.monotonic() - started < 2
    assert refused.value.message.startswith("board dk1 (probe 960000001) is held by ")
    assert refused.value.hint == (
        "wait for it with --wait SECONDS, or take it: tflm-hil boards take dk1"
    )


def test_a_lock_that_is_held_without_a_note_is_held_by_another_process(tmp_path, other):
    (tmp_path / "960000001.holder.json").write_text("")
    with pytest.raises(BoardUnavailable, match=r"is held by another process\nhint"):
        lock_of(tmp_path).acquire()


def test_held_does_not_take_the_board(tmp_path, other):
    asking = lock_of(tmp_path)
    assert asking.held and asking.held
    other.kill()
    other.wait()
    assert not asking.held and not asking.held
    with asking:
        asking.acquire()
        assert asking.held
        assert lock_of(tmp_path).held
    assert not asking.held


def test_holder_notices_a_missing_lock(tmp_path):
    lock = lock_of(tmp_path)
    lock.acquire()
    (tmp_path / "960000001.holder.json").write_text("")
    with pytest.raises(TargetLost, match=r"during the run \(its lock was removed\)$"):
        lock.check()
    lock.release()


def test_taking_a_free_board_has_no_former_holder(tmp_path):
    lock = lock_of(tmp_path)
    assert lock.take() is None
    lock.check()
    lock.release()


def test_a_taken_board_is_locked_for_its_new_holder(tmp_path):
    victim, thief, third = (lock_of(tmp_path) for _ in range(3))
    victim.acquire()
    thief.take()
    with pytest.raises(BoardUnavailable):
        third.acquire()
    victim.release()
    with pytest.raises(BoardUnavailable):
        third.acquire()
    thief.release()
    third.acquire()
    third.release()


def test_holder_as_text_has_owner_host_process_and_time():
    holder = Holder("me", "bench", 12, "2026-01-02T03:04:05+00:00", "dk1", "t")
    assert str(holder) == "me on bench (process 12) since 2026-01-02T03:04:05+00:00"


def test_user_without_a_name_is_shown_by_number(tmp_path, monkeypatch):
    def nameless():
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    lock = lock_of(tmp_path)
    lock.acquire()
    assert lock.holder().owner == f"user {os.getuid()}"
    lock.release()
