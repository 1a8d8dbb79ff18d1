"""The chip that an image is built for, derived from the image.

A Zephyr image has its SoC in its Kconfig: as an absolute symbol (``CONFIG_SOC_NRF9160``), and in
the file ``.config`` beside it. An image of the standalone runtime has the symbol :data:`MARK` with
the name of the chip's table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.base import files, platforms
from harness.base.errors import UsageError
from harness.base.platforms import ChipTable
from harness.elf.file import ElfFile

#: The prefix of the standalone runtime's absolute symbol; the chip's key follows.
MARK = "tflm_hil_chip_"
#: Kconfig's symbols of Nordic's chips; a variant's suffix follows the chip's name.
_SOC = "CONFIG_SOC_"
_NORDIC = re.compile(rf"{_SOC}(NRF\d+)\w*")
_CONFIG_LINE = re.compile(r"^(CONFIG_SOC_\w+)=y$", re.MULTILINE)


@dataclass(frozen=True)
class ChipMark:
    """The key of a chip's table, and the symbol that identifies the chip (``by``)."""

    chip: str
    by: str


def chip_of(image: ElfFile, beside: Sequence[ElfFile] = (), named: str = "") -> ChipTable:
    """The chip that ``image`` and the images ``beside`` it are for.

    ``named`` is the chip that a case or an option names, "" for none. Images without a mark are for
    that chip, or for the default one; their addresses are checked where they are loaded. Raises
    :class:`UsageError` if two images, or image and name, contradict each other, and for a chip
    without a table.
    """
    marked = [(each, mark) for each in (image, *beside) if (mark := mark_of(each)) is not None]
    wanted = platforms.chip_called(named) if named else None
    if not marked:
        return wanted or platforms.chip_table()
    first, mark = marked[0]
    for other, other_mark in marked[1:]:
        if other_mark.chip != mark.chip:
            raise UsageError(
                f"{first.path} is for the {_name(mark)}, and {other.path} for the"
                f" {_name(other_mark)}"
            )
    if wanted is not None and wanted.key != mark.chip:
        raise UsageError(
            f"{image.path} is for the {_name(mark)}, and the chip that is named is the"
            f" {wanted.name}",
            hint="leave the chip out, or build the image for it",
        )
    return platforms.chip_table(mark.chip)


def mark_of(image: ElfFile) -> ChipMark | None:
    """The mark of ``image`` or of its ``.config``; None if it has none."""
    for name in image.absolutes:
        if name.startswith(MARK):
            chip = platforms.chip_called(name.removeprefix(MARK))
            return ChipMark(chip.key, f"symbol {name}")
    symbols = [name for name in image.absolutes if name.startswith(_SOC)]
    return _by_kconfig(symbols, image, "Kconfig") or _by_kconfig(_beside(image), image, ".config")


def _by_kconfig(symbols: list[str], image: ElfFile, source: str) -> ChipMark | None:
    named = sorted({match[1] for name in symbols if (match := _NORDIC.fullmatch(name))})
    for soc in named:
        key = soc.lower()
        if key in platforms.chip_names():
            name = _SOC + platforms.chip_table(key).zephyr.soc
            if name in symbols:
                return ChipMark(key, f"{source}: {name}")
    if named:
        shown = max((name for name in symbols if _NORDIC.fullmatch(name)), key=len)
        raise UsageError(
            f"{image.path} is for a chip without a table ({source}: {shown})",
            hint=f"chips with a table: {', '.join(platforms.chip_names())}",
        )
    return None


def _beside(image: ElfFile) -> list[str]:
    """The symbols in the ``.config`` of Zephyr's build folder around an ELF or HEX file."""
    if image.path.stem not in ("zephyr", "merged", "tfm_merged"):
        return []
    places = (image.path.parent / name for name in (".config", "config"))
    path = next((place for place in places if files.is_file(place)), None)
    if path is None:
        return []
    return _CONFIG_LINE.findall(files.read(path).decode("utf-8", "replace"))


def _name(mark: ChipMark) -> str:
    return f"{platforms.chip_table(mark.chip).name} ({mark.by})"
