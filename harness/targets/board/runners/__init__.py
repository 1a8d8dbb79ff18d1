"""Runners: the flash tools by name, one file each."""

from __future__ import annotations

import shutil

from harness.base.errors import EnvironmentMissing, UsageError
from harness.base.platforms import BoardTable
from harness.targets.board.runners.base import Command, Runner
from harness.targets.board.runners.jlink import Jlink
from harness.targets.board.runners.nrfjprog import Nrfjprog
from harness.targets.board.runners.nrfutil import Nrfutil
from harness.targets.board.runners.pyocd import Pyocd
from harness.targets.board.runners.west import West

RUNNERS: dict[str, type[Runner]] = {
    runner.name: runner for runner in (Nrfutil, Nrfjprog, Jlink, Pyocd, West)
}


def choose(name: str, kit: BoardTable, search_path: str | None = None) -> type[Runner]:
    """The runner called ``name``; if empty, the first runner of ``kit`` that is installed.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` if no flash tool is
    installed.
    """
    if name:
        if name not in RUNNERS:
            raise UsageError(f"no runner {name!r}", hint=f"one of {', '.join(RUNNERS)}")
        return RUNNERS[name]
    tried = [RUNNERS[one] for one in kit.probe.runners]
    for runner in tried:
        if shutil.which(runner.program_name, path=search_path):
            return runner
    programs = ", ".join(runner.program_name for runner in tried)
    raise EnvironmentMissing(
        f"no flash tool is installed: none of {programs} is on PATH",
        hint="pip install 'tflm-hil[pyocd]', or install nrfutil and run `nrfutil install device`",
    )


__all__ = ["RUNNERS", "Command", "Pyocd", "Runner", "choose"]
