"""The folder in which Renode keeps the models that it has compiled.

Renode knows a compiled model by its source alone, so each Renode has a folder of its own. What lies
there is run: the folder is used only if nobody else can write to it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from harness.base import files, paths

#: Files beside the program whose change makes another Renode of it.
_PARTS = ("Infrastructure.dll", "Renode.dll", "renode.dll")


def compiled_models(program: Path) -> Path | None:
    """The folder (``XDG_CONFIG_HOME`` of Renode) for ``program``; None if it cannot be trusted."""
    folder = paths.cache() / "renode-models" / _identity(program.resolve())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if all(map(_is_own, (folder, folder.parent))) else None
    except OSError:
        return None


def forget_compiled(program: Path) -> bool:
    """Remove the compiled models of ``program``, one of which may be damaged; False without any."""
    folder = compiled_models(program)
    kept = list(folder.glob("renode/compiler-cache/*")) if folder is not None else []
    for file in kept:
        file.unlink(missing_ok=True)
    return bool(kept)


def _identity(program: Path) -> str:
    """Names a build of Renode: its place, and size and time of its parts."""
    parts = [program, *(program.with_name(name) for name in _PARTS)]
    seen = [(one.stat().st_size, one.stat().st_mtime_ns) for one in parts if files.is_file(one)]
    return hashlib.sha256(f"{program} {seen}".encode()).hexdigest()[:16]


def _is_own(folder: Path) -> bool:
    """Whether ``folder`` is this user's, and nobody else may write to it."""
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return is_ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
