"""Installation of the pinned Renode into the cache: fetch, check, unpack, try, move into place.

A failed or interrupted attempt leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import tarfile
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

from filelock import FileLock

from harness.base import files
from harness.base.errors import CannotWrite, EnvironmentMissing
from harness.targets.renode import find
from harness.targets.renode.archives import PINNED, Archive, shown

if not hasattr(tarfile, "data_filter"):  # before Python 3.11.4, such as Debian 12's
    from backports import tarfile  # type: ignore[no-redef]

#: Called with the bytes received so far.
Progress = Callable[[int], None]

_PIECE = 1 << 18  # bytes
_MOST_BYTES = 1 << 30  # of an archive of unknown size
_PATIENCE = 30.0  # wall-clock seconds that a server may be silent
_STAGING = ".new-"  # prefix of the folder of an unfinished installation


def install(
    archive: Archive, *, file: Path | None = None, progress: Progress = lambda _: None
) -> Path:
    """Install ``archive``, from ``file`` or from its address; return the program's path.

    An installed Renode that runs is kept. Raises :class:`EnvironmentMissing` if the archive cannot
    be fetched, has another hash, or does not run here, :class:`CannotWrite` for a full disk,
    :class:`UsageError` for a ``file`` that cannot be read.
    """
    program = find.installed()
    place, home = program.parent, program.parent.parent
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):
            for leftover in home.glob(f"{_STAGING}*"):  # of a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            if not _runs(program):
                packed = files.read(file) if file else _download(archive, progress)
                _check(archive, packed)
                with TemporaryDirectory(prefix=_STAGING, dir=home) as folder:
                    tree = _unpack(archive, packed, Path(folder))
                    shutil.rmtree(place, ignore_errors=True)
                    tree.rename(place)
    except OSError as error:
        raise CannotWrite(
            f"cannot write {error.filename or home}: {error.strerror or error}",
            hint="is the disk full, the folder writable? TFLM_HIL_CACHE names another folder",
        ) from error
    return program


def _runs(program: Path) -> bool:
    with contextlib.suppress(EnvironmentMissing):
        return find.examine(program).version == PINNED
    return False


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows no redirect away from HTTPS, which all addresses in archives.toml have."""

    def redirect_request(self, req: Any, *rest: Any) -> Any:
        new = rest[-1]
        if urlsplit(new).scheme != "https":
            raise URLError(f"it leads to {new}, which is not HTTPS")
        return super().redirect_request(req, *rest)


def _download(archive: Archive, progress: Progress) -> bytes:
    """Return what the archive's address gives, up to a piece more than its size."""
    received, size = bytearray(), archive.size or _MOST_BYTES
    try:
        web = urllib.request.build_opener(_OnlyHttps)
        with web.open(archive.url, timeout=_PATIENCE) as answer:
            while len(received) <= size and (piece := answer.read(_PIECE)):
                received += piece
                progress(len(received))
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if type(error) is URLError else error
        raise EnvironmentMissing(
            f"cannot fetch {archive.url}: {str(reason).strip()}",
            hint="try again later, or fetch it elsewhere and pass --archive FILE",
        ) from error
    return bytes(received)


def _check(archive: Archive, packed: bytes) -> None:
    digest = hashlib.sha256(packed).hexdigest()
    if digest != archive.sha256:
        size = f"{len(packed):,} of {archive.size:,}" if archive.size else f"{len(packed):,}"
        raise EnvironmentMissing(
            f"this is not the pinned {archive.name}: {size} bytes have the SHA-256 {digest}",
            hint=f"get {archive.url} (SHA-256 {archive.sha256})",
        )


def _unpack(archive: Archive, packed: bytes, folder: Path) -> Path:
    """Unpack to ``folder``, and return the part with the program, which is tried."""
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
            tar.extractall(folder, filter="data")  # refuses files and links outside
    except tarfile.TarError as error:
        raise EnvironmentMissing(f"{archive.name} cannot be unpacked: {error}") from error
    found = find.examine(next(folder.glob("*/renode"), folder / "renode"))
    if found.version != PINNED:
        raise EnvironmentMissing(
            f"{archive.name} holds Renode {shown(found.version)}, not {shown(PINNED)}"
        )
    return found.path.parent
