"""Files: only regular files are read, and files are written completely or not at all.

A path from a user may be a folder, a pipe, a device, or a name that no file can have. A file is
written under another name and renamed, so that a full disk or an interrupt leaves the old file or
none, never a part.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from harness.base.errors import CannotWrite, HilError, UsageError

#: The largest file that is read, in bytes: 1 GiB, far more than any input has.
MOST_BYTES = 1 << 30

#: Seconds to wait for a reader to open a pipe.
_PIPE_SECONDS = 2.0

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_file(path: Path) -> bool:
    """True for a regular file or a link to one; False for a name that no file can have."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """True for a folder or a link to one; False for a name that no folder can have."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def read(path: Path, *, most: int = MOST_BYTES, error: type[HilError] = UsageError) -> bytes:
    """The bytes of a file of at most ``most`` bytes.

    Raises ``error``, with a message of one line, if it cannot be read or is not a regular file.
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
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = next((name for test, name in _KINDS if test(status.st_mode)), "not a file")
            raise error(f"cannot read {path}: it is {kind}")
        if status.st_size > most:
            raise error(f"cannot read {path}: {status.st_size:,} bytes are more than {most:,}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError as failed:
        raise error(f"cannot read {path}: {failed.strerror}") from failed
    finally:
        os.close(handle)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML document. Raises :class:`UsageError` if it cannot be read or is not TOML."""
    data = read(path)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise UsageError(f"{path}: its tables or arrays are nested too deeply") from None
    except ValueError as failed:  # not UTF-8, not TOML, a number of thousands of digits
        raise UsageError(f"{path} is not TOML: {failed}") from failed


def write(path: Path, content: bytes | bytearray | str) -> None:
    """Write ``content`` to ``path``: all of it, or the file stays as it is.

    If ``path`` is a link, its target is replaced. An existing file keeps its mode. A pipe or a
    device is opened and written to. Raises :class:`CannotWrite`, which names the file.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    write_parts(path, [data])


def write_parts(path: Path, parts: Iterable[bytes | bytearray]) -> None:
    """Write a file from parts as :func:`write` does, with one part in memory at a time."""
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            _write_into(path, parts)
        else:
            own_mode = stat.S_IMODE(mode) if mode is not None else None
            _replace(Path(os.path.realpath(path)), parts, own_mode)
    except (OSError, ValueError) as failed:
        raise _cannot_write(path, failed) from failed


def remove(path: Path) -> None:
    """Remove a file, if there is one. Raises :class:`CannotWrite`."""
    try:
        path.unlink(missing_ok=True)
    except OSError as failed:
        raise CannotWrite(f"cannot remove {path}: {failed.strerror}") from failed


@contextmanager
def growing(path: Path) -> Iterator[IO[bytes]]:
    """Create a file for writing and reading during a run.

    An interrupt leaves the written part. If writing fails, this raises :class:`CannotWrite` and
    leaves no file.
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
        with suppress(CannotWrite):  # already raised
            file.close()


class _Growing(io.FileIO):
    """A file whose failed writes raise :class:`CannotWrite` with its path."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self._path = path

    def write(self, data: Any, /) -> int:
        """Write ``data``. Raises :class:`CannotWrite`."""
        try:
            return super().write(data)
        except OSError as failed:
            raise _cannot_write(self._path, failed) from failed


def _cannot_write(path: Path, failed: OSError | ValueError) -> CannotWrite:
    reason = failed.strerror if isinstance(failed, OSError) else str(failed)
    return CannotWrite(
        f"cannot write {path}: {reason or failed}", hint="is the disk full, the folder writable?"
    )


def _write_into(path: Path, parts: Iterable[bytes | bytearray]) -> None:
    """Write to a pipe or a device; waits a short time for the reader of a pipe."""
    limit = time.monotonic() + _PIPE_SECONDS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            break
        except OSError as failed:
            if failed.errno != errno.ENXIO or time.monotonic() >= limit:
                raise
            time.sleep(0.05)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.writelines(parts)


def _replace(path: Path, parts: Iterable[bytes | bytearray], mode: int | None) -> None:
    draft = path.parent / f".tflm-hil-{secrets.token_hex(8)}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            file.writelines(parts)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
