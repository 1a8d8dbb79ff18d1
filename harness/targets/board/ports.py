"""The programs that have a serial port open (from /proc, so on Linux alone)."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def holders(device: str) -> list[str]:
    """Other processes that have ``device`` open: ``minicom (process 1234)``.

    The process behind a pseudo-terminal is its other end and not a holder. Processes of other
    users are seen by root alone.
    """
    real = os.path.realpath(device)
    programs = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        targets = _open_files(entry)
        if real in targets.values() and not _is_other_end(entry, targets, real):
            programs.append(f"{_name(entry)} (process {entry.name})")
    return sorted(programs)


def _open_files(process: Path) -> dict[str, str]:
    targets = {}
    try:
        for link in (process / "fd").iterdir():
            targets[link.name] = str(link.readlink())
    except OSError:
        return targets  # it ended, or is another user's
    return targets


def _is_other_end(process: Path, targets: dict[str, str], device: str) -> bool:
    index = device.removeprefix("/dev/pts/")
    if not index.isdigit():
        return False
    for number, target in targets.items():
        if not target.startswith(("/dev/ptmx", "/dev/pts/ptmx")):
            continue
        try:
            lines = (process / "fdinfo" / number).read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        if any(line.split() == ["tty-index:", index] for line in lines):
            return True
    return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a program"
