"""The pinned release of Renode, and which of its archives a machine can install."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.base.errors import EnvironmentMissing

Version = tuple[int, int, int]

_TRUSTED = 2  # independent sources of a hash that make it trusted


@dataclass(frozen=True)
class Archive:
    """A published archive of the pinned release; ``archives.toml`` explains the fields."""

    system: str
    machine: str
    url: str
    sha256: str
    confirmed: int
    size: int = 0  # bytes; 0: unknown

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


def shown(version: Version) -> str:
    """Format a version as ``1.17.0``."""
    return ".".join(map(str, version))


def parsed(text: str) -> Version:
    """Return the version that is formatted as ``1.17.0``."""
    major, minor, patch = map(int, text.split("."))
    return major, minor, patch


_TABLE = files.read_toml(Path(__file__).with_suffix(".toml"))
PINNED = parsed(_TABLE["pinned"])
MINIMUM = parsed(_TABLE["minimum"])
ARCHIVES = tuple(Archive(**row) for row in _TABLE["archive"])


def for_this_machine() -> Archive | None:
    """Return the archive for this machine, None if there is none."""
    here = (platform.system(), platform.machine())
    return next((one for one in ARCHIVES if (one.system, one.machine) == here), None)


def installable(*, unconfirmed: bool = False) -> Archive:
    """Return the archive for this machine; ``unconfirmed``: also if only one source has its hash.

    Raises :class:`EnvironmentMissing` if there is none, or it cannot be installed here.
    """
    system, archive = platform.system(), for_this_machine()
    if archive is None:
        raise EnvironmentMissing(
            f"there is no archive of Renode {shown(PINNED)} for {system} on {platform.machine()}",
            hint="install it by hand (renode.io) and set RENODE to its path",
        )
    if not archive.name.endswith(".tar.gz"):
        raise EnvironmentMissing(
            f"Renode {shown(PINNED)} for {system} is a disk image, which only its user can open",
            hint=f"get {archive.url} (SHA-256 {archive.sha256}), set RENODE to the program in it",
        )
    if system == "Linux" and platform.libc_ver()[0] != "glibc":
        raise EnvironmentMissing(
            "Renode needs glibc, and this system has another C library (musl?)",
            hint="run in a container of Debian or Ubuntu",
        )
    if archive.confirmed < _TRUSTED and not unconfirmed:
        raise EnvironmentMissing(
            f"only {archive.confirmed} source confirms the SHA-256 of {archive.name}",
            hint=f"compare {archive.sha256} with a source that you trust, then add --unconfirmed",
        )
    return archive
