"""The Intel HEX file that is flashed for an image.

A non-secure image (``nrf9160dk/nrf9160/ns``) cannot boot alone: TF-M lies below it. Its build
leaves a merged file beside the ELF, which is flashed instead.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.platforms import board_with
from harness.build.board_names import target_of
from harness.elf import Image, hexfile
from harness.elf.combined import own_blocks
from harness.elf.trustzone import is_non_secure

#: Merged images, relative to the ELF's folder, the preferred one first:
#: Zephyr's own TF-M build, nRF Connect SDK before sysbuild, sysbuild.
MERGED = ("tfm_merged.hex", "merged.hex", "../merged.hex", "../../merged.hex")


@dataclass(frozen=True)
class FlashImage:
    """An image as flash tools take it."""

    hex: Path
    elf: Path
    blocks: tuple[hexfile.Block, ...] = field(repr=False)
    sha256: str
    merged: bool

    @property
    def size(self) -> int:
        """Bytes to be programmed."""
        return sum(len(data) for _, data in self.blocks)

    @property
    def build_directory(self) -> Path | None:
        """The Zephyr build folder that the ELF lies in (``build/zephyr/zephyr.elf``), or None."""
        folder = self.elf.parent
        if folder.name == "zephyr" and (folder.parent / "CMakeCache.txt").is_file():
            return folder.parent
        return None

    def binaries(self, folder: Path) -> list[tuple[int, Path]]:
        """The blocks as ``(address, file)``: some tools verify binary files only."""
        files = []
        for address, data in self.blocks:
            path = folder / f"{self.sha256[:16]}-{address:08x}.bin"
            path.write_bytes(data)
            files.append((address, path))
        return files


def prepare(image: Image, folder: Path) -> FlashImage:
    """The image to flash for ``image``; a HEX file is written into ``folder`` if needed.

    Raises :class:`UsageError` if a segment lies outside flash, or if a non-secure image has no
    merged file or that of another build.
    """
    loaded = _flash_blocks(image)
    if loaded[0][0] == image.chip.area("flash").origin:
        path = folder / f"{image.sha256[:16]}.hex"
        path.write_text(hexfile.write(loaded), encoding="ascii")
        return _image(path, image, loaded, merged=False)
    path = _merged_file(image, loaded[0][0])
    blocks = hexfile.read(path.read_text(encoding="ascii"), str(path))
    if missing := hexfile.differences(own_blocks(image), blocks):
        raise UsageError(
            f"{path} has other bytes at 0x{missing[0]:08x} than {image.path.name}",
            hint="the merged image is from another build: build again",
        )
    return _image(path, image, blocks, merged=True)


def _flash_blocks(image: Image) -> list[hexfile.Block]:
    chip = image.chip
    areas = chip.area("flash"), chip.area("uicr")
    blocks = []
    for segment in image.loaded:
        if not segment.data:
            continue
        start = segment.load_address
        if not any(area.holds(start, len(segment.data)) for area in areas):
            raise UsageError(
                f"{image.path} loads {len(segment.data)} bytes at 0x{start:08x}, "
                f"which is not in the {chip.name}'s flash",
                hint="a board is flashed; images that run from RAM are for the simulator",
            )
        blocks.append((start, segment.data))
    if not blocks:
        raise UsageError(f"{image.path} has nothing to flash")
    return hexfile.merge(blocks, str(image.path))


def _merged_file(image: Image, start: int) -> Path:
    for name in MERGED:
        path = image.path.parent / name
        if path.is_file():
            return path
    below = "TF-M" if is_non_secure(image) else "its bootloader"
    kit = board_with(image.chip.key)
    secure, non_secure = (target_of(kit, nonsecure=world) for world in (False, True))
    raise UsageError(
        f"{image.path} starts at 0x{start:x} and needs {below} below it; "
        f"there is no {MERGED[0]} or merged.hex beside it",
        hint=f"build with TF-M ({non_secure}), or the secure variant {secure}",
    )


def _image(path: Path, image: Image, blocks: list[hexfile.Block], *, merged: bool) -> FlashImage:
    digest = hashlib.sha256()
    for address, data in blocks:
        digest.update(address.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data)
    return FlashImage(path, image.path, tuple(blocks), digest.hexdigest(), merged)
