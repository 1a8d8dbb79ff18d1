"""Files: read only where they are files, written whole or not at all.

What a user names may be a folder, a pipe, a device, a name that no file can have. What is written
is written beside its place and renamed, so that a full disk or an interrupt leaves the old file or
none, never a half one.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from harness.errors import CannotWrite, HilError, UsageError

#: Nothing that this package reads as a whole comes near; an endless device does.
MOST_BYTES = 1 << 30

#: Seconds that a pipe's reader may take to come.
_PATIENCE = 2.0

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_file(path: Path) -> bool:
    """True for a file, also through links; False for a name that no file can have, too."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """True for a folder; False for a name that no folder can have, too."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def read(path: Path, *, most: int = MOST_BYTES, error: type[HilError] = UsageError) -> bytes:
    """The bytes of a file of at most ``most`` bytes.

    Raises ``error`` in one line for what cannot be read, or is no file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as failed:
        raise error(f"there is no file {path}") from failed
    except OSError as failed:
        raise error(f"cannot read {path}: {failed.strerror}") from failed
    except ValueError as failed:  # a NUL in the name
        raise error(f"cannot read {path}: {failed}") from failed
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            kind = next((name for test, name in _KINDS if test(found.st_mode)), "no file")
            raise error(f"cannot read {path}: it is {kind}")
        if found.st_size > most:
            raise error(f"cannot read {path}: {found.st_size:,} bytes are more than {most:,}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError as failed:
        raise error(f"cannot read {path}: {failed.strerror}") from failed
    finally:
        os.close(handle)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML document. Raises :class:`UsageError` for what cannot be read, or is none."""
    data = read(path)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise UsageError(f"{path}: its tables or arrays are nested too deep") from None
    except ValueError as failed:  # no UTF-8, no TOML, a number of thousands of digits
        raise UsageError(f"{path} is no TOML: {failed}") from failed


def write(path: Path, content: bytes | bytearray | str) -> None:
    """Make ``path`` hold ``content``: all of it, or what it held before.

    What a name of a link points to is replaced, not the link; an existing file keeps its mode. A
    pipe or a device is written as it is. Raises :class:`CannotWrite` that names the file.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        found = path.stat() if path.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            _pour(path, data)
        else:
            _replace(
                Path(os.path.realpath(path)), data, stat.S_IMODE(found.st_mode) if found else None
            )
    except (OSError, ValueError) as failed:
        raise _cannot_write(path, failed) from failed


@contextmanager
def growing(path: Path) -> Iterator[IO[bytes]]:
    """A file that is written and read while something runs, from nothing on.

    An interrupt leaves what there is; raises :class:`CannotWrite` and leaves no file where
    something could not be written.
    """
    try:
        raw = _Growing(path)
    except (OSError, ValueError) as failed:
        raise _cannot_write(path, failed) from failed
    file = io.BufferedRandom(raw)
    try:
        yield file
        file.flush()
    except CannotWrite:
        path.unlink(missing_ok=True)
        raise
    finally:
        with suppress(CannotWrite):  # said already
            file.close()


class _Growing(io.FileIO):
    """A file whose name stands in the error where it cannot be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self._path = path

    def write(self, data: Any, /) -> int:
        """As of any file; raises :class:`CannotWrite`."""
        try:
            return super().write(data)
        except OSError as failed:
            raise _cannot_write(self._path, failed) from failed


def _cannot_write(path: Path, failed: OSError | ValueError) -> CannotWrite:
    why = failed.strerror if isinstance(failed, OSError) else str(failed)
    return CannotWrite(
        f"cannot write {path}: {why or failed}", hint="is the disk full, the folder writable?"
    )


def _pour(place: Path, data: bytes | bytearray) -> None:
    """Write to a pipe or a device; a pipe that nobody opens for reading is not waited for long."""
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            handle = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            break
        except OSError as failed:
            if failed.errno != errno.ENXIO or time.monotonic() >= limit:
                raise
            time.sleep(0.05)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _replace(place: Path, data: bytes | bytearray, mode: int | None) -> None:
    fresh = place.parent / f".tflm-hil-{secrets.token_hex(8)}"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            file.write(data)
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
