"""The state folder shared by all users of a bench: locks, holders, quarantine notes.

Every user can create files in it, so its content is not trusted: files are opened relative to an
open handle of the folder; symbolic links, pipes, devices, folders, files with several hard links,
and files larger than a note are refused. The folder is sticky: users cannot remove or replace files
of others. Therefore a note is written in place, and an empty file counts as no note.
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
_MAX_BYTES = 64 * 1024
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Number of attempts to read a note that may be half written, and the seconds between them.
_TRIES, _PAUSE = 20, 0.01


class StateFolder:
    """The shared folder: ``named`` in a lab file, ``$TFLM_HIL_LAB_STATE``, or one in /tmp.

    The methods raise :class:`BoardUnavailable` if it, or a file in it, cannot be used safely.
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
            data = os.read(handle, _MAX_BYTES + 1)
        finally:
            os.close(handle)
        return data.decode("utf-8", "backslashreplace").strip("\0\n")

    def read_note(self, name: str) -> Mapping[str, Any] | None:
        """The fields of a note, None if there is none. Raises ValueError for an invalid note."""
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
        raise ValueError(f"{self.path / name} is not a valid note")

    def write_note(self, name: str, note: Any) -> None:
        """Writes the fields of the dataclass ``note``, for :meth:`read_note`."""
        self.write(name, json.dumps(asdict(note)))

    def write(self, name: str, text: str) -> None:
        """Writes ``text`` to the file, which any user may own."""
        handle = self.open(name)
        try:
            data = text.encode("utf-8", "backslashreplace")
            os.pwrite(handle, data, 0)
            os.ftruncate(handle, len(data))  # after writing: an empty file would count as removed
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(handle)

    def remove(self, name: str) -> None:
        """Removes the file, or empties it if another user owns it."""
        with self._folder(name) as folder:
            try:
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                return
            except (PermissionError, IsADirectoryError):
                self.write(name, "")

    def open(self, name: str) -> int:
        """An open handle of a file that all users may write, which is created if needed."""
        for _ in range(_TRIES):
            # Two steps: the kernel refuses O_CREAT of another user's file in a sticky folder.
            with suppress(FileNotFoundError):
                return self._open(name, os.O_RDWR)
            with suppress(FileExistsError):
                return self._create(name)
        raise self._refused(name, "it is created and removed repeatedly")

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
        """The open folder; turns errors about its file ``name`` into :class:`BoardUnavailable`.

        FileExistsError and FileNotFoundError are passed on.
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
            hint="choose another folder: `state` in lab.toml, or TFLM_HIL_LAB_STATE",
        )

    def _refused(self, name: str, reason: str) -> BoardUnavailable:
        return BoardUnavailable(
            f"cannot use {self.path / name}: {reason}",
            hint="remove it, or choose another folder: `state` in lab.toml",
        )


def fresh_name(stem: str, suffix: str) -> str:
    """A random, unused file name."""
    return f"{stem}.{secrets.token_hex(4)}{suffix}"


def _problem(status: os.stat_result) -> str:
    """The reason not to trust a file, or an empty string."""
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_nlink > 1:
        return "it has more than one hard link"
    if status.st_size > _MAX_BYTES:
        return f"it is too large for a note ({status.st_size:,} bytes)"
    return ""
