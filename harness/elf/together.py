"""What a build leaves, as one image: ELF, Intel HEX, bytes at an address, a build folder, several.

A HEX or binary file says what lies in flash; an ELF says that too, and what it is called. Of
several files the HEX and binary files are believed first: they are signed, and hold what is
flashed. An ELF whose bytes they hold already only gives its names; one that they do not touch is
loaded beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness import files
from harness.elf import hexfile, trustzone, vectors
from harness.elf.file import Segment
from harness.elf.image import Image
from harness.elf.wrapped import wrap
from harness.errors import BadElf, UsageError

#: ``app.bin@0x10000``: bytes that do not say where they go.
_PLACED = re.compile(r"(?P<file>.+)@(?P<address>0[xX][0-9a-fA-F]+|\d+)")
#: What a build folder holds: Zephyr's, sysbuild's, TF-M's, or all in one folder.
_APPLICATIONS = ("zephyr/zephyr.elf", "zephyr.elf")
_MERGED = ("merged.hex", "zephyr/tfm_merged.hex", "zephyr/merged.hex", "tfm_merged.hex")
_OTHERS = (
    "tfm/bin/tfm_s.elf", "tfm_s.elf", "tfm/bin/bl2.elf", "bl2.elf",
    "mcuboot/zephyr/zephyr.elf", "mcuboot.elf", "bl2/mcuboot.elf",
)  # fmt: skip
_DEFAULT_DOMAIN = re.compile(r"^default:\s*['\"]?([\w.-]+)", re.MULTILINE)
_DOMAIN = re.compile(r"^\s*-\s*name:\s*['\"]?([\w.-]+)", re.MULTILINE)


def read(path: Path | str, beside: Sequence[Path | str] = ()) -> Image:
    """The image in ``path``, with what is loaded ``beside`` it.

    Each may be an ELF, an Intel HEX file, ``FILE@ADDRESS`` for plain bytes, or a build folder.
    Raises :class:`UsageError` for a file that is none of them, or files that contradict each other.
    """
    images = [one for each in (path, *beside) for one in _images(Path(each))]
    return images[0] if len(images) == 1 else compose(images)


def compose(images: Sequence[Image]) -> Image:
    """Several images as one: the first ELF, with the others beside it.

    Raises :class:`UsageError` where two of them set the same bytes to different values.
    """
    named = [image for image in images if image.sections or image.symbols]
    plain = [image for image in images if image not in named]
    blocks = hexfile.merge(
        [(s.load_address, s.data) for image in plain for s in image.segments],
        " and ".join(str(image.path) for image in plain),
    )
    segments = [Segment(address, address, len(data), data) for address, data in blocks]
    for image in named:
        if not _held(image, blocks):
            segments += image.segments
    main = (named or plain)[0]
    others = tuple(image for image in named if image is not main)
    return replace(main, beside=others, composed=tuple(segments))


def is_image(path: Path) -> bool:
    """True for what :func:`read` takes by its name: a file, bytes at an address, a build folder."""
    placed = _PLACED.fullmatch(str(path))
    if files.is_file(path) or (placed and files.is_file(Path(placed["file"]))):
        return True
    return files.is_folder(path) and _application(path) is not None


def name_of(path: Path) -> str:
    """What to call a run of ``path``: the folder's name, or the file's without its ending."""
    placed = None if path.exists() else _PLACED.fullmatch(str(path))
    return Path(placed["file"]).stem if placed else path.resolve().stem


def own_blocks(image: Image) -> list[hexfile.Block]:
    """What ``image`` stores for sure: its sections, or segments where it has none.

    The filler between sections is left out, which each tool writes as it likes, and the room for a
    bootloader's header below the vectors.
    """
    told = vectors.named(image)
    stored = [(s.load_address, s.data) for s in image.sections if s.load_address is not None]
    blocks = stored or [(s.load_address, s.data) for s in image.segments]
    return [_without_room(block, told[0] if told else 0) for block in blocks if block[1]]


def _without_room(block: hexfile.Block, table: int) -> hexfile.Block:
    start, data = block
    room = table - start if start < table < start + len(data) else 0
    return block if any(data[:room]) else (start + room, data[room:])


def _held(image: Image, blocks: Sequence[hexfile.Block]) -> bool:
    """True where ``blocks`` hold all of ``image``, False where they touch none of it."""
    own = own_blocks(image)
    missing = hexfile.differences(own, blocks)
    if not missing:
        return True
    touched = [
        start
        for start, data in own
        for address, content in blocks
        if start < address + len(content) and address < start + len(data)
    ]
    if touched:
        raise UsageError(
            f"{image.path} has other bytes at 0x{missing[0]:08x} than the HEX or binary file",
            hint="they are from different builds: build again",
        )
    return False


def _images(path: Path) -> list[Image]:
    if files.is_folder(path):
        return _folder(path)
    placed = None if files.is_file(path) else _PLACED.fullmatch(str(path))
    if placed is not None:
        file = Path(placed["file"])
        data = files.read(file, error=BadElf)
        if not data:
            raise BadElf(f"{file} is empty")
        return [Image(file, wrap([(_address(placed["address"]), data)]))]
    data = files.read(path, error=BadElf)
    if data.lstrip()[:1] == b":":
        return [Image(path, wrap(_hex_blocks(data, path)))]
    if path.suffix == ".bin" and data[:4] != b"\x7fELF":
        raise BadElf(f"{path} does not say where it goes", hint=f"name it as {path.name}@ADDRESS")
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
        raise BadElf(f"{path} is no Intel HEX file: byte {error.start} is no ASCII") from error
    blocks = hexfile.read(text, str(path))
    if not blocks:
        raise BadElf(f"{path} has nothing to load")
    return blocks


def _folder(folder: Path) -> list[Image]:
    application = _application(folder)
    if application is None:
        raise UsageError(
            f"{folder} is a folder without {' or '.join(_APPLICATIONS)}",
            hint="name a build folder (Zephyr's, or a merged.hex beside the ELF of one non-secure"
            " image), or the image itself",
        )
    main = Image.from_elf(application)
    loaded = _merged(folder, application) or _signed(folder, application)
    if loaded is None:
        return [main]
    others = [one for one in _others(folder, application) if one != application]
    return [main, *_images(loaded), *(Image.from_elf(one) for one in others)]


def _others(folder: Path, application: Path) -> list[Path]:
    """The ELFs of bootloader, secure firmware and sysbuild's other domains."""
    places = dict.fromkeys((folder, _build_of(application)))
    found = [place / name for place in places for name in _OTHERS]
    found += [folder / name / "zephyr" / "zephyr.elf" for name in _domains(folder)]
    there = [one for one in dict.fromkeys(found) if files.is_file(one)]
    return there or _elves(folder)


