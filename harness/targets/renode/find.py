"""Find Renode on this machine, and check its version."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.base import paths, process
from harness.base.errors import EnvironmentMissing, ProgramMissing, ProgramTimedOut
from harness.targets.renode.archives import MINIMUM, PINNED, Version, parsed, shown
from harness.targets.renode.differences import warnings

#: Programs of usual installations that may not be on PATH.
USUAL_PLACES = (
    "/opt/renode/renode",
    "/usr/lib/renode/renode",
    "/usr/local/bin/renode",
    "~/renode/renode",
    "~/.local/bin/renode",
    "/Applications/Renode.app/Contents/MacOS/renode",
)
_VERSION = re.compile(r"Renode v?(\d+\.\d+\.\d+)")
_HINT = (
    f"`tflm-hil doctor --install --with renode` installs {shown(PINNED)}, "
    "or set RENODE to the path of another"
)
#: Wall-clock seconds for ``renode --version``.
_VERSION_TIMEOUT = 30.0


def installed() -> Path:
    """Return the program that ``doctor`` installs, whether it is there or not."""
    return paths.cache() / "renode" / shown(PINNED) / "renode"


@dataclass(frozen=True)
class RenodeProgram:
    """A usable Renode."""

    path: Path
    version: Version
    warnings: tuple[str, ...] = ()  # notes on its bugs, for each result


def locate(named: str | Path | None = None) -> Path:
    """Find the executable: ``named``, RENODE, installed by ``doctor``, PATH, in a usual place.

    Raises :class:`EnvironmentMissing` if there is none, or if a named one does not exist.
    """
    variable = os.environ.get("RENODE")
    if value := named or variable:
        if program := _program(value):
            return program
        source = "RENODE" if str(value) == variable else "--renode"
        raise EnvironmentMissing(f"{source} is not a program: {value}", hint=_HINT)
    for place in (installed(), "renode", *USUAL_PLACES):
        if program := _program(place):
            return program
    raise EnvironmentMissing("Renode is not installed", hint=_HINT)


def _program(place: str | Path) -> Path | None:
    program = shutil.which(str(Path(place).expanduser()))
    return Path(program) if program else None


def examine(path: Path) -> RenodeProgram:
    """Run ``path`` with --version and check the version.

    Raises :class:`EnvironmentMissing` for a program that does not answer or is too old.
    """
    try:
        answer = process.run([str(path), "--version"], seconds=_VERSION_TIMEOUT, check=False)
    except ProgramMissing as error:
        raise EnvironmentMissing(error.message, hint=_HINT) from error
    except ProgramTimedOut as error:
        raise EnvironmentMissing(f"{path} does not run: {error.message}", hint=_HINT) from error
    match = _VERSION.search(answer.output)
    if match is None:
        raise EnvironmentMissing(f"{path} does not answer --version as Renode does", hint=_HINT)
    version = parsed(match[1])
    if version < MINIMUM:
        raise EnvironmentMissing(
            f"{path} is Renode {shown(version)}, too old: {shown(MINIMUM)} or later is needed",
            hint=_HINT,
        )
    return RenodeProgram(path, version, warnings(version))


def find(named: str | Path | None = None) -> RenodeProgram:
    """Find Renode and check its version; raise :class:`EnvironmentMissing`."""
    return examine(locate(named))
