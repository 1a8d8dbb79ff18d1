"""The folder that all users of a bench share: locks, and notes on who holds a board.

Anybody may make files in it, so nothing in it is trusted: it is opened once, and every file through
that handle, never through a link, never a pipe, a device, a folder, a file with a second name, or
one that is larger than a note. It is sticky: nobody can remove or replace another user's files. A
note is therefore written in place, by whoever it is for, and an empty file is no note.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.errors import BoardUnavailable

_SHARED = 0o1777
_NOTE = 0o666
_MOST_BYTES = 64 * 1024
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: A note that is being written does not parse; it does a moment later.
_TRIES, _PAUSE = 20, 0.01


class StateFolder:
    """The shared folder. ``named`` by a lab file, else ``$TFLM_HIL_LAB_STATE``, else one in /tmp.

    Raises :class:`BoardUnavailable` in one sentence where it, or a file in it, cannot be trusted.
    """

    def __init__(self, named: Path | None = None) -> None:
        chosen = named or (Path(v) if (v := os.environ.get("TFLM_HIL_LAB_STATE")) else None)
        self.path = chosen or Path(tempfile.gettempdir()) / "tflm-hil-lab"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = self._open_folder()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise self._unusable(f"{why}") from error
        os.close(handle)

    def _open_folder(self) -> int:
        made = False
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
            made = True
        if self.path.is_symlink():
            raise self._unusable("it is a link")
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._check_folder(handle, made=made)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _check_folder(self, handle: int, *, made: bool) -> None:
        found = os.fstat(handle)
        mode = stat.S_IMODE(found.st_mode)
        mine = found.st_uid == os.geteuid()
        if made:
            os.fchmod(handle, _SHARED)
        elif mode & 0o022 and not mode & stat.S_ISVTX:
            if not mine:
                raise self._unusable(
                    f"others may replace files in it; its owner (user {found.st_uid}) has to"
                    f" run: chmod +t {self.path}"
                )
            os.fchmod(handle, mode | stat.S_ISVTX)
        elif not mine and found.st_uid != 0 and not mode & 0o022:
            raise self._unusable(f"it belongs to user {found.st_uid} and is not shared")

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
        for attempt in range(_TRIES):
            text = self.read(name)
            if not text:
                return None
            try:
                found = json.loads(text)
            except (ValueError, RecursionError) as error:
                if attempt + 1 == _TRIES:
                    raise ValueError(f"{self.path / name} is garbled") from error
                time.sleep(_PAUSE)
            else:
                if not isinstance(found, dict):
                    raise ValueError(f"{self.path / name} is garbled")
                return found
        return None

    def write(self, name: str, text: str) -> None:
        """Make the file hold ``text``, whoever made it."""
        handle = self.open(name)
        try:
            data = text.encode("utf-8", "backslashreplace")
            os.pwrite(handle, data, 0)
            os.ftruncate(handle, len(data))  # after it: an empty file would be no note
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(handle)

    def remove(self, name: str) -> None:
        """Remove the file, or empty it where another user made it."""
        folder = self._folder()
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return
        except (PermissionError, IsADirectoryError):
            self.write(name, "")
        finally:
            os.close(folder)

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
        folder = self._folder()
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=folder)
            os.fchmod(handle, _NOTE)
        except FileExistsError:
            raise
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(folder)
        return handle

    def _open(self, name: str, how: int) -> int:
        """An existing file. Raises FileNotFoundError if there is none."""
        folder = self._folder()
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if problem := _problem(found):
                raise self._refused(name, problem)
            handle = os.open(name, how | _OPEN, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._refused(name, error.strerror or str(error)) from error
        finally:
            os.close(folder)
        if problem := _problem(os.fstat(handle)):  # it may have been replaced meanwhile
            os.close(handle)
            raise self._refused(name, problem)
        return handle

    def _folder(self) -> int:
        try:
            return self._open_folder()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def _unusable(self, why: str) -> BoardUnavailable:
        return BoardUnavailable(
            f"cannot use {self.path} for board locks: {why}",
            hint="name another folder: `state` in lab.toml, or TFLM_HIL_LAB_STATE",
        )

    def _refused(self, name: str, why: str) -> BoardUnavailable:
        return BoardUnavailable(
            f"cannot use {self.path / name}: {why}",
            hint="who made it? remove it, or name another folder: `state` in lab.toml",
        )


def fresh_name(stem: str, suffix: str) -> str:
    """A name that no file has yet."""
    return f"{stem}.{secrets.token_hex(4)}{suffix}"


def _problem(found: os.stat_result) -> str:
    """Why a file is none of ours, or an empty string."""
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISREG(found.st_mode):
        return "it is no file"
    if found.st_nlink > 1:
        return "it has a second name"
    if found.st_size > _MOST_BYTES:
        return f"it is larger than any note ({found.st_size:,} bytes)"
    return ""
