"""What gives an image without symbols its names, by what the file is."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import needs
import pytest
from little_tflm import compile_little

from harness import footprint
from harness.base.errors import UsageError
from harness.cli import main
from harness.elf import Image, combined
from harness.elf.coverage import Coverage
from harness.elf.functions import address_of

#: Why there are no symbols, and what to do, of a command that takes --also-load.
STRIPPED = ("the image is stripped", "pass the ELF before it was stripped")
HEX = ("a HEX file has no symbols", "add the ELF with --also-load app.elf")
BINARY = ("a binary file has no symbols", "add the ELF with --also-load app.elf")
KINDS = {"stripped.elf": STRIPPED, "app.hex": HEX, "app.bin@0x0": BINARY}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one firmware as app.elf, and in each of the forms without symbols."""
    needs.require("arm-none-eabi-gcc")
    made = tmp_path_factory.mktemp("forms")
    elf = compile_little(made)
    for command in (
        ["objcopy", elf, "app.elf"], ["strip", "-o", "stripped.elf", elf],
        ["objcopy", "-O", "ihex", elf, "app.hex"], ["objcopy", "-O", "binary", elf, "app.bin"],
    ):  # fmt: skip
        subprocess.run([f"arm-none-eabi-{command[0]}", *command[1:]], cwd=made, check=True)
    return made


@pytest.mark.parametrize(("name", "said"), KINDS.items(), ids=KINDS)
def test_the_footprint_says_it(name: str, said: tuple[str, str], folder: Path) -> None:
    notes = footprint.analyse(combined.read(folder / name)).notes
    assert notes == (f"{said[0]}: bytes by section only, not by file or operator; {said[1]}",)


def test_with_the_elf_beside_it_nothing_is_missing(folder: Path) -> None:
    image = combined.read(folder / "app.hex", [folder / "app.elf"])
    assert not image.without_symbols and not image.symbols_hint()
    assert footprint.analyse(image).operators.operators


def test_without_debug_information_alone_the_image_is_to_be_built_with_it(
    tmp_path: Path,
) -> None:
    notes = footprint.analyse(Image.from_elf(compile_little(tmp_path, dwarf=""))).notes
    assert any(note.endswith("build with -g") for note in notes)


@pytest.mark.parametrize("name", KINDS)
def test_the_hint_of_a_command_says_it(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = str(folder / name)
    assert main(["resolver", "check", image, "hello_world_int8", "--until", "setup"]) == 2
    hint = capsys.readouterr().err.partition("hint: ")[2]
    assert hint.startswith(KINDS[name][1])


def test_a_command_without_the_option_asks_for_the_elf_itself(folder: Path) -> None:
    with pytest.raises(UsageError) as refused:
        address_of(combined.read(folder / "app.hex"), "Invoke")
    assert refused.value.message.endswith(": a HEX file has no symbols")
    assert refused.value.hint == "pass the ELF instead"
    with pytest.raises(UsageError) as refused:
        address_of(combined.read(folder / "app.elf"), "NoSuchFunction")
    assert "link-time optimization" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "why"),
    [("app.hex", ": ".join(HEX)), ("stripped.elf", ": ".join(STRIPPED)), ("app.elf", "")],
)
def test_coverage_without_lines_is_told(
    name: str, why: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    image = combined.read(folder / name)
    with caplog.at_level(logging.WARNING):
        Coverage.from_counts(image, {0x100: 1}, [0x100])
    told = [f"no source lines in the coverage of {name}: {why}"] if why else []
    assert caplog.messages == told
