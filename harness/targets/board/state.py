"""The folder that all users of a bench share: locks, and notes on who holds a board.

Anybody may make files in it, so nothing in it is trusted: it is opened once, and every file through
that handle. Links, pipes, devices, folders, files with a second name, and files larger than a note
are refused. The folder is sticky: no user can remove or replace files of others. So a note is
written in place, and an empty file is not a note.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.base.errors import BoardUnavailable

_SHARED = 0o1777
_NOTE = 0o666
_MOST_BYTES = 64 * 1024
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: How often, and how many seconds apart, to read a note that may be half written.
_TRIES, _PAUSE = 20, 0.01


class StateFolder:
    """The shared folder. ``named`` by a lab file, else ``$TFLM_HIL_LAB_STATE``, else one in /tmp.

    Raises :class:`BoardUnavailable` if it, or a file in it, cannot be trusted.
    """

    def __init__(self, named: Path | None = None) -> None:
        chosen = named or (Path(v) if (v := os.environ.get("TFLM_HIL_LAB_STATE")) else None)
        self.path = chosen or Path(tempfile.gettempdir()) / "tflm-hil-lab"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = self._open_folder()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise self._unusable(f"{reason}") from error
        os.close(handle)

    def _open_folder(self) -> int:
        created = False
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
            created = True
        if self.path.is_symlink():
            raise self._unusable("it is a link")
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._check_folder(handle, created=created)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _check_folder(self, handle: int, *, created: bool) -> None:
        status = os.fstat(handle)
        mode = stat.S_IMODE(status.st_mode)
        mine = status.st_uid == os.geteuid()
        if created:
            os.fchmod(handle, _SHARED)
        elif mode & 0o022 and not mode & stat.S_ISVTX:
            if not mine:
                raise self._unusable(
                    f"others may replace files in it; its owner (user {status.st_uid}) has to"
                    f" run: chmod +t {self.path}"
                )
            os.fchmod(handle, mode | stat.S_ISVTX)
        elif not mine and status.st_uid != 0 and not mode & 0o022:
            raise self._unusable(f"it belongs to user {status.st_uid} and is not shared")

    def read(self, name: str) -> str:
        """The text of a file; empty if there is none."""
        try:
            handle = self._open(name, os.O_RDONLY)
        except FileNotFoundError:
            return ""
        try:
            data = os.read(handle, _MOST_BYTES + 1)
        finally:
            os.close(handle)
        return data.decode("utf-8", "backslashreplace").strip("\0\n")

    def read_note(self, name: str) -> Mapping[str, Any] | None:
        """A note, None if there is none. Raises ValueError for one that is garbled."""
        for _ in range(_TRIES):
            text = self.read(name)
            if not text:
                return None
            with suppress(ValueError, RecursionError):
                note = json.loads(text)
                if isinstance(note, dict):
                    return note
                break
            time.sleep(_PAUSE)
        raise ValueError(f"{self.path / name} is garbled")

    def write_note(self, name: str, note: Any) -> None:
        """Write the fields of a dataclass as the note that :meth:`read_note` gives."""
        self.write(name, json.dumps(asdict(note)))

    def write(self, name: str, text: str) -> None:
        """Write ``text`` to the file, whoever owns it."""
        handle = self.open(name)
        try:
            data = text.encode("utf-8", "backslashreplace")
            os.pwrite(handle, data, 0)
            os.ftruncate(handle, len(data))  # afterwards, so that the file is never empty
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(handle)

    def remove(self, name: str) -> None:
        """Remove the file, or empty it if another user owns it."""
        with self._folder(name) as folder:
            try:
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                return
            except (PermissionError, IsADirectoryError):
                self.write(name, "")

    def open(self, name: str) -> int:
        """A file that all users may write, made if there is none; the handle is the caller's."""
        for _ in range(_TRIES):
            # Two steps: the kernel refuses O_CREAT of another user's file in a sticky folder.
            with suppress(FileNotFoundError):
                return self._open(name, os.O_RDWR)
            with suppress(FileExistsError):
                return self._create(name)
        raise self._refused(name, "it comes and goes")

    def _create(self, name: str) -> int:
        with self._folder(name) as folder:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=folder)
            os.fchmod(handle, _NOTE)
        return handle

    def _open(self, name: str, how: int) -> int:
        """An existing file. Raises FileNotFoundError if there is none."""
        with self._folder(name) as folder:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if problem := _problem(status):
                raise self._refused(name, problem)
            handle = os.open(name, how | _OPEN, dir_fd=folder)
        if problem := _problem(os.fstat(handle)):  # it may have been replaced meanwhile
            os.close(handle)
            raise self._refused(name, problem)
        return handle

    @contextmanager
    def _folder(self, name: str) -> Iterator[int]:
        """The open folder; an error about its file ``name`` is :class:`BoardUnavailable`.

        That the file exists, or does not, is left to the caller.
        """
        try:
            folder = self._open_folder()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        try:
            yield folder
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(folder)

    def _unusable(self, reason: str) -> BoardUnavailable:
        return BoardUnavailable(
            f"cannot use {self.path} for board locks: {reason}",
            hint="name another folder: `state` in lab.toml, or TFLM_HIL_LAB_STATE",
        )

    def _refused(self, name: str, reason: str) -> BoardUnavailable:
        return BoardUnavailable(
            f"cannot use {self.path / name}: {reason}",
            hint="who made it? remove it, or name another folder: `state` in lab.toml",
        )


def fresh_name(stem: str, suffix: str) -> str:
    """A name that no file has yet."""
    return f"{stem}.{secrets.token_hex(4)}{suffix}"


def _problem(status: os.stat_result) -> str:
    """Why a file cannot be trusted, or an empty string."""
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_nlink > 1:
        return "it has a second name"
    if status.st_size > _MOST_BYTES:
        return f"it is larger than any note ({status.st_size:,} bytes)"
    return ""
