"""A cache of built files, named by what they are made of.

Every entry is a folder that appears whole (written beside, then renamed) and never changes, so
that any number of processes may build at once; the loser of a race throws its copy away.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.errors import EnvironmentMissing


def digest(*parts: bytes | str) -> str:
    """A name for the sum of ``parts``; borders between them count."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:32]


def tree_digest(folders: Iterable[Path]) -> str:
    """Names and contents of all files under ``folders``, but for what editors and Python leave."""
    parts: list[bytes | str] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            leftover = path.name.startswith(".") or path.name.endswith("~")
            if path.is_file() and not leftover and path.parent.name != "__pycache__":
                parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


class Cache:
    """Entries under one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def entry(self, key: str) -> Path | None:
        """The folder of ``key``, or None where it was never made."""
        folder = self.root / key[:2] / key
        return folder if folder.is_dir() else None

    def make(self, key: str, fill: Callable[[Path], None]) -> Path:
        """The folder of ``key``; ``fill`` is called with an empty folder if it must be made."""
        found = self.entry(key)
        if found is not None:
            return found
        final = self.root / key[:2] / key
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=final.parent))
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
                if not final.is_dir():  # not a race that another process won
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return final
