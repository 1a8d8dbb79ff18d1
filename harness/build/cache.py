"""A cache of built files; an entry is valid as long as its inputs are the same.

The key of an entry is a hash of the inputs known before the build: command, compiler, environment,
texts. The files that the build read are known only afterwards, and are listed in a record in the
entry (:mod:`harness.build.inputs`); a key has an entry for each set of inputs.

An entry is a folder that is created atomically (filled elsewhere, then renamed); later only the
time stamps in its record are updated. So any number of processes may build concurrently; if two
build the same entry, the second one discards its copy.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.base import files
from harness.base.errors import BuildFailed, CannotWrite, EnvironmentMissing
from harness.build.inputs import Contents, InputRecord, Inputs, Roots, digest

__all__ = ["Cache", "digest", "tree_digest"]

_log = logging.getLogger(__name__)
_DRAFT = ".draft-"
_RECORD = "inputs.json"
_TRIES = 3


def tree_digest(folders: Iterable[Path]) -> str:
    """A hash of all files in ``folders``, except temporary files of editors and Python."""
    parts: list[bytes | str] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            leftover = path.name.startswith(".") or path.name.endswith("~")
            if files.is_file(path) and not leftover and path.parent.name != "__pycache__":
                parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


class Cache:
    """The entries in a folder; ``roots`` are the folders whose location may change.

    A process locks the draft that it fills, and the kernel releases the lock when the process ends.
    A draft without a lock was left by a killed build; the next build removes it.
    """

    def __init__(
        self, root: Path, roots: Roots | None = None, contents: Contents | None = None
    ) -> None:
        self.root = root
        self._roots = roots or Roots({}, [root])
        self._contents = contents or Contents()
        self._swept = False

    def entry(self, key: str) -> Path | None:
        """The folder of ``key`` for the current inputs, or None."""
        bucket = self.root / key[:2]
        try:
            folders = sorted(path for path in bucket.iterdir() if path.name.startswith(f"{key}-"))
        except OSError:
            return None
        return next(filter(self._holds, folders), None)

    def _holds(self, folder: Path) -> bool:
        try:
            document = json.loads((folder / _RECORD).read_bytes())
            record = InputRecord(document["files"], document["absent"])
            now = record.current(self._roots, self._contents)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not a valid record
            return False
        if now is None:
            return False
        if now.files != {name: tuple(one) for name, one in record.files.items()}:
            with suppress(CannotWrite):  # the files are then hashed again next time
                files.write(folder / _RECORD, now.to_json())
        return True

    def make(self, key: str, fill: Callable[[Path], Inputs | None]) -> Path:
        """The folder of ``key``; if there is none, ``fill`` is called with an empty folder.

        ``fill`` returns the inputs that are not part of ``key``. Raises :class:`BuildFailed` if
        these changed during each of several attempts, :class:`CannotWrite` for a full disk,
        :class:`EnvironmentMissing` for a cache that is not writable.
        """
        existing = self.entry(key)
        if existing is not None:
            return existing
        changed = ""
        for _ in range(_TRIES):
            try:
                return self._make(key, fill)
            except _Changed as error:
                changed = str(error)
                _log.info("%s changed during the build: building again", changed)
        raise BuildFailed(f"{changed} changed during the build, {_TRIES} times")

    def _make(self, key: str, fill: Callable[[Path], Inputs | None]) -> Path:
        bucket = self.root / key[:2]
        try:
            bucket.mkdir(parents=True, exist_ok=True)
            self._sweep()
            draft, lock = self._draft(bucket)
        except OSError as error:
            raise EnvironmentMissing(
                f"cannot write to the build cache {self.root}: {error.strerror}",
                hint="set TFLM_HIL_CACHE to a writable folder",
            ) from error
        try:
            begun = draft.stat().st_ctime_ns
            record = self._recorded(fill(draft) or Inputs(), begun)
            (draft / _RECORD).write_text(record.to_json(), encoding="utf-8")
            final = bucket / f"{key}-{record.digest}"
            try:
                draft.rename(final)
            except OSError:
                if not files.is_folder(final):  # otherwise another process has created it meanwhile
                    raise
        except OSError as error:
            raise CannotWrite(
                f"cannot write {error.filename or draft}: {error.strerror}",
                hint="check the free space of the disk; TFLM_HIL_CACHE sets another folder",
            ) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            os.close(lock)
        return final

    def _recorded(self, inputs: Inputs, begun: int) -> InputRecord:
        """The record of ``inputs``. Raises :class:`_Changed` for a file changed after ``begun``."""
        try:
            record = InputRecord.of(inputs, self._roots, self._contents)
            for name in record.files:
                path = Path(self._roots.path(name))
                if path.stat().st_ctime_ns > begun:
                    raise _Changed(path)
        except FileNotFoundError as error:
            raise _Changed(error.filename) from error
        return record

    def _draft(self, parent: Path) -> tuple[Path, int]:
        """A new, locked folder and the handle of its lock.

        The shared lock on the cache prevents other processes from removing it before it is locked.
        """
        with locked(self.root, fcntl.LOCK_SH):
            draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=parent))
            lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            return draft, lock

    def _sweep(self) -> None:
        """Removes drafts of killed builds, once."""
        if self._swept:
            return
        self._swept = True
        # BlockingIOError: another process is creating a draft.
        with suppress(BlockingIOError), locked(self.root, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for draft in self.root.glob(f"*/{_DRAFT}*"):
                with suppress(OSError), locked(draft, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(draft, ignore_errors=True)


class _Changed(Exception):
    """A file has changed since it was read."""


@contextmanager
def locked(folder: Path, how: int) -> Iterator[None]:
    """Holds a lock on ``folder`` during the block; ``how`` is a flag of flock (``LOCK_EX``)."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
