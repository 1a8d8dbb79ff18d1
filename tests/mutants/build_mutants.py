"""Images of mutants: one file of the samples' shared code compiled anew, all else as it was."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from kept_images import kept

from harness.base import paths
from harness.build import configurations, standalone
from harness.build.generated import BuiltinInputs
from harness.build.inputs import Inputs, digest
from harness.build.options import BuildOptions
from harness.build.variants import Variant

FIRMWARE = Path(__file__).parents[1] / "firmware"
COMPILER = "arm-none-eabi-gcc"
_ARENA = 96 * 1024
_HEADER = "tflm_hil_config.h"


def edited(source: Path, edits: Sequence[tuple[str, str]]) -> str:
    """The text of ``source`` with each edit made; each must fit in exactly one place."""
    text = source.read_text(encoding="utf-8")
    for old, new in edits:
        count = text.count(old)
        assert count == 1, f"{old!r} stands {count} times in {source.name}, not once"
        text = text.replace(old, new)
    return text


class MutantBuilder(standalone._Builder):
    """Puts one object of its own before the archive, so that the linker takes that one.

    ``source`` is compiled once, for all images that are linked with it; the object is kept.
    """

    def __init__(self, source: Path) -> None:
        super().__init__(configurations.load(), BuildOptions())
        self._source = source

    def link_sample(self, sample: str, resolver: str, folder: Path) -> Path:
        """The ELF of a sample."""
        variant = self._table.variant(sample, resolver, "standalone")
        model = (paths.models() / variant.sample.model).read_bytes()
        inputs = standalone.generated.inputs_of(variant.sample, paths.models())
        return self._image(variant, model, inputs, folder)

    def link_model(self, model: bytes, inputs: Sequence[np.ndarray], folder: Path) -> Path:
        """The ELF that runs any model on ``inputs``, (runs, ...) each, with every operator."""
        variant = self._table.variant("digits", "all", "standalone")
        runs = len(inputs[0])
        sample = replace(variant.sample, name="model", model="model.tflite", inferences=runs)
        rows = [b"".join(array[run].tobytes() for array in inputs) for run in range(runs)]
        data = BuiltinInputs(runs, len(rows[0]), b"".join(rows))
        return self._image(replace(variant, sample=sample, arena=_ARENA), model, data, folder)

    def _image(
        self, variant: Variant, model: bytes, inputs: BuiltinInputs | None, folder: Path
    ) -> Path:
        header = standalone.generated.config_header(variant, model, inputs)
        data = standalone.generated.data_source(model, inputs)
        elf = folder / f"{variant.sample.name}-{variant.configuration.name}.elf"
        self._link(folder, elf, variant, header, data)
        return elf

    def _compile(
        self, pairs: Sequence[tuple[Path, Path]], folder: Path, include: Sequence[Path],
        jobs: int = 1,
    ) -> Inputs:  # fmt: skip
        """The sample's own sources, of which none is spoilt, are compiled once for all mutants."""
        header = folder / _HEADER
        if not header.exists():
            return super()._compile(pairs, folder, include, jobs)
        text = header.read_text(encoding="utf-8")
        names = [str(source) for source, _ in pairs]

        def fill(made: Path) -> Inputs:
            (made / _HEADER).write_text(text, encoding="utf-8")
            own = [(source, made / target.name) for source, target in pairs]
            return super(MutantBuilder, self)._compile(own, made, [*self._include, made], jobs)

        compiled = self._cache.make(digest("sample", self._compiler.key, text, *names), fill)
        for _, target in pairs:
            shutil.copy(compiled / target.name, target)
        return Inputs()

    def _data(self, text: str) -> Path:
        joined = self._source.with_name("data_and_mutant.o")
        linker = self._tools.compiler.with_name("arm-none-eabi-ld")  # beside the compiler
        objects = [super()._data(text), self._mutant]
        subprocess.run([linker, "-r", "-o", joined, *objects], check=True)
        return joined

    @cached_property
    def _mutant(self) -> Path:
        name, text = self._source.name, self._source.read_text(encoding="utf-8")

        def fill(made: Path) -> Inputs:
            (made / name).write_text(text, encoding="utf-8")
            flags = self._compiler.flags_with(self._names(made))
            flags.remove("-Werror")
            target = made / "mutant.o"
            return Inputs(frozenset(self._tools.compile(made / name, target, flags, self._include)))

        return self._cache.make(digest("mutant", self._compiler.key, name, text), fill) / "mutant.o"


def sample_mutant(
    file: str, edits: Sequence[tuple[str, str]], sample: str, resolver: str, folder: Path
) -> Path:
    """The ELF of a sample whose ``file`` (below zephyr_samples) is edited."""
    source = folder / Path(file).name
    source.write_text(edited(paths.samples() / file, edits), encoding="utf-8")
    return MutantBuilder(source).link_sample(sample, resolver, folder)


def kernel_mutant(file: str, text: str, folder: Path) -> MutantBuilder:
    """Links images whose runtime has one file with another text."""
    source = folder / file
    source.write_text(text, encoding="utf-8")
    return MutantBuilder(source)


def firmware_mutant(file: str, edits: Sequence[tuple[str, str]], folder: Path) -> Path:
    """The ELF of one of the small firmwares in tests/firmware, edited."""
    text = edited(FIRMWARE / file, edits)
    flags = ["-mcpu=cortex-m33", "-mthumb", "-O1", "-g", "-nostdlib", "-fno-builtin"]
    script = FIRMWARE / "machine.ld"
    command = [COMPILER, *flags, f"-I{FIRMWARE}", f"-T{script}", file]
    read = (script, FIRMWARE / "machine.h")
    return kept(folder / "firmware.elf", command, read=read, written={file: text})
