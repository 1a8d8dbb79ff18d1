"""The secure image for non-secure ones: its build, and merging of both into one file.

It has no options: all non-secure images of a compiler for a chip share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.build.cache import Cache
from harness.build.compiler import Compiler
from harness.build.inputs import Inputs, digest
from harness.build.options import BuildOptions
from harness.build.toolchain import Toolchain
from harness.elf import Image, hexfile

#: Files that it shares with the non-secure runtime.
_SHARED = ("console.cc", "format.cc", "uarte.cc")
#: Bytes that it occupies at the start of each memory (platforms/standalone/secure/layout.h).
TAKEN = {"flash": 0x8000, "ram": 0x2000}
_ELF, _GATEWAYS, _MERGED = "secure.elf", "gateways.o", "merged.hex"


@dataclass(frozen=True)
class SecureImage:
    """The ELF, and the import library with the addresses of its secure gateways."""

    elf: Path
    gateways: Path


def build(compiler: Compiler, cache: Cache, runtime: Path) -> SecureImage:
    """Builds ``secure/`` of ``runtime``, or takes it from the cache.

    ``compiler`` has the flags of :func:`flags`. Raises :class:`BuildFailed` with the compiler's
    message.
    """
    own, shared = runtime / "secure", runtime / "soc"
    sources = [*sorted(own.glob("*.cc")), *(shared / name for name in _SHARED)]

    def fill(folder: Path) -> Inputs:
        objects = [folder / f"{source.stem}.o" for source in sources]
        names = [(runtime, "platforms/standalone"), (folder, "generated")]
        read = compiler.compile(list(zip(sources, objects, strict=True)), names, [shared, own])
        exported = ("-Wl,--cmse-implib", f"-Wl,--out-implib={folder / _GATEWAYS}")
        linked = compiler.link(objects, own / "secure.ld", folder / _ELF, exported)
        return Inputs.of(read, linked)

    names = (source.relative_to(runtime).as_posix() for source in sources)
    folder = cache.make(digest("secure", compiler.key, *names), fill)
    return SecureImage(folder / _ELF, folder / _GATEWAYS)


def flags(chip: str) -> tuple[str, ...]:
    """The flags of the secure image for a chip; it does not use the FPU, whose state is shared."""
    return (*Toolchain.flags(BuildOptions(fpu=False, chip=chip)), "-mcmse")


def merge(application: Path, secure: SecureImage) -> None:
    """Writes the secure ELF and ``merged.hex``, which contains both, beside ``application``.

    Raises :class:`UsageError` if they overlap.
    """
    folder = application.parent
    files.write(folder / _ELF, secure.elf.read_bytes())
    images: Sequence[Image] = [Image.from_elf(elf) for elf in (secure.elf, application)]
    segments = [segment for image in images for segment in image.segments if segment.data]
    merged = hexfile.merge([(part.load_address, part.data) for part in segments], _MERGED)
    files.write(folder / _MERGED, hexfile.write(merged))
