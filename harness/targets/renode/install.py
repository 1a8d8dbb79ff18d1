"""Installation of a pinned Renode into the cache: fetch, check, unpack, try, move into place.

A failed or interrupted attempt leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import ssl
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from filelock import FileLock

from harness.base import files
from harness.base.errors import CannotWrite, EnvironmentMissing, HilError, UsageError
from harness.targets.renode import find
from harness.targets.renode.releases import ARCHIVES, PINNED, Archive, Version, shown

if not hasattr(tarfile, "data_filter"):  # before Python 3.11.4, such as Debian 12's
    from backports import tarfile  # type: ignore[no-redef]

#: Called with the bytes received so far and in total (0: unknown).
Progress = Callable[[int, int], None]

_PIECE = 1 << 18  # bytes
_MOST_BYTES = 1 << 30  # of an archive of unknown size
_MOST_UNPACKED = 4 << 30  # bytes
_MOST_FILES = 100_000
_PATIENCE = 30.0  # wall-clock seconds that a server may be silent
_TRUSTED = 2  # independent sources of a hash that make it trusted
_STAGING = ".new-"  # prefix of the folder of an unfinished installation
_BY_HAND = "install it by hand (renode.io) and set RENODE to its path"


class _NotAllowed(HilError):
    """A redirect to a scheme that is not allowed."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the allowed schemes only, so that HTTPS stays HTTPS."""

    def __init__(self, schemes: Sequence[str]) -> None:
        self._schemes = schemes

    def redirect_request(self, req: Any, *rest: Any) -> Any:
        new = str(rest[-1])
        if urlsplit(new).scheme not in self._schemes:
            raise _NotAllowed(f"{req.full_url} leads to {new}, which is not {self._schemes[0]}")
        return super().redirect_request(req, *rest)


def opener(
    schemes: Sequence[str] = ("https",), context: ssl.SSLContext | None = None
) -> urllib.request.OpenerDirector:
    """Return an opener that checks certificates and accepts addresses of ``schemes`` only."""
    context = context or ssl.create_default_context()
    return urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=context), _Redirects(schemes)
    )


def archive_for(
    version: Version = PINNED,
    *,
    archives: Sequence[Archive] = ARCHIVES,
    system: str = "",
    machine: str = "",
    unconfirmed: bool = False,
) -> Archive:
    """Return the archive of ``version`` for this machine.

    Raises :class:`UsageError` for a version that is not pinned, and :class:`EnvironmentMissing`
    if there is no archive for this machine, or it cannot be installed.
    """
    versions = sorted({archive.version for archive in archives}, reverse=True)
    if version not in versions:
        names = ", ".join(map(shown, versions))
        raise UsageError(f"Renode {shown(version)} is not pinned", hint=f"pinned are: {names}")
    system, machine = system or platform.system(), machine or platform.machine()
    host = f"{system} on {machine}"
    for archive in archives:
        if (archive.version, archive.system, archive.machine) == (version, system, machine):
            break
    else:
        raise EnvironmentMissing(
            f"there is no pinned archive of Renode {shown(version)} for {host}",
            hint=_BY_HAND,
        )
    if not archive.name.endswith(".tar.gz"):
        raise EnvironmentMissing(
            f"Renode {shown(version)} for {host} is a disk image, which only its user can open",
            hint=f"get {archive.url} (SHA-256 {archive.sha256}), set RENODE to the program in it",
        )
    if archive.confirmed < _TRUSTED and not unconfirmed:
        raise EnvironmentMissing(
            f"only {archive.confirmed} source confirms the SHA-256 of {archive.name}",
            hint=f"compare {archive.sha256} with a source that you trust, then add --unconfirmed",
        )
    return archive


def check_libc(name: str = "CS_GNU_LIBC_VERSION") -> None:
    """Raise :class:`EnvironmentMissing` on a Linux whose C library is not glibc (musl)."""
    if platform.system() != "Linux":
        return
    try:
        libc = os.confstr(name)
    except (ValueError, OSError):
        libc = None
    if not libc:
        raise EnvironmentMissing(
            "Renode needs glibc, and this system has another C library (musl?)",
            hint="run in a container of Debian or Ubuntu",
        )


