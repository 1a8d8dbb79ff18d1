"""Code that the generator scripts of this folder share: finding the package, arguments, writing.

CMake runs these scripts with Zephyr's Python, which may have the standard library only. That is
enough for the modules of ``harness.build`` that do the work, but the package above them imports
libraries; an empty stand-in takes its place.
"""

from __future__ import annotations

import argparse
import sys
import types
from datetime import date
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent
MODELS = SAMPLES / "models"
TABLE = SAMPLES / "resolvers.toml"
_GIT_SECONDS = 60.0


def find_package() -> None:
    """Make ``harness.build.configurations``, ``.generated`` and ``.variants`` importable."""
    # In a checkout the package lies beside this folder, in an installed wheel around it.
    for package in (SAMPLES.parent / "harness", SAMPLES.parent.parent):
        if (package / "build" / "configurations.py").is_file():
            break
    else:
        raise SystemExit(f"error: the harness package is not beside {SAMPLES}")
    stand_in = types.ModuleType("harness")
    stand_in.__path__ = [str(package)]
    sys.modules.setdefault("harness", stand_in)


def parser(description: str) -> argparse.ArgumentParser:
    """Arguments that every generator takes; ``@FILE`` stands for the lines of a file."""
    arguments = argparse.ArgumentParser(description=description, fromfile_prefix_chars="@")
    arguments.add_argument("--sample", required=True, help="a sample of resolvers.toml")
    arguments.add_argument("--out", required=True, type=Path, help="the file to write")
    arguments.add_argument("--model", type=Path, help="another model than the sample's own")
    return arguments


def commit_of(repository: Path) -> tuple[str, date | None]:
    """Hash and date of the commit that is checked out in a folder; ("", None) without git."""
    from harness.base import errors, process  # noqa: PLC0415 - after find_package()

    command = ["git", "-C", str(repository), "log", "-1", "--format=%H %cs"]
    try:
        done = process.run(command, seconds=_GIT_SECONDS, split=True)
    except (errors.ProgramMissing, errors.ProgramFailed):
        return "", None
    commit, _, day = done.output.strip().partition(" ")
    return commit, date.fromisoformat(day)


def write(path: Path, text: str) -> None:
    """Write ``text`` unless the file has it already: its time stamp decides what is rebuilt."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
