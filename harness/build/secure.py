"""The secure image below a non-secure one: its build, and the merging of both into one file.

It takes no options: all non-secure images of one compiler share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.build.cache import Cache, digest, tree_digest
from harness.build.result import BuildOptions
from harness.build.toolchain import Toolchain
from harness.elf import Image, hexfile

#: Files that it shares with the non-secure runtime.
_SHARED = ("console.cc", "format.cc", "uarte.cc")
_ELF, _GATEWAYS, _MERGED = "secure.elf", "gateways.o", "merged.hex"


@dataclass(frozen=True)
class SecureImage:
    """The image, and the import library with the addresses of its gateways."""

    elf: Path
    gateways: Path


def build(tools: Toolchain, cache: Cache, runtime: Path) -> SecureImage:
    """Build ``secure/`` of ``runtime``, or take it from the cache.

    Raises :class:`BuildFailed` with the compiler's own message.
    """
    own, shared = runtime / "secure", runtime / "soc"
    sources = [*sorted(own.glob("*.cc")), *(shared / name for name in _SHARED)]
    # Built without the floating point unit, it leaves the caller's FPU registers alone.
    flags = (*tools.flags(BuildOptions(fpu=False)), "-mcmse",
             f"-ffile-prefix-map={runtime}=platforms/standalone")  # fmt: skip

    def fill(folder: Path) -> None:
        objects = [folder / f"{source.stem}.o" for source in sources]
        for source, target in zip(sources, objects, strict=True):
            here = f"-ffile-prefix-map={folder}=generated"
            tools.compile(source, target, (*flags, here), [shared, own])
        exported = ("-Wl,--cmse-implib", f"-Wl,--out-implib={folder / _GATEWAYS}")
        tools.link(objects, own / "secure.ld", folder / _ELF, (*flags, *exported))

    key = digest(tools.identity, "\0".join(flags), tree_digest([own, shared]))
    folder = cache.make(key, fill)
    return SecureImage(folder / _ELF, folder / _GATEWAYS)


def merge(application: Path, secure: SecureImage) -> None:
    """Write the secure ELF and ``merged.hex``, which holds both, beside ``application``.

    Raises :class:`UsageError` if they overlap.
    """
    folder = application.parent
    files.write(folder / _ELF, secure.elf.read_bytes())
    images: Sequence[Image] = [Image.from_elf(elf) for elf in (secure.elf, application)]
    segments = [segment for image in images for segment in image.segments if segment.data]
    merged = hexfile.merge([(part.load_address, part.data) for part in segments], _MERGED)
    files.write(folder / _MERGED, hexfile.write(merged))
