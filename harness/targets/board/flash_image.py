"""The Intel HEX file to flash for an image.

A non-secure image (``nrf9160dk/nrf9160/ns``) cannot boot without TF-M. Its build writes a merged
file beside the ELF, which is flashed instead.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from harness.base import files
from harness.base.errors import UsageError
from harness.base.platforms import board_with
from harness.build.board_names import target_of
from harness.elf import Image, hexfile
from harness.elf.combined import own_blocks
from harness.elf.trustzone import is_non_secure

#: Merged images relative to the ELF's folder, in order of preference: Zephyr's TF-M build,
#: nRF Connect SDK before sysbuild, sysbuild.
MERGED = ("tfm_merged.hex", "merged.hex", "../merged.hex", "../../merged.hex")


@dataclass(frozen=True)
class FlashImage:
    """The input of flash tools: a HEX file, and its blocks (address, bytes).

    ``sha256`` is the hash of the blocks.
    """

    hex: Path
    elf: Path
    blocks: tuple[hexfile.Block, ...] = field(repr=False)
    sha256: str

    @property
    def size(self) -> int:
        """The number of bytes to program."""
        return sum(len(data) for _, data in self.blocks)

    @property
    def build_directory(self) -> Path | None:
        """The Zephyr build folder that contains the ELF (``build/zephyr/zephyr.elf``), or None."""
        folder = self.elf.parent
        if folder.name == "zephyr" and files.is_file(folder.parent / "CMakeCache.txt"):
            return folder.parent
        return None

    def binaries(self, folder: Path) -> list[tuple[int, Path]]:
        """Writes each block into a binary file in ``folder``; returns ``(address, file)`` pairs."""
        pairs = []
        for address, data in self.blocks:
            path = folder / f"{self.sha256[:16]}-{address:08x}.bin"
            path.write_bytes(data)
            pairs.append((address, path))
        return pairs


def prepare(image: Image, folder: Path) -> FlashImage:
    """The input of flash tools for ``image``; writes a HEX file into ``folder`` if needed.

    Raises :class:`UsageError` if a segment is outside flash and UICR, or if an image that cannot
    boot alone has no merged file, or one from another build.
    """
    loaded = _flash_blocks(image)
    if loaded[0][0] == image.chip.area("flash").origin:
        path = folder / f"{image.sha256[:16]}.hex"
        path.write_text(hexfile.write(loaded), encoding="ascii")
        return _image(path, image, loaded)
    path = _merged_file(image, loaded[0][0])
    blocks = hexfile.read(path.read_text(encoding="ascii"), str(path))
    if missing := hexfile.differences(own_blocks(image), blocks):
        raise UsageError(
            f"{path} differs from {image.path.name} at 0x{missing[0]:08x}",
            hint="the merged image is from another build: build again",
        )
    return _image(path, image, blocks)


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
                hint="an image that is loaded into RAM runs on the simulator: --start elf",
            )
        blocks.append((start, segment.data))
    if not blocks:
        raise UsageError(f"{image.path} has nothing to flash")
    return hexfile.merge(blocks, str(image.path))


def _merged_file(image: Image, start: int) -> Path:
    for name in MERGED:
        path = image.path.parent / name
        if files.is_file(path):
            return path
    below = "TF-M" if is_non_secure(image) else "its bootloader"
    kit = board_with(image.chip.key)
    secure, non_secure = (target_of(kit, nonsecure=world) for world in (False, True))
    raise UsageError(
        f"{image.path} starts at 0x{start:x} and cannot boot without {below}; "
        f"neither {MERGED[0]} nor merged.hex is beside it",
        hint=f"build with TF-M ({non_secure}), or the secure variant {secure}",
    )


def _image(path: Path, image: Image, blocks: list[hexfile.Block]) -> FlashImage:
    digest = hashlib.sha256()
    for address, data in blocks:
        digest.update(address.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data)
    return FlashImage(path, image.path, tuple(blocks), digest.hexdigest())