def install(
    archive: Archive,
    *,
    file: Path | None = None,
    progress: Progress = lambda done, total: None,
    web: urllib.request.OpenerDirector | None = None,
) -> Path:
    """Install ``archive``, from ``file`` or from its address; return the program's path.

    An installed Renode that runs is kept. Raises :class:`EnvironmentMissing` if the archive cannot
    be fetched, has another hash, or does not run here, :class:`CannotWrite` for a full disk,
    :class:`UsageError` for a ``file`` that cannot be read.
    """
    home = find.home()
    folder_of_version = home / shown(archive.version)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):
            for leftover in home.glob(f"{_STAGING}*"):  # of a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            if _runs(folder_of_version / "renode", archive):
                return folder_of_version / "renode"
            folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=home))
            try:
                _make(archive, folder, _source(archive, file, web), progress)
                shutil.rmtree(folder_of_version, ignore_errors=True)
                (folder / "tree").rename(folder_of_version)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        where = error.filename or home
        raise CannotWrite(
            f"cannot write {where}: {error.strerror or error}",
            hint="is the disk full, the folder writable? TFLM_HIL_CACHE names another folder",
        ) from error
    return folder_of_version / "renode"


def _make(archive: Archive, folder: Path, pieces: Iterator[bytes], progress: Progress) -> None:
    """Unpack a Renode to ``folder``/tree and check that it runs."""
    packed = folder / archive.name
    _keep(archive, packed, pieces, progress)
    tree = _unpack(packed, folder / "unpacked")
    packed.unlink()
    tree.rename(folder / "tree")
    program = find.examine(folder / "tree" / "renode")
    if program.version != archive.version:
        raise EnvironmentMissing(
            f"{archive.name} holds Renode {shown(program.version)}, not {shown(archive.version)}"
        )


def _runs(program: Path, archive: Archive) -> bool:
    with contextlib.suppress(EnvironmentMissing):
        return files.is_file(program) and find.examine(program).version == archive.version
    return False


def _source(
    archive: Archive, file: Path | None, web: urllib.request.OpenerDirector | None
) -> Iterator[bytes]:
    if file is None:
        return _download(archive, web or opener())
    return _read(file)


def _read(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as source:
            yield from _pieces(source)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error


def _pieces(source: IO[bytes]) -> Iterator[bytes]:
    while piece := source.read(_PIECE):
        yield piece


def _download(archive: Archive, web: urllib.request.OpenerDirector) -> Iterator[bytes]:
    hint = "try again later, or fetch it elsewhere and pass --archive FILE"
    try:
        # The address is a constant of this package, and the opener follows allowed schemes only.
        with web.open(archive.url, timeout=_PATIENCE) as answer:
            yield from _pieces(answer)
    except _NotAllowed as error:
        raise EnvironmentMissing(error.message, hint=hint) from error
    except urllib.error.HTTPError as error:
        message = f"{archive.url}: the server answers {error.code} {error.reason}"
        raise EnvironmentMissing(message, hint=hint) from error
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "reason", None) or error
        message = f"cannot fetch {archive.url}: {reason or type(error).__name__}"
        raise EnvironmentMissing(message, hint=hint) from error
    except HTTPException as error:
        message = f"cannot fetch {archive.url}: the answer broke off ({error!r})"
        raise EnvironmentMissing(message, hint=hint) from error


def _keep(archive: Archive, path: Path, pieces: Iterable[bytes], progress: Progress) -> None:
    """Write ``pieces`` to ``path``, and check their size and hash."""
    digest, size = hashlib.sha256(), 0
    most = archive.size or _MOST_BYTES
    with path.open("wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > most:
                raise _other(archive, f"is larger than {most:,} bytes")
            digest.update(piece)
            file.write(piece)
            progress(size, archive.size)
    if archive.size and size < archive.size:
        raise _other(archive, f"ends after {size:,} of {archive.size:,} bytes")
    if digest.hexdigest() != archive.sha256:
        raise _other(archive, f"has the SHA-256 {digest.hexdigest()}, pinned is {archive.sha256}")


def _other(archive: Archive, difference: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"this is not the pinned {archive.name}: it {difference}",
        hint=f"get the pinned one from {archive.url}",
    )


def _unpack(packed: Path, folder: Path) -> Path:
    """Unpack an archive to ``folder`` and return its only folder with a program ``renode``."""
    folder.mkdir()
    try:
        with tarfile.open(packed, "r:gz") as tar:
            count = size = 0
            for member in tar:
                count, size = count + 1, size + member.size
                if count > _MOST_FILES or size > _MOST_UNPACKED:
                    raise EnvironmentMissing(f"{packed.name} unpacks to too many files or bytes")
                tar.extract(member, folder, filter="data")  # refuses files and links outside
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise EnvironmentMissing(f"{packed.name} cannot be unpacked: {error}") from error
    programs = [program for program in folder.glob("*/renode") if files.is_file(program)]
    if len(programs) != 1:
        raise EnvironmentMissing(f"{packed.name} contains no Renode")
    return programs.pop().parent
