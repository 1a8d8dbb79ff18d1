"""The images below a folder of firmware, and their models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.base import files
from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.models import embedded_models

#: Folders that are not searched, and levels of folders that are.
_SKIPPED, _MAX_DEPTH = {"hil-results", "node_modules", "venv", "CMakeFiles"}, 4


def images(folder: Path) -> list[Path]:
    """The images below ``folder``, the newest first; for a Zephyr build the final one.

    Raises :class:`UsageError` if there is none.
    """
    if not files.is_folder(folder):
        raise UsageError(f"there is no folder {folder}", hint="name the folder with the firmware")
    found = [path for path in below(folder, ".elf") if not path.stem.startswith("zephyr_pre")]
    if not found:
        raise UsageError(
            f"{folder} holds no .elf", hint="build the firmware first, or name its folder"
        )
    # Programs of the host, for example tests, are used only if there is no firmware: the reader of
    # the ELF then reports the error.
    firmware = [path for path in found if _is_arm(path)]
    return sorted(firmware or found, key=lambda path: -path.stat().st_mtime_ns)


def model_of(elf: Path, folder: Path) -> tuple[Path | None, bytes]:
    """The model of an image: a file below ``folder`` whose bytes it holds, or the bytes alone."""
    content = files.read(elf)
    models = ((path, files.read(path)) for path in below(folder, ".tflite"))
    path = next((path for path, data in models if data and data in content), None)
    if path is not None:
        return path, files.read(path)
    data = next((model.data for model in embedded_models(Image.from_elf(elf))), b"")
    return None, data


def below(folder: Path, suffix: str) -> Iterator[Path]:
    """The files below ``folder`` that end in ``suffix``."""
    for path in sorted(folder.rglob(f"*{suffix}")):
        inside = path.relative_to(folder).parts
        skipped = any(part.startswith(".") or part in _SKIPPED for part in inside)
        if len(inside) <= _MAX_DEPTH and not skipped and files.is_file(path):
            yield path


def _is_arm(path: Path) -> bool:
    """True for a 32-bit Arm ELF (EI_CLASS, e_machine)."""
    head = files.read(path)[:20]
    return (head[4:5], head[18:20]) == (b"\x01", b"\x28\x00")
