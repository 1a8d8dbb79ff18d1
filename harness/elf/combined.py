"""The files of a build as one image: ELF, Intel HEX, bytes at an address, a build folder.

HEX and binary files have precedence over ELFs: they are signed, and contain the flashed bytes. An
ELF whose bytes they contain only gives names to them; one at other addresses is loaded as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.base import files
from harness.base.errors import BadElf, UsageError
from harness.elf import hexfile, vectors
from harness.elf.build_folder import APPLICATIONS, BuildFolder
from harness.elf.file import Segment
from harness.elf.image import Image
from harness.elf.wrapped import wrap

#: ``app.bin@0x10000``: plain bytes and their load address.
_PLACED = re.compile(r"(?P<file>.+)@(?P<address>0[xX][0-9a-fA-F]+|\d+)")


def read(path: Path | str, beside: Sequence[Path | str] = (), chip: str = "") -> Image:
    """The image in ``path`` with the images ``beside`` it; ``chip`` as in :func:`chip.chip_of`.

    Each may be an ELF, an Intel HEX file, ``FILE@ADDRESS`` for plain bytes, or a build folder.
    Raises :class:`UsageError` for any other file, and for files that contradict each other.
    """
    images = [image for each in (path, *beside) for image in _images(Path(each))]
    image = images[0] if len(images) == 1 else compose(images)
    return replace(image, chip_name=chip) if chip else image


def compose(images: Sequence[Image]) -> Image:
    """Several images as one: the first ELF, with the others beside it.

    Raises :class:`UsageError` if two of them set the same bytes to different values.
    """
    named = [image for image in images if image.sections or image.symbols]
    plain = [image for image in images if image not in named]
    blocks = hexfile.merge(
        [(part.load_address, part.data) for image in plain for part in image.segments],
        " and ".join(str(image.path) for image in plain),
    )
    segments = [Segment(address, address, len(data), data) for address, data in blocks]
    for image in named:
        if not _contained(image, blocks):
            segments += image.segments
    main = (named or plain)[0]
    others = tuple(image for image in named if image is not main)
    return replace(main, beside=others, composed=tuple(segments))


def is_image(path: Path) -> bool:
    """True if :func:`read` takes ``path``: a file, ``FILE@ADDRESS``, a build folder."""
    placed = _PLACED.fullmatch(str(path))
    if files.is_file(path) or (placed and files.is_file(Path(placed["file"]))):
        return True
    return files.is_folder(path) and BuildFolder(path).application is not None


def name_of(path: Path) -> str:
    """The name of a run of ``path``: the folder's, or the file's without its suffix."""
    placed = None if files.exists(path) else _PLACED.fullmatch(str(path))
    return Path(placed["file"]).stem if placed else path.resolve().stem


def own_blocks(image: Image) -> list[hexfile.Block]:
    """The bytes stored in ``image``: its sections, or its segments if it has none.

    Left out are the filler between sections, which depends on the tool, and the empty space for a
    bootloader's header below the vector table.
    """
    table = vectors.named(image)
    stored = [(part.load_address, part.data) for part in image.sections
              if part.load_address is not None]  # fmt: skip
    blocks = stored or [(part.load_address, part.data) for part in image.segments]
    return [_without_header(block, table[0] if table else 0) for block in blocks if block[1]]


def _without_header(block: hexfile.Block, table: int) -> hexfile.Block:
    """``block`` from the vector table on, if only zeros precede the table."""
    start, data = block
    header = table - start if start < table < start + len(data) else 0
    return block if any(data[:header]) else (start + header, data[header:])


def _contained(image: Image, blocks: Sequence[hexfile.Block]) -> bool:
    """True if ``blocks`` contain all of ``image``, False if they overlap none of it.

    Raises :class:`UsageError` if they have other bytes at its addresses.
    """
    own = own_blocks(image)
    missing = hexfile.differences(own, blocks)
    if not missing:
        return True
    overlap = any(
        start < address + len(content) and address < start + len(data)
        for start, data in own
        for address, content in blocks
    )
    if overlap:
        raise UsageError(
            f"{image.path} has other bytes at 0x{missing[0]:08x} than the HEX or binary file",
            hint="they are from different builds: build again",
        )
    return False


def _images(path: Path) -> list[Image]:
    if files.is_folder(path):
        return _folder(BuildFolder(path))
    placed = None if files.is_file(path) else _PLACED.fullmatch(str(path))
    if placed is not None:
        file = Path(placed["file"])
        data = files.read(file, error=BadElf)
        if not data:
            raise BadElf(f"{file} is empty")
        return [Image(file, wrap([(_address(placed["address"]), data)]), kind="binary")]
    data = files.read(path, error=BadElf)
    if data.lstrip()[:1] == b":":
        return [Image(path, wrap(_hex_blocks(data, path)), kind="HEX")]
    if path.suffix == ".map":
        raise BadElf(f"{path} is a map file, not an image", hint=f"tflm-hil footprint {path}")
    if path.suffix == ".bin" and data[:4] != b"\x7fELF":
        raise BadElf(f"{path} has no load address", hint=f"name it as {path.name}@ADDRESS")
    return [Image.from_elf(path)]


def _address(text: str) -> int:
    address = int(text, 0) if text[:2].lower() == "0x" else int(text)
    if address >= 1 << 32:
        raise UsageError(f"the address {text} has more than 32 bits")
    return address


def _hex_blocks(data: bytes, path: Path) -> list[hexfile.Block]:
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise BadElf(f"{path} is not an Intel HEX file: byte {error.start} is not ASCII") from error
    blocks = hexfile.read(text, str(path))
    if not blocks:
        raise BadElf(f"{path} has nothing to load")
    return blocks


def _folder(folder: BuildFolder) -> list[Image]:
    if folder.application is None:
        raise UsageError(
            f"{folder.path} is a folder without {' or '.join(APPLICATIONS)}",
            hint="name a build folder (Zephyr's, or a merged.hex beside the ELF of one non-secure"
            " image), or the image itself",
        )
    application = Image.from_elf(folder.application)
    flashed = folder.flashed
    if flashed is None:
        return [application]
    return [application, *_images(flashed), *(Image.from_elf(elf) for elf in folder.others)]
