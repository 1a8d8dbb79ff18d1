"""What a build is asked for and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.build.variants import Variant
from harness.elf import Firmware


@dataclass(frozen=True)
class BuildOptions:
    """What can be varied beside sample and configuration; all of it is part of the cache's key.

    ``arena`` in bytes replaces the table's figure. ``model`` replaces the sample's own.
    ``nonsecure`` is for the non-secure world, on a secure image of this project.
    """

    fpu: bool = True
    optimize: str = "s"
    lto: bool = False
    arena: int | None = None
    inferences: int | None = None
    model: Path | None = None
    defines: tuple[str, ...] = ()
    nonsecure: bool = False

    def applied_to(self, variant: Variant) -> Variant:
        """What is built of ``variant``, as far as its generated header tells."""
        if self.arena is not None:
            variant = replace(variant, arena=self.arena)
        if self.inferences is not None:
            variant = replace(variant, sample=replace(variant.sample, inferences=self.inferences))
        return variant


@dataclass(frozen=True)
class BuildResult:
    """An image and what is known of its making; ``map`` is the linker's map file, if any."""

    elf: Path
    map: Path | None
    sample: str
    configuration: str
    builder: str
    cached: bool
    seconds: float
    merged: bool = False  # the ELF's folder holds more that is loaded with it

    @property
    def image(self) -> Path:
        """What to run: the ELF, or the build folder around it."""
        return self.elf.parent if self.merged else self.elf


def prebuilt(path: Path) -> BuildResult:
    """An image that somebody else built. Raises :class:`BadElf` for what is none."""
    Firmware.from_elf(path)
    beside = path.with_suffix(".map")
    return BuildResult(path, beside if beside.is_file() else None, "", "", "prebuilt", True, 0.0)
