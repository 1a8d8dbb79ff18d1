"""The size of an image: by region, section, symbol, file and operator; budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.elf import Image
from harness.footprint.regions import Region, regions

if TYPE_CHECKING:
    from harness.footprint.analysis import Footprint
    from harness.footprint.arena import ArenaMinimum

__all__ = ["Region", "analyse", "arena_minimum", "regions"]


def analyse(image: Image) -> Footprint:
    """The footprint of an image; see :func:`harness.footprint.analysis.analyse`."""
    # Imported here because `tflm-hil run` needs the regions alone, and must start quickly.
    from harness.footprint.analysis import analyse as analyse_all  # noqa: PLC0415

    return analyse_all(image)


def arena_minimum(image: Image, *, seconds: float = 30.0) -> ArenaMinimum:
    """The smallest arena, on the simulator; see :func:`harness.footprint.arena.minimum`."""
    from harness.footprint.arena import minimum  # noqa: PLC0415
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    return minimum(image, open_simulator, seconds=seconds)
