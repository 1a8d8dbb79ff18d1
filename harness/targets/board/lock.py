"""A lock for each probe: a file lock with a note about its holder.

The kernel's lock (``flock``) ends with the process that holds it. A note beside it names owner,
host, process and time. A note without a lock is stale, left by a crashed run. A board can be taken
from its holder by force; the run of the holder, whose note has been replaced, then fails with an
error that names the other user.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import socket
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.base.closing import Closing
from harness.base.errors import BoardUnavailable, TargetLost
from harness.targets.board.lab import checked_name, unpadded
from harness.targets.board.state import StateFolder, fresh_name

#: Seconds between two attempts to acquire a lock.
_POLL = 0.05


@dataclass(frozen=True)
class Holder:
    """The holder of a board. ``since`` is ISO 8601, UTC."""

    owner: str
    host: str
    pid: int
    since: str
    board: str
    token: str

    def __str__(self) -> str:
        return f"{self.owner} on {self.host} (process {self.pid}) since {self.since}"


class BoardTaken(TargetLost):
    """Another user took the board by force; never retried."""


class ProbeLock(Closing):
    """The lock of one probe; a context manager. Not re-entrant.

    The file ``PROBE.current`` names the lock file in use. Taking a board by force creates another
    lock file, which invalidates the holder's lock.
    """

    def __init__(self, probe: str, board: str, *, state: Path | None = None) -> None:
        self._probe = checked_name(unpadded(probe), "the serial number")
        self._board = board
        self._state = StateFolder(state)
        self._note = f"{self._probe}.holder.json"
        self._current = f"{self._probe}.current"
        self._handle: int | None = None
        self._token = uuid.uuid4().hex
        self.stale: Holder | None = None

    def acquire(self, wait: float = 0.0) -> None:
        """Acquires the lock, waiting at most ``wait`` seconds.

        Sets :attr:`stale` if a crashed run had left its note. Raises :class:`BoardUnavailable`,
        which names the holder or the problem with the shared folder.
        """
        limit = time.monotonic() + wait
        while not self._try():
            if time.monotonic() >= limit:
                raise self._busy(wait)
            time.sleep(_POLL)
        self.stale = self.holder()
        self._write()

    def _busy(self, wait: float) -> BoardUnavailable:
        holder = self.holder()
        who = str(holder) if holder else "another process"
        waited = f" (waited {wait:g} s)" if wait else ""
        return BoardUnavailable(
            f"board {self._board} (probe {self._probe}) is held by {who}{waited}",
            hint="wait for it with --wait SECONDS, or take it: tflm-hil boards take " + self._board,
        )

    def _try(self) -> bool:
        """Locks the lock file in use; returns False if another process holds it."""
        name = self._lock_name()
        handle = self._state.open(name)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        try:
            if name != self._lock_name():  # taken by force meanwhile
                os.close(handle)
                return False
        except BoardUnavailable:
            os.close(handle)
            raise
        self._handle = handle
        return True

    def _lock_name(self) -> str:
        name = self._state.read(self._current)
        valid = re.fullmatch(re.escape(self._probe) + r"\.[0-9a-f]{8}\.lock", name)
        return name if valid else f"{self._probe}.lock"

    def release(self) -> None:
        """Releases the lock; safe to call twice, and after it was taken by force."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            holder = self.holder()
            if holder is not None and holder.token == self._token:
                self._state.remove(self._note)
        finally:
            os.close(handle)

    def check(self) -> None:
        """Raises :class:`BoardTaken` if another user took the board since it was acquired."""
        if not self.ours:
            holder = self.holder()
            who = f"by {holder}" if holder else "(its lock was removed)"
            raise BoardTaken(f"board {self._board} was taken over during the run {who}")

    def take(self) -> Holder | None:
        """Takes the board from its holder by force; returns the holder.

        The run of the holder detects it by the new note (:meth:`check`).
        """
        holder = self.holder()
        self._state.write(self._current, fresh_name(self._probe, ".lock"))
        self.acquire()
        return holder

    def holder(self) -> Holder | None:
        """The holder named in the note, or None without a valid note."""
        try:
            note = self._state.read_note(self._note)
            return Holder(**note) if note else None
        except (ValueError, TypeError):
            return None

    @property
    def ours(self) -> bool:
        """True if the note is that of this lock."""
        holder = self.holder()
        return holder is not None and holder.token == self._token

    @property
    def held(self) -> bool:
        """True if any process holds the lock, including this one."""
        if self._handle is not None:
            return True
        if not self._try():
            return True
        assert self._handle is not None
        os.close(self._handle)
        self._handle = None
        return False

    def _write(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder = Holder(_user(), socket.gethostname(), os.getpid(), since, self._board, self._token)
        self._state.write_note(self._note, holder)

    def close(self) -> None:
        """Releases the lock."""
        self.release()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
