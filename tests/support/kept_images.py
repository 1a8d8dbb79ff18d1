"""What tests compile, kept from one run of the tests to the next."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from harness.base import paths

_IMAGE = "image.elf"


def keep(key: Iterable[bytes | str], make: Callable[[Path], object]) -> Path:
    """The folder that ``make`` fills once for ``key``, whichever process comes first."""
    sha = hashlib.sha256()
    for part in key:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    folder = paths.cache() / "tests" / sha.hexdigest()[:32]
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        make(draft)
        try:
            draft.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return folder


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

    def make(folder: Path) -> None:
        for name, text in written.items():
            (folder / name).write_text(text)
        options = [f"-fdebug-prefix-map={folder}=.", "-o", _IMAGE]
        subprocess.run([*command, *options], cwd=folder, check=True)

    names = (part for pair in written.items() for part in pair)
    key = [compiler_version(command[0]), *command, *names, *(one.read_bytes() for one in read)]
    shutil.copyfile(keep(key, make) / _IMAGE, elf)
    return elf


@cache
def compiler_version(compiler: str) -> bytes:
    """What a compiler says of itself."""
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
