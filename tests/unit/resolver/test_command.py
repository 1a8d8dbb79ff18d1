"""`tflm-hil resolver check` from the command line: exit codes, reasons, hints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from model_builder import Op, T, build

from harness.base.errors import ExitCode
from harness.cli import main
from harness.elf import Image

Compile = Callable[..., Image]

CONDITION = "if (*reinterpret_cast<volatile unsigned*>(0x50842510)) "


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "conv.tflite"
    tensors = [T([1, 4], scale=0.5), T([1, 4], scale=0.5)]
    path.write_bytes(build(tensors, [Op("CONV_2D", [0], [1])], [0], [1]))
    return path


def test_a_proof_is_exit_code_0(compile_image: Compile, model: Path) -> None:
    image = compile_image("resolver.AddConv2D();", 1)
    assert main(["resolver", "check", str(image.path), str(model)]) == ExitCode.PASSED


def test_a_wrong_resolver_is_exit_code_1(compile_image: Compile, model: Path) -> None:
    image = compile_image("resolver.AddSoftmax();", 1)
    assert main(["resolver", "check", str(image.path), str(model)]) == ExitCode.CHECK_FAILED


def test_what_cannot_be_told_is_exit_code_5_with_its_reason(
    compile_image: Compile, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = compile_image(f"{CONDITION}resolver.AddConv2D();", 1)
    assert main(["resolver", "check", str(image.path), str(model)]) == ExitCode.CANNOT_TELL == 5
    error = capsys.readouterr().err
    assert "CONV_2D: registered on some paths only; a branch decides (setup at main.cc" in error
    assert "reads 0x50842510" in error
    assert "resolver check --live" in error


def test_the_document_has_the_reason(
    compile_image: Compile, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = compile_image(f"{CONDITION}resolver.AddConv2D();", 1)
    main(["resolver", "check", str(image.path), str(model), "--json", "-"])
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "cannot_tell"
    assert document["reason"].startswith("CONV_2D: registered on some paths only")


def test_an_image_without_a_resolver_cannot_be_told_live(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "silent.elf"
    vectors = (0x2000_1000).to_bytes(4, "little") + (9).to_bytes(4, "little")
    loop = bytes.fromhex("fee7fee7")  # b .
    code = MadeSection(".text", 0, vectors + loop, load=0, executable=True)
    path.write_bytes(write_elf([code], [MadeSymbol("main", 9, 2, "func")]))
    command = ["resolver", "check", "--live", str(path), str(model), "--timeout", "0.01"]
    assert main(command) == ExitCode.CANNOT_TELL
