"""A cache of built files, named by a hash of what they are made of.

Every entry is a folder that appears whole (it is filled elsewhere, then renamed) and never changes.
So any number of processes may build at once; the loser of a race throws its copy away.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import CannotWrite, EnvironmentMissing

_DRAFT = ".draft-"


def digest(*parts: bytes | str) -> str:
    """A hash of ``parts``; the borders between them count."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:32]


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
    """Entries under one folder.

    A process locks the draft that it fills, and the kernel releases the lock however the process
    ends. So a draft without a lock was left by a killed build, and the next build removes it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._swept = False

    def entry(self, key: str) -> Path | None:
        """The folder of ``key``, or None if it was never made."""
        folder = self.root / key[:2] / key
        return folder if folder.is_dir() else None

    def make(self, key: str, fill: Callable[[Path], None]) -> Path:
        """The folder of ``key``; ``fill`` is called with an empty folder if it must be made.

        Raises :class:`CannotWrite` for a full disk, :class:`EnvironmentMissing` for a cache that
        may not be written.
        """
        existing = self.entry(key)
        if existing is not None:
            return existing
        final = self.root / key[:2] / key
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            self._sweep()
            draft, lock = self._draft(final.parent)
        except OSError as error:
            raise EnvironmentMissing(
                f"cannot write to the build cache {self.root}: {error.strerror}",
                hint="set TFLM_HIL_CACHE to a folder that can be written",
            ) from error
        try:
            fill(draft)
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

    def _draft(self, parent: Path) -> tuple[Path, int]:
        """A new folder and its lock. No other process sweeps between the two steps."""
        with _locked(self.root, fcntl.LOCK_SH):
            draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=parent))
            lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            return draft, lock

    def _sweep(self) -> None:
        """Remove drafts that nobody fills any more, once."""
        if self._swept:
            return
        self._swept = True
        # A process that is about to lock a draft holds the folder: then sweep another time.
        with suppress(BlockingIOError), _locked(self.root, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for draft in self.root.glob(f"*/{_DRAFT}*"):
                with suppress(OSError), _locked(draft, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
