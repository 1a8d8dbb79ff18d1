"""A cache of built files: an entry holds as long as its inputs are the same.

An entry's key is a hash of the facts known before the build: command, compiler, environment, texts.
The files that the build read are known afterwards only, and stand in a record in the entry
(:mod:`harness.build.inputs`): one key has an entry for each set of inputs that it met.

Every entry is a folder that appears whole (it is filled elsewhere, then renamed); only the file
stamps in its record are brought up to date. So any number of processes may build at once; the loser
of a race throws its copy away.
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
    """A hash of all files under ``folders``, except those that editors and Python leave."""
    parts: list[bytes | str] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            leftover = path.name.startswith(".") or path.name.endswith("~")
            if path.is_file() and not leftover and path.parent.name != "__pycache__":
                parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


class Cache:
    """Entries under one folder; ``roots`` name the folders that may lie elsewhere next time.

    A process locks the draft that it fills, and the kernel releases the lock however the process
    ends. So a draft without a lock was left by a killed build, and the next build removes it.
    """

    def __init__(
        self, root: Path, roots: Roots | None = None, contents: Contents | None = None
    ) -> None:
        self.root = root
        self._roots = roots or Roots({}, [root])
        self._contents = contents or Contents()
        self._swept = False

    def entry(self, key: str) -> Path | None:
        """The folder made for ``key`` from inputs as they are now, or None if there is none."""
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
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not a record of ours
            return False
        if now is None:
            return False
        if now.files != {name: tuple(one) for name, one in record.files.items()}:
            with suppress(CannotWrite):  # next time, reading the files again gives the same answer
                files.write(folder / _RECORD, now.to_json())
        return True

    def make(self, key: str, fill: Callable[[Path], Inputs | None]) -> Path:
        """The folder of ``key``; ``fill`` is called with an empty folder if it must be made.

        It returns the inputs that ``key`` does not stand for. Raises
        :class:`BuildFailed` if that changed while it was read, again and again,
        :class:`CannotWrite` for a full disk, :class:`EnvironmentMissing` for a cache that may not
        be written.
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
                _log.info("%s changed while it was read: once more", changed)
        raise BuildFailed(f"{changed} changed while it was built, {_TRIES} times")

    def _make(self, key: str, fill: Callable[[Path], Inputs | None]) -> Path:
        bucket = self.root / key[:2]
        try:
            bucket.mkdir(parents=True, exist_ok=True)
            self._sweep()
            draft, lock = self._draft(bucket)
        except OSError as error:
            raise EnvironmentMissing(
                f"cannot write to the build cache {self.root}: {error.strerror}",
                hint="set TFLM_HIL_CACHE to a folder that can be written",
            ) from error
        try:
            begun = draft.stat().st_ctime_ns
            record = self._recorded(fill(draft) or Inputs(), begun)
            (draft / _RECORD).write_text(record.to_json(), encoding="utf-8")
            final = bucket / f"{key}-{record.digest}"
            try:
                draft.rename(final)
            except OSError:
                if not final.is_dir():  # otherwise another process made it meanwhile
                    raise
        except OSError as error:
            raise CannotWrite(
                f"cannot write {error.filename or draft}: {error.strerror}",
                hint="is the disk full? TFLM_HIL_CACHE moves the build cache",
            ) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            os.close(lock)
        return final

    def _recorded(self, inputs: Inputs, begun: int) -> InputRecord:
        """The record of ``inputs``. Raises :class:`_Changed` for a file younger than ``begun``."""
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
        """A new folder and its lock. No other process sweeps between the two steps."""
        with locked(self.root, fcntl.LOCK_SH):
            draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=parent))
            lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            return draft, lock

    def _sweep(self) -> None:
        """Remove drafts of builds that have ended, once."""
        if self._swept:
            return
        self._swept = True
        # A process that is about to lock a draft holds the folder: then sweep another time.
        with suppress(BlockingIOError), locked(self.root, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for draft in self.root.glob(f"*/{_DRAFT}*"):
                with suppress(OSError), locked(draft, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(draft, ignore_errors=True)


class _Changed(Exception):
    """A file changed between the time when it was read and now."""


@contextmanager
def locked(folder: Path, how: int) -> Iterator[None]:
    """Hold a lock on ``folder``, ``fcntl.LOCK_EX`` or another kind, against other processes."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
