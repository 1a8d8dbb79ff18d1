"""Writes one HEX file of a secure and a non-secure image; ninja runs this module as a program."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.base import files
from harness.base.errors import HilError
from harness.elf import Image, hexfile


def merge(elves: list[Path], merged: Path) -> None:
    """Writes the data of ``elves`` to ``merged``. Raises :class:`UsageError` if they overlap."""
    images = [Image.from_elf(elf) for elf in elves]
    segments = [segment for image in images for segment in image.segments if segment.data]
    data = hexfile.merge([(part.load_address, part.data) for part in segments], "merged.hex")
    files.write(merged, hexfile.write(data))


if __name__ == "__main__":
    *inputs, output = map(Path, sys.argv[1:])
    try:
        merge(inputs, output)
    except HilError as error:
        sys.exit(f"error: {error}")
