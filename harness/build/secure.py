"""The secure image below a non-secure one: what it is built of, and both as one file.

It takes no options: every non-secure image of one compiler stands on the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.build.cache import Cache, digest, tree_digest
from harness.build.result import BuildOptions
from harness.build.toolchain import Toolchain
from harness.elf import Firmware, hexfile

#: What it shares with the runtime above it; the rest is its own.
_SHARED = ("console.cc", "format.cc", "uarte.cc")
_ELF, _GATEWAYS, _MERGED = "secure.elf", "gateways.o", "merged.hex"


@dataclass(frozen=True)
class SecureImage:
    """The image, and the import library that tells where its gateways are."""

    elf: Path
    gateways: Path


def build(tools: Toolchain, cache: Cache, runtime: Path) -> SecureImage:
    """Build ``secure/`` of ``runtime``, or take it from the cache.

    Raises :class:`BuildFailed` with the compiler's own words.
    """
    own, shared = runtime / "secure", runtime / "soc"
    sources = [*sorted(own.glob("*.cc")), *(shared / name for name in _SHARED)]
    # Without a floating point unit it leaves the caller's registers alone.
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
    made = cache.make(key, fill)
    return SecureImage(made / _ELF, made / _GATEWAYS)


def merge(application: Path, secure: SecureImage) -> None:
    """Leave beside ``application`` the secure ELF and ``merged.hex``, which holds both.

    Raises :class:`UsageError` if they overlap.
    """
    folder = application.parent
    files.write(folder / _ELF, secure.elf.read_bytes())
    images: Sequence[Firmware] = [Firmware.from_elf(one) for one in (secure.elf, application)]
    blocks = [(one.load_address, one.data) for image in images for one in image.segments]
    merged = hexfile.merge([block for block in blocks if block[1]], _MERGED)
    files.write(folder / _MERGED, hexfile.write(merged))
