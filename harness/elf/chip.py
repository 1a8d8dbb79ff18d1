"""Which chip an image is for, as the image itself shows it.

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

#: How the name of an absolute symbol of the standalone runtime begins.
MARK = "tflm_hil_chip_"
#: Kconfig's symbols of Nordic's chips; those of variants of a chip go on behind its name.
_SOC = "CONFIG_SOC_"
_NORDIC = re.compile(rf"{_SOC}(NRF\d+)\w*")
_CONFIG_LINE = re.compile(r"^(CONFIG_SOC_\w+)=y$", re.MULTILINE)


@dataclass(frozen=True)
class ChipMark:
    """The key of a chip's table, and what in the image names it."""

    chip: str
    by: str


def chip_of(image: ElfFile, beside: Sequence[ElfFile] = (), named: str = "") -> ChipTable:
    """The chip that ``image`` and those ``beside`` it are for.

    ``named`` is the one that a case or an option names, "" for none. Images that do not say are
    for that one, and without a name for the default; whether their addresses fit is checked where
    they are loaded. Raises :class:`UsageError` that names both if name and image contradict each
    other, or two images that are loaded together do, and for an image of a chip without a table.
    """
    shown = [(one, found) for one in (image, *beside) if (found := mark_of(one)) is not None]
    for one, found in shown[1:]:
        first, mark = shown[0]
        if found.chip != mark.chip:
            raise UsageError(
                f"{first.path} is for the {_name(mark)}, and {one.path} for the {_name(found)}"
            )
    wanted = platforms.chip_called(named) if named else None
    if not shown:
        return wanted or platforms.chip_table()
    found = shown[0][1]
    if wanted is not None and wanted.key != found.chip:
        raise UsageError(
            f"{image.path} is for the {_name(found)}, and the chip that is named is the"
            f" {wanted.name}",
            hint="leave the chip out, or build the image for it",
        )
    return platforms.chip_table(found.chip)


def mark_of(image: ElfFile) -> ChipMark | None:
    """What ``image`` by itself says; None if that is nothing."""
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


def _name(found: ChipMark) -> str:
    return f"{platforms.chip_table(found.chip).name} ({found.by})"
