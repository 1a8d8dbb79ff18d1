"""Find Renode on this machine, and check its version."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.base import paths, process
from harness.base.errors import EnvironmentMissing, ProgramMissing, ProgramTimedOut
from harness.targets.renode.releases import DIFFERENCES, MINIMUM, Version, shown, warnings

#: Programs of usual installations that may not be on PATH.
USUAL_PLACES = (
    "/opt/renode/renode",
    "/usr/lib/renode/renode",
    "/usr/local/bin/renode",
    "~/renode/renode",
    "~/.local/bin/renode",
    "/Applications/Renode.app/Contents/MacOS/macos_run.command",
)
_VERSION = re.compile(r"Renode v?(\d+)\.(\d+)\.(\d+)")
_HINT = "`tflm-hil doctor --install --with renode` installs it, or set RENODE to its path"
#: Wall-clock seconds for ``renode --version``.
_VERSION_TIMEOUT = 30.0


def home() -> Path:
    """Return the folder in which ``doctor`` installs Renode, in a folder for each version."""
    return paths.cache() / "renode"


def installed() -> list[Path]:
    """Return the programs in :func:`home`, the newest version first."""
    programs = []
    for program in home().glob("*/renode"):
        numbers = program.parent.name.split(".")
        if len(numbers) == 3 and all(map(str.isdigit, numbers)):
            programs.append((tuple(map(int, numbers)), program))
    return [program for _, program in sorted(programs, reverse=True)]


@dataclass(frozen=True)
class RenodeProgram:
    """A usable Renode."""

    path: Path
    version: Version
    warnings: tuple[str, ...] = ()  # notes on its bugs, for each result


def locate(named: str | Path | None = None) -> Path:
    """Find the executable: ``named``, RENODE, PATH, installed by ``doctor``, in a usual place.

    Raises :class:`EnvironmentMissing` if there is none, or if a named one does not exist.
    """
    variable = os.environ.get("RENODE")
    for value in (named, variable):
        if value:
            source = "RENODE" if str(value) == variable else "--renode"
            program = shutil.which(str(Path(value).expanduser()))
            if program is None:
                raise EnvironmentMissing(f"{source} is not a program: {value}", hint=_HINT)
            return Path(program)
    program = shutil.which("renode")
    candidates = [Path(program)] if program else []
    candidates += installed()
    candidates += [Path(path).expanduser() for path in USUAL_PLACES]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate
    raise EnvironmentMissing("Renode is not installed", hint=_HINT)


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
    version = (int(match[1]), int(match[2]), int(match[3]))
    return RenodeProgram(path, version, check(version))


def check(version: Version) -> tuple[str, ...]:
    """Return warnings of ``version``; raise :class:`EnvironmentMissing` below :data:`MINIMUM`."""
    if version < MINIMUM:
        wrong = next(difference.what for difference in DIFFERENCES if difference.until == MINIMUM)
        raise EnvironmentMissing(f"Renode {shown(version)} is too old: {wrong}", hint=_HINT)
    return warnings(version)


def find(named: str | Path | None = None) -> RenodeProgram:
    """Find Renode and check its version; raise :class:`EnvironmentMissing`."""
    return examine(locate(named))
