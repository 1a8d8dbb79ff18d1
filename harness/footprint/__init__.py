"""What a firmware image costs: by region, section, symbol, file and operator; budgets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.elf.firmware import Firmware
from harness.elf.regions import memories
from harness.footprint.layout import lay_out
from harness.footprint.model import Region

if TYPE_CHECKING:
    from harness.footprint.analysis import Footprint
    from harness.footprint.arena import ArenaMinimum

__all__ = ["Region", "analyse", "arena_minimum", "regions"]


def regions(
    firmware: Firmware, *, map_file: Path | None = None, linker_script: Path | None = None
) -> tuple[Region, ...]:
    """Memory regions and their use, to the byte as the linker's own table reports them.

    Origins and sizes come from ``map_file`` or ``linker_script`` where given, else from the image
    itself (see :mod:`harness.elf.regions`).
    """
    found = memories(firmware, map_file=map_file, linker_script=linker_script)
    layout = lay_out(firmware, found)
    used = {memory.name: 0 for memory in found}
    for part in layout.parts:
        used[part.region] += part.size
    return tuple(Region(m.name, m.origin, m.size, used[m.name]) for m in found)


def analyse(
    firmware: Firmware, *, map_file: Path | None = None, linker_script: Path | None = None
) -> Footprint:
    """Everything about an image's size; see :func:`harness.footprint.analysis.analyse`."""
    # The table of a run's flash and RAM needs none of this; keep `tflm-hil run` quick.
    from harness.footprint.analysis import analyse as analyse_all  # noqa: PLC0415

    return analyse_all(firmware, map_file=map_file, linker_script=linker_script)


def arena_minimum(firmware: Firmware, *, seconds: float = 30.0) -> ArenaMinimum:
    """The smallest arena, on the simulator; see :func:`harness.footprint.arena.minimum`."""
    from harness.footprint.arena import minimum  # noqa: PLC0415
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    return minimum(firmware, open_simulator, seconds=seconds)