def _build_of(application: Path) -> Path:
    """The build folder of one image, which is not sysbuild's own."""
    folder = application.parent
    return folder.parent if folder.name == "zephyr" else folder


def _signed(folder: Path, application: Path) -> Path | None:
    """What sysbuild leaves for a bootloader of the same build, where nothing merges the two."""
    signed = application.with_name("zephyr.signed.hex")
    return signed if files.is_file(signed) and len(_domains(folder)) > 1 else None


def _domains(folder: Path) -> list[str]:
    """The names of a sysbuild folder's images."""
    return _DOMAIN.findall(_told_domains(folder))


def _told_domains(folder: Path) -> str:
    path = folder / "domains.yaml"
    return files.read(path).decode("utf-8", "replace") if files.is_file(path) else ""


def _merged(folder: Path, application: Path | None = None) -> Path | None:
    places = dict.fromkeys((folder, _build_of(application) if application else folder))
    found = (place / name for place in places for name in _MERGED)
    return next((one for one in found if files.is_file(one)), None)


def _elves(folder: Path) -> list[Path]:
    """The ELFs of a folder that no known build system made."""
    return sorted(path for path in folder.glob("*.elf") if files.is_file(path))


def _application(folder: Path) -> Path | None:
    """The image that a folder's run is about.

    Where no name tells: beside a merged file, the one ELF that is non-secure, or that is alone.
    """
    told = _told(folder)
    if told is not None or _merged(folder) is None:
        return told
    elves = _elves(folder)
    non_secure = [one for one in elves if trustzone.is_non_secure(Image.from_elf(one))]
    for fitting in (non_secure, elves):
        if len(fitting) == 1:
            return fitting[0]
    return None


def _told(folder: Path) -> Path | None:
    names = list(_APPLICATIONS)
    told = _DEFAULT_DOMAIN.search(_told_domains(folder))
    if told:  # sysbuild: one folder an image
        names.insert(0, f"{told[1]}/zephyr/zephyr.elf")
    return next((folder / name for name in names if files.is_file(folder / name)), None)
