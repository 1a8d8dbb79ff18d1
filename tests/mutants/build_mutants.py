"""Images of mutants: one file of the samples' shared code compiled anew, all else as it was."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.base import paths
from harness.build import configurations, standalone
from harness.build.options import BuildOptions

FIRMWARE = Path(__file__).parents[1] / "firmware"
COMPILER = shutil.which("arm-none-eabi-gcc")


def edited(source: Path, edits: Sequence[tuple[str, str]]) -> str:
    """The text of ``source`` with each edit made; each must fit in exactly one place."""
    text = source.read_text(encoding="utf-8")
    for old, new in edits:
        count = text.count(old)
        assert count == 1, f"{old!r} stands {count} times in {source.name}, not once"
        text = text.replace(old, new)
    return text


class _MutantBuilder(standalone._Builder):
    """Puts one object of its own before the archive, so that the linker takes that one."""

    def __init__(self, source: Path) -> None:
        super().__init__(configurations.load(), BuildOptions())
        self._source = source

    def link_mutant(self, sample: str, resolver: str, folder: Path) -> Path:
        variant = self._table.variant(sample, resolver, "standalone")
        model = (paths.models() / variant.sample.model).read_bytes()
        inputs = standalone.generated.inputs_of(variant.sample, paths.models())
        header = standalone.generated.config_header(variant, model, inputs)
        data = standalone.generated.data_source(model, inputs)
        elf = folder / f"{sample}-{resolver}.elf"
        self._link(folder, elf, variant, header, data)
        return elf

    def _data(self, text: str) -> Path:
        folder = self._source.parent
        target = folder / "mutant.o"
        flags = self._compiler.flags_with(self._names(folder))
        flags.remove("-Werror")
        self._tools.compile(self._source, target, flags, self._include)
        joined = folder / "data_and_mutant.o"
        linker = self._tools.compiler.with_name("arm-none-eabi-ld")  # beside the compiler
        subprocess.run([linker, "-r", "-o", joined, super()._data(text), target], check=True)
        return joined


def sample_mutant(
    file: str, edits: Sequence[tuple[str, str]], sample: str, resolver: str, folder: Path
) -> Path:
    """The ELF of a sample whose ``file`` (below zephyr_samples) is edited."""
    source = folder / Path(file).name
    source.write_text(edited(paths.samples() / file, edits), encoding="utf-8")
    return _MutantBuilder(source).link_mutant(sample, resolver, folder)


def kernel_mutant(file: str, text: str, sample: str, folder: Path) -> Path:
    """The ELF of a sample whose runtime has one file with another text."""
    source = folder / file
    source.write_text(text, encoding="utf-8")
    return _MutantBuilder(source).link_mutant(sample, "exact", folder)


def firmware_mutant(file: str, edits: Sequence[tuple[str, str]], folder: Path) -> Path:
    """The ELF of one of the small firmwares in tests/firmware, edited."""
    source, elf = folder / file, folder / "firmware.elf"
    source.write_text(edited(FIRMWARE / file, edits), encoding="utf-8")
    flags = ["-mcpu=cortex-m33", "-mthumb", "-O1", "-g", "-nostdlib", "-fno-builtin"]
    script = FIRMWARE / "machine.ld"
    command = [COMPILER, *flags, f"-I{FIRMWARE}", f"-T{script}", source, "-o", elf]
    subprocess.run(command, check=True)
    return elf
