"""The workflow that GitHub runs: one at the root of the repository, with a row for each folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import yaml

from harness.base import files

_PATH = ".github/workflows/firmware.yml"
#: The line behind which the rows of folders stand.
_ROWS = "        include: # tflm-hil init adds a row for each folder"
_REPOSITORY = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)")
#: Where nobody knows whose copy of the action is used.
_UNKNOWN = "OWNER/tflm-hil"


@dataclass(frozen=True)
class Workflow:
    """The workflow's file and its text; "" if nothing is to be written."""

    path: Path
    text: str = ""
    notes: tuple[str, ...] = ()


def workflow(folder: Path) -> Workflow:
    """The workflow with a row for ``folder``; a file that init did not write stays as it is."""
    inside = inside_repository(folder)
    path = repository(folder) / _PATH
    row = _row(folder, inside)
    if not files.exists(path):
        action = _action()
        unknown = [f"write the owner of the action into {path}: {action}"]
        return Workflow(path, _text(action, [row]), tuple(unknown if action == _UNKNOWN else ()))
    before = files.read(path).decode()
    if _ROWS not in before:
        return Workflow(path, notes=(f"{path} is not of init; add a job for {inside}",))
    if f"folder: {json.dumps(inside.as_posix())}\n" in before:
        return Workflow(path)
    head, mark, tail = before.partition(_ROWS + "\n")
    after = f"{head}{mark}{row}{tail}"
    if not _is_yaml(after):
        return Workflow(path, notes=(f"{path} cannot be extended; add a job for {inside}",))
    return Workflow(path, after)


def repository(folder: Path) -> Path:
    """The root of the repository that ``folder`` is in; the folder itself outside of one."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if files.exists(one / ".git")), here)


def inside_repository(folder: Path) -> Path:
    """The path of ``folder`` in its repository; "." outside of one."""
    return folder.resolve().relative_to(repository(folder))


def _is_yaml(text: str) -> bool:
    try:
        return isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        return False


def _row(folder: Path, inside: Path) -> str:
    kind, build = _build(folder)
    return (
        f"          - folder: {json.dumps(inside.as_posix())}\n"
        f"            kind: {kind}\n"
        f"            build: {json.dumps(build)}\n"
    )


def _build(folder: Path) -> tuple[str, str]:
    """How the folder's firmware is built: a kind of toolchain, and the command."""
    cmake = folder / "CMakeLists.txt"
    if files.exists(cmake) and b"Zephyr" in files.read(cmake):
        return "zephyr", "west build -b nrf9160dk/nrf9160 ."
    if files.exists(cmake):
        return "gcc", "cmake -B build && cmake --build build"
    if files.exists(folder / "Makefile"):
        return "gcc", "make"
    return "gcc", "echo 'say in the workflow how this folder is built' && false"


def _action() -> str:
    """The repository of this package, which is the action, too."""
    try:
        urls: Sequence[str] = metadata("tflm-hil").get_all("Project-URL") or ()
    except PackageNotFoundError:
        urls = ()
    found = next((match for url in urls if (match := _REPOSITORY.search(url))), None)
    return found[1] if found else _UNKNOWN


def _text(action: str, rows: Sequence[str]) -> str:
    return f"""\
# Builds the firmware of each folder and tests it without a board.
name: firmware
on: [push, pull_request]
permissions:
  contents: read

jobs:
  test:
    runs-on: ubuntu-24.04
    strategy:
      fail-fast: false
      matrix:
{_ROWS}
{"".join(rows)}\
    steps:
      - uses: actions/checkout@v4
      - name: Toolchain
        if: matrix.kind == 'gcc'
        run: sudo apt-get update && sudo apt-get install --yes cmake gcc-arm-none-eabi
      - name: Zephyr
        if: matrix.kind == 'zephyr'
        uses: zephyrproject-rtos/action-zephyr-setup@v1
        with:
          app-path: ${{{{ matrix.folder }}}}
          toolchains: arm-zephyr-eabi
      - name: Build
        working-directory: ${{{{ matrix.folder }}}}
        run: ${{{{ matrix.build }}}}
      - name: Test  # results in the summary, and as an artifact
        uses: {action}@main
        with:
          cases: ${{{{ matrix.folder }}}}/hil.toml
          artifact: hil-results-${{{{ strategy.job-index }}}}
"""
