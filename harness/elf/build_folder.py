"""The application, the flashed image and the other ELFs in a build folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.base import files
from harness.elf import trustzone
from harness.elf.image import Image

#: Paths in a build folder of Zephyr, sysbuild or TF-M, or in a folder with all files.
APPLICATIONS = ("zephyr/zephyr.elf", "zephyr.elf")
_MERGED = ("merged.hex", "zephyr/tfm_merged.hex", "zephyr/merged.hex", "tfm_merged.hex")
_OTHERS = (
    "tfm/bin/tfm_s.elf", "tfm_s.elf", "tfm/bin/bl2.elf", "bl2.elf",
    "mcuboot/zephyr/zephyr.elf", "mcuboot.elf", "bl2/mcuboot.elf",
)  # fmt: skip
#: In sysbuild's domains.yaml: the default image's name, and each image's.
_DEFAULT_DOMAIN = re.compile(r"^default:\s*['\"]?([\w.-]+)", re.MULTILINE)
_DOMAIN = re.compile(r"^\s*-\s*name:\s*['\"]?([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True)
class BuildFolder:
    """The files in ``path`` that make one image, each found at first use."""

    path: Path

    @cached_property
    def application(self) -> Path | None:
        """The ELF of the application; None if the folder is not an image.

        If no file has a known name, it is the only non-secure ELF beside a merged file, or the only
        ELF.
        """
        named = _first_file(self.path, self._application_names)
        if named is not None or _first_file(self.path, _MERGED) is None:
            return named
        elves = self._elves()
        non_secure = [elf for elf in elves if trustzone.is_non_secure(Image.from_elf(elf))]
        for candidates in (non_secure, elves):
            if len(candidates) == 1:
                return candidates[0]
        return None

    @property
    def flashed(self) -> Path | None:
        """The HEX file of all that is flashed; None if that is the application's ELF alone."""
        for folder in self._build_folders:
            merged = _first_file(folder, _MERGED)
            if merged is not None:
                return merged
        return self._signed()

    @property
    def others(self) -> list[Path]:
        """The ELFs of bootloader, secure firmware and sysbuild's other domains."""
        places = [folder / name for folder in self._build_folders for name in _OTHERS]
        places += [self.path / name / APPLICATIONS[0] for name in self._domains]
        elves = [path for path in dict.fromkeys(places) if files.is_file(path)] or self._elves()
        return [elf for elf in elves if elf != self.application]

    @property
    def _build_folders(self) -> list[Path]:
        """This folder, and the application's own, which sysbuild puts below it."""
        if self.application is None:
            return [self.path]
        folder = self.application.parent
        own = folder.parent if folder.name == "zephyr" else folder
        return list(dict.fromkeys((self.path, own)))

    def _signed(self) -> Path | None:
        """The signed application of a sysbuild with a bootloader but without a merged file."""
        if self.application is None or len(self._domains) < 2:
            return None
        return _first_file(self.application.parent, ["zephyr.signed.hex"])

    @property
    def _application_names(self) -> list[str]:
        default = _DEFAULT_DOMAIN.search(self._domains_file)
        return [*([f"{default[1]}/{APPLICATIONS[0]}"] if default else []), *APPLICATIONS]

    @property
    def _domains(self) -> list[str]:
        """The names of a sysbuild's images."""
        return _DOMAIN.findall(self._domains_file)

    @cached_property
    def _domains_file(self) -> str:
        """Sysbuild's list of its images; "" for any other build."""
        path = self.path / "domains.yaml"
        return files.read(path).decode("utf-8", "replace") if files.is_file(path) else ""

    def _elves(self) -> list[Path]:
        """The ELFs of a folder whose file names no known build system uses."""
        return sorted(path for path in self.path.glob("*.elf") if files.is_file(path))


def _first_file(folder: Path, names: Iterable[str]) -> Path | None:
    return next((folder / name for name in names if files.is_file(folder / name)), None)
