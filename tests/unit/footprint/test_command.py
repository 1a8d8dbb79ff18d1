"""``tflm-hil footprint`` and ``tflm-hil resolver`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from little_tflm import compile_little

from harness.cli import main

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> str:
    needs.require("arm-none-eabi-gcc")
    return str(compile_little(tmp_path_factory.mktemp("cli"), register=BOTH))


def test_json_is_one_document_alone(elf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["footprint", elf, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [region["name"] for region in document["regions"]] == ["FLASH", "RAM"]


@pytest.mark.parametrize("view", ["region", "section", "file", "symbol", "operator", "ram"])
def test_every_view_prints(elf: str, view: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["footprint", elf, "--by", view]) == 0
    assert f"By {view}" in capsys.readouterr().out


def test_a_failed_measurement_is_noted_in_its_row(
    elf: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The little image has an arena and no tflite-micro that takes it."""
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["footprint", elf, "--measure"]) == 0
    out = capsys.readouterr().out
    assert "does not show where it takes its arena" in out and "2 slots of 36 B, 2 filled" in out


def test_two_images_are_held_against_the_operators_between_them(
    elf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = str(compile_little(tmp_path, register="resolver.AddConv2D();"))
    assert main(["footprint", elf, "--baseline", one, "--json", "-"]) == 0
    swap = json.loads(capsys.readouterr().out)["comparison"]["swap"]
    assert swap["operators"] == ["SOFTMAX"] and swap["agrees"] is True
    assert main(["footprint", elf, "--baseline", one]) == 0
    assert "within the bound" in capsys.readouterr().out


def test_over_budget_is_exit_code_1_and_within_is_0(
    elf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text("flash = 1000000\nram = 10\n")
    assert main(["footprint", elf, "--budget", str(budget)]) == 1
    assert "over budget: ram" in capsys.readouterr().err
    budget.write_text('flash = "+0"\n')
    assert main(["footprint", elf, "--budget", str(budget), "--baseline", elf]) == 0


def test_a_pull_request_report_is_markdown_alone(
    elf: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["footprint", elf, "--baseline", elf, "--markdown", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("### Footprint of") and "| FLASH |" in out


@pytest.mark.parametrize(
    "arguments",
    [["footprint", "{none}"], ["footprint", "{text}"], ["footprint", "{elf}", "--region", "CCM"],
     ["footprint", "{elf}", "--baseline", "{text}"], ["resolver", "check", "{elf}", "{text}"],
     ["resolver", "dump", "{elf}", "--until", "nowhere"], ["resolver", "generate", "{text}"],
     ["arena", "{text}"]],
)  # fmt: skip
def test_bad_input_is_one_message_and_exit_code_2(
    elf: str, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("no image, no model, no baseline")
    names = {"none": str(tmp_path / "none.elf"), "text": str(text), "elf": elf}
    assert main([argument.format(**names) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said and len(said.strip().splitlines()) <= 4
