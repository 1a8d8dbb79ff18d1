"""Find Renode on this machine and refuse versions that compute something else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentMissing

#: The oldest version that runs a cortex-m33's floating point as the chip does.
MINIMUM = (1, 16, 1)
#: renode#938 is fixed behind this version, so it and everything before it has the bug.
LAST_WITH_938 = (1, 16, 1)

#: Where installers put it when it is on no PATH.
USUAL_PLACES = (
    "/opt/renode/renode",
    "/usr/lib/renode/renode",
    "/usr/local/bin/renode",
    "~/renode/renode",
    "~/.local/bin/renode",
    "/Applications/Renode.app/Contents/MacOS/macos_run.command",
)
_VERSION = re.compile(r"Renode v?(\d+)\.(\d+)\.(\d+)")
_HINT = "install Renode 1.16.1 or later (renode.io), or set RENODE to its path"
_VERSION_TIMEOUT = 30.0


@dataclass(frozen=True)
class RenodeProgram:
    """A Renode that can be used: its executable, its version, and the bugs to warn of."""

    path: Path
    version: tuple[int, int, int]
    warnings: tuple[str, ...] = ()


def locate(named: str | Path | None = None) -> Path:
    """The executable: ``named``, else RENODE, else PATH, else the usual places.

    A path that is named and does not exist is an error, not a reason to look elsewhere.
    Raises :class:`EnvironmentMissing`.
    """
    for source, value in (("--renode", named), ("RENODE", os.environ.get("RENODE"))):
        if value:
            found = shutil.which(str(Path(value).expanduser()))
            if found is None:
                raise EnvironmentMissing(f"{source} names no program: {value}", hint=_HINT)
            return Path(found)
    found = shutil.which("renode")
    candidates = [Path(found)] if found else []
    candidates += [Path(place).expanduser() for place in USUAL_PLACES]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate
    raise EnvironmentMissing("Renode is not installed", hint=_HINT)


def examine(path: Path) -> RenodeProgram:
    """Ask ``path`` for its version and check it.

    Raises :class:`EnvironmentMissing` for a program that does not answer or is too old.
    """
    try:
        answer = subprocess.run(
            [str(path), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentMissing(f"{path} does not run: {error}", hint=_HINT) from error
    match = _VERSION.search(answer.stdout + answer.stderr)
    if match is None:
        raise EnvironmentMissing(f"{path} does not answer --version as Renode does", hint=_HINT)
    version = (int(match[1]), int(match[2]), int(match[3]))
    return RenodeProgram(path, version, check(version))


def check(version: tuple[int, int, int]) -> tuple[str, ...]:
    """Warnings for ``version``; raises :class:`EnvironmentMissing` below :data:`MINIMUM`."""
    shown = ".".join(map(str, version))
    if version < MINIMUM:
        raise EnvironmentMissing(
            f"Renode {shown} is too old: VMAXNM, VRINTA and VCVTA on a cortex-m33 silently "
            "compute something else before 1.16.1",
            hint=_HINT,
        )
    if version <= LAST_WITH_938:
        return (
            f"Renode {shown} has renode#938: an interrupt that is pending while PC holds "
            "EXC_RETURN takes a MemManage fault",
        )
    return ()


def find(named: str | Path | None = None) -> RenodeProgram:
    """Find and check; raises :class:`EnvironmentMissing`."""
    return examine(locate(named))
