"""The options of a build, and its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.platforms import DEFAULT_CHIP
from harness.build.variants import Variant

#: Variants of Zephyr builds, each with a fragment ``zephyr_samples/common/NAME.conf``.
KERNEL_VARIANTS = ("cmsis-nn", "soft-float")


@dataclass(frozen=True)
class BuildOptions:
    """The variables of a build beside sample and configuration; all are part of the cache's key.

    ``arena``, in bytes, and ``model`` replace those of the sample. ``nonsecure`` builds for the
    non-secure world, on a secure image of this project. ``chip`` is the key of its table.
    """

    fpu: bool = True
    optimize: str = "s"
    lto: bool = False
    arena: int | None = None
    inferences: int | None = None
    model: Path | None = None
    defines: tuple[str, ...] = ()
    nonsecure: bool = False
    chip: str = DEFAULT_CHIP

    def applied_to(self, variant: Variant) -> Variant:
        """``variant`` with those options that appear in its generated header."""
        if self.arena is not None:
            variant = replace(variant, arena=self.arena)
        if self.inferences is not None:
            variant = replace(variant, sample=replace(variant.sample, inferences=self.inferences))
        return variant


@dataclass(frozen=True)
class BuildResult:
    """An image and how it was built; ``map`` is the linker's map file, if any."""

    elf: Path
    map: Path | None
    sample: str
    configuration: str
    builder: str
    cached: bool
    seconds: float
    folder: Path | None = None  # with more images than the ELF, which are loaded with it

    @property
    def image(self) -> Path:
        """What to run: the ELF, or the build folder around it."""
        return self.folder or self.elf
