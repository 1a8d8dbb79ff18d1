"""Images of mutants: one file of the samples' shared code compiled anew, all else as it was."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from kept_images import keep, kept

from harness.base import paths
from harness.build import generated, ninja
from harness.build.generated import BuiltinInputs
from harness.build.options import BuildOptions
from harness.build.standalone import ImageSource, build_images, image_source
from harness.build.table import load

FIRMWARE = Path(__file__).parents[1] / "firmware"
COMPILER = "arm-none-eabi-gcc"
_ARENA = 96 * 1024


def edited(source: Path, edits: Sequence[tuple[str, str]]) -> str:
    """The text of ``source`` with each edit made; each must fit in exactly one place."""
    text = source.read_text(encoding="utf-8")
    for old, new in edits:
        count = text.count(old)
        assert count == 1, f"{old!r} stands {count} times in {source.name}, not once"
        text = text.replace(old, new)
    return text


class MutantBuilder:
    """Puts one object of its own before the archive, so that the linker takes that one.

    ``source`` has the name of the file that it replaces. It is compiled once, for all images that
    are linked with it; the object is kept.
    """

    def __init__(self, source: Path) -> None:
        self._source = source

    def link_sample(self, sample: str, resolver: str, folder: Path) -> Path:
        """The ELF of a sample."""
        variant = load().variant(sample, resolver, "standalone")
        return self._linked(image_source(variant, BuildOptions()), folder)

    def link_model(self, model: bytes, inputs: Sequence[np.ndarray], folder: Path) -> Path:
        """The ELF that runs any model on ``inputs``, (runs, ...) each, with every operator."""
        variant = load().variant("digits", "all", "standalone")
        runs = len(inputs[0])
        sample = replace(variant.sample, name="model", model="model.tflite", inferences=runs)
        rows = [b"".join(array[run].tobytes() for array in inputs) for run in range(runs)]
        data = BuiltinInputs(runs, len(rows[0]), b"".join(rows))
        made = replace(variant, sample=sample, arena=_ARENA)
        header = generated.config_header(made, model, data)
        own = header.partition('TFLM_HIL_BUILD "')[2][:16]
        source = generated.data_source(model, data)
        return self._linked(
            ImageSource(f"model-{own}", "model-all", "digits", header, source), folder
        )

    def _linked(self, program: ImageSource, folder: Path) -> Path:
        """The image of ``program``, linked again with the mutant."""
        elf = build_images([program], BuildOptions())[0].elf
        top = elf.parents[2]
        asked = [ninja.program(), "-t", "commands", "-s", str(elf.relative_to(top))]
        told = subprocess.run(asked, cwd=top, capture_output=True, text=True, check=True).stdout
        command = shlex.split(told.split(" && ")[1])
        command[command.index("-o") + 1] = str(folder / elf.name)
        archive = next(word for word in command if word.endswith("/runtime.a"))
        command.insert(command.index(archive), str(self._mutant(top)))
        command = [word for word in command if not word.startswith("-Wl,-Map=")]
        subprocess.run(command, cwd=top, check=True)
        return folder / elf.name

    def _mutant(self, top: Path) -> Path:
        """The object of the mutant, compiled as the file that it replaces."""
        name, text = self._source.name, self._source.read_text(encoding="utf-8")
        entries = json.loads((top / "compile_commands.json").read_bytes())
        entry = next(
            one
            for one in entries
            if Path(one["file"]).name == name and one["output"].startswith("nrf9160/")
        )
        words = shlex.split(entry["command"].partition(" -MD ")[0])
        compiler = next(number for number, word in enumerate(words) if word.endswith("g++"))
        command = [word for word in words[compiler:] if word != "-Werror"]  # without ccache

        def make(made: Path) -> None:
            (made / name).write_text(text, encoding="utf-8")
            line = [*command, "-c", str(made / name), "-o", str(made / "mutant.o")]
            subprocess.run(line, cwd=top, check=True)

        headers = sorted(path for path in paths.platforms().rglob("*.h"))
        headers += sorted(paths.own_samples().rglob("*.h"))
        return (
            keep([*command, name, text, *(one.read_bytes() for one in headers)], make) / "mutant.o"
        )


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
