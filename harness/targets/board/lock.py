"""One user at a time for each probe: a file lock that says who holds it.

The lock is the kernel's (``filelock``), so it ends with the process that holds it, however that
ends. Beside it lies a note with owner, host, process and time; a note without a held lock is what
a crashed run leaves, and is taken over. A lock can be taken from its holder by force; the holder
notices (its note is gone) and its run fails with an error that says by whom.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import tempfile
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from harness.errors import BoardUnavailable, TargetLost


@dataclass(frozen=True)
class Holder:
    """Who holds a board. ``since`` is ISO 8601, UTC."""

    owner: str
    host: str
    pid: int
    since: str
    board: str
    token: str

    def __str__(self) -> str:
        return f"{self.owner} on {self.host} (process {self.pid}) since {self.since}"

    @property
    def alive(self) -> bool | None:
        """Whether the process still runs; None where it is on another host."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def state_folder(named: Path | None = None) -> Path:
    """The folder for locks and quarantine notes, shared by all users of this machine.

    A lab file or ``$TFLM_HIL_LAB_STATE`` names another one.
    """
    chosen = named or (Path(v) if (v := os.environ.get("TFLM_HIL_LAB_STATE")) else None)
    folder = chosen or Path(tempfile.gettempdir()) / "tflm-hil-lab"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.stat().st_uid == os.getuid():
            folder.chmod(0o777)
    except OSError as error:
        raise BoardUnavailable(
            f"cannot use {folder} for board locks: {error.strerror}",
            hint="name another folder: `state` in lab.toml, or TFLM_HIL_LAB_STATE",
        ) from error
    return folder


class ProbeLock:
    """The lock of one probe; a context manager. Not re-entrant: one session, one lock."""

    def __init__(self, probe: str, board: str, *, state: Path | None = None) -> None:
        self._probe = probe
        self._board = board
        folder = state_folder(state)
        self._note = folder / f"{probe}.holder.json"
        # Not bound to a thread: a session may be closed by another one than opened it.
        self._lock = FileLock(folder / f"{probe}.lock", mode=0o666, thread_local=False)
        self._token = uuid.uuid4().hex
        self.stale: Holder | None = None

    def acquire(self, wait: float = 0.0) -> None:
        """Take the lock, waiting at most ``wait`` seconds.

        Raises :class:`BoardUnavailable` that names the holder.
        """
        try:
            self._lock.acquire(timeout=max(0.0, wait), poll_interval=0.05)
        except Timeout:
            holder = self.holder()
            who = str(holder) if holder else "another process"
            waited = f" (waited {wait:g} s)" if wait else ""
            raise BoardUnavailable(
                f"board {self._board} (probe {self._probe}) is held by {who}{waited}",
                hint="wait for it with --wait SECONDS, or take it: tflm-hil boards take "
                + self._board,
            ) from None
        except OSError as error:
            raise BoardUnavailable(
                f"cannot lock probe {self._probe}: {error}",
                hint="name a folder that all users of the bench can write: `state` in lab.toml",
            ) from error
        self.stale = self.holder()
        self._write()

    def release(self) -> None:
        """Give the lock back; safe to call twice, and after it was taken away."""
        if not self._lock.is_locked:
            return
        holder = self.holder()
        if holder is not None and holder.token == self._token:
            self._note.unlink(missing_ok=True)
        self._lock.release()

    def check(self) -> None:
        """Raise :class:`TargetLost` if somebody took the board since it was acquired."""
        holder = self.holder()
        if holder is None or holder.token != self._token:
            who = f"by {holder}" if holder else "(its lock is gone)"
            raise TargetLost(f"board {self._board} was taken away in the middle of the run {who}")

    def take(self) -> Holder | None:
        """Take the board from whoever holds it; answers who that was.

        The old lock file is removed, so that the holder keeps a lock on nothing; its note is
        replaced, which is how it finds out.
        """
        before = self.holder()
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self.acquire()
        return before

    def holder(self) -> Holder | None:
        """The note beside the lock, or None where there is none that can be read."""
        try:
            return Holder(**json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def held(self) -> bool:
        """Whether any process holds the lock now (this one included)."""
        if self._lock.is_locked:
            return True
        probe = FileLock(self._lock.lock_file, mode=0o666)
        try:
            probe.acquire(timeout=0)
        except Timeout:
            return True
        probe.release()
        return False

    def _write(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder = Holder(_user(), socket.gethostname(), os.getpid(), since, self._board, self._token)
        fresh = self._note.with_suffix(f".{self._token[:8]}")
        fresh.write_text(json.dumps(asdict(holder)), encoding="utf-8")
        fresh.chmod(0o644)
        fresh.replace(self._note)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
