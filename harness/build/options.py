"""The options of a build, and its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.platforms import DEFAULT_CHIP
from harness.build.generated import Variant

#: Variants of Zephyr builds, each with a fragment ``zephyr_samples/common/NAME.conf``.
KERNEL_VARIANTS = ("cmsis-nn", "soft-float")


@dataclass(frozen=True)
class BuildOptions:
    """The options of a build besides sample and configuration; each combination has own outputs.

    ``arena`` (bytes), ``inferences`` and ``model`` replace those of the sample. ``nonsecure``
    builds for the non-secure world, with a secure image of this project. ``chip`` is the key of its
    table.
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
        """``variant`` with the options that appear in its generated header."""
        if self.arena is not None:
            variant = replace(variant, arena=self.arena)
        if self.inferences is not None:
            variant = replace(variant, sample=replace(variant.sample, inferences=self.inferences))
        return variant


@dataclass(frozen=True)
class BuildResult:
    """A built image. The linker's map file is beside the ELF."""

    elf: Path
    folder: Path | None = None  # build folder, if it contains further images to load

    @property
    def image(self) -> Path:
        """The path to run: the ELF, or the build folder with further images."""
        return self.folder or self.elf
