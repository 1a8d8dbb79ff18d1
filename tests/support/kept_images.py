"""Images that tests compile, kept in the build cache from one run of the tests to the next."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from harness.base import paths
from harness.build.cache import Cache
from harness.build.inputs import digest

_IMAGE = "image.elf"


def kept(
    elf: Path,
    command: Sequence[str],
    *,
    read: Iterable[Path] = (),
    written: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """``elf``, as ``command`` compiles it in a folder with the files ``written``, by name.

    It is compiled again when the command, these files or those that it has ``read`` change.
    """

    def fill(folder: Path) -> None:
        for name, text in written.items():
            (folder / name).write_text(text)
        options = [f"-fdebug-prefix-map={folder}=.", "-o", _IMAGE]
        subprocess.run([*command, *options], cwd=folder, check=True)

    names = (part for pair in written.items() for part in pair)
    key = digest(_version(command[0]), *command, *names, *(one.read_bytes() for one in read))
    shutil.copyfile(Cache(paths.cache() / "build").make(key, fill) / _IMAGE, elf)
    return elf


@cache
def _version(compiler: str) -> bytes:
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
