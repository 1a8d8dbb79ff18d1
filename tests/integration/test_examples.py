"""The examples do what their pages say, and notice a firmware that was spoilt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import inner_pytest
import needs
import pytest
from model_builder import Op, T, build, constant

from harness import Verdict, load_cases, run_case
from harness.build.builders import build_one
from harness.build.workspace import find_workspace
from harness.elf import Image
from harness.model import Model
from harness.resolver import check

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
needs_compiler = pytest.mark.needs("arm-none-eabi-gcc", "make")


def own_firmware(
    folder: Path,
    change: tuple[str, str] = ("", ""),
    example: str = "bare_metal",
    file: str = "main",
) -> Path:
    """The example in a folder of its own, with one change of its source, made."""
    copy = folder / example
    shutil.copytree(EXAMPLES / example, copy, ignore=shutil.ignore_patterns("*.elf", "*.o"))
    source = copy / "src" / f"{file}.c"
    text = source.read_text(encoding="utf-8")
    assert change[0] in text
    source.write_text(text.replace(*change, 1) if change[0] else text, encoding="utf-8")
    subprocess.run(["make"], cwd=copy, check=True, capture_output=True)
    return copy


@needs_compiler
def test_the_case_and_the_python_tests_of_the_bare_metal_example_pass(tmp_path):
    folder = own_firmware(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *inner_pytest.ARGUMENTS], cwd=folder,
        env={**os.environ, **inner_pytest.ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "5 passed" in done.stdout, done.stdout


@needs_compiler
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ((" + (high < 0)", " + 1"), Verdict.FAIL),  # rounds wrong
        (("all windows done", "all windows don"), Verdict.FIRMWARE),  # never says its last words
        (("  UartStart();\n  for", "  for"), Verdict.FIRMWARE),  # sends while UARTE0 is disabled
        (("  Main();\n", "  Main();\n  Main();\n"), Verdict.FAIL),  # everything twice
    ],
    ids=["rounding", "no end", "disabled", "twice"],
)
def test_the_case_of_the_bare_metal_example_notices(change, verdict, tmp_path):
    [case] = load_cases(own_firmware(tmp_path, change) / "hil.toml")
    assert run_case(case, tmp_path / "out").verdict is verdict


@needs_compiler
def test_both_worlds_of_the_example_take_their_interrupts(tmp_path):
    [case] = load_cases(own_firmware(tmp_path, example="two_worlds", file="secure") / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert (result.verdict, result.findings) == (Verdict.PASS, ()), result.reason


@needs_compiler
@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("secure", ("REG(0xE002ED08) = NONSECURE_IMAGE;", "")),  # non-secure vectors from 0
        ("secure", ("NVIC_ITNS0 = 1u << RTC0_IRQ;", "")),  # the timer's interrupt stays secure
        ("secure", ("NVIC_ISER0 = 1u << EGU0_IRQ;", "")),
        ("nonsecure", ("ICSR = 1u << 28;", "")),
        ("nonsecure", ("[15] = SysTick", "[15] = PendSv")),
    ],
    ids=["VTOR_NS", "ITNS", "secure interrupt", "PendSV", "SysTick"],
)
def test_the_case_of_two_worlds_notices(file, change, tmp_path):
    [case] = load_cases(own_firmware(tmp_path, change, "two_worlds", file) / "hil.toml")
    assert run_case(case, tmp_path / "out").verdict in (Verdict.FAIL, Verdict.FIRMWARE)


def test_the_case_of_the_zephyr_example_passes(tmp_path):
    needs.require("zephyr")
    workspace = find_workspace()
    for name in ("zephyr", "bare_metal"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    folder = tmp_path / "zephyr"
    command = ["west", "build", "-b", workspace.board("nrf9160dk/nrf9160"), str(folder)]
    subprocess.run(
        [sys.executable, "-m", *command, "-d", str(folder / "build")],
        cwd=workspace.base, env={**os.environ, "ZEPHYR_BASE": str(workspace.base)}, check=True,
    )  # fmt: skip
    [case] = load_cases(folder / "hil.toml")
    result = run_case(case, tmp_path / "out")
    assert result.passed, result.reason


@pytest.mark.slow
@needs_compiler
def test_the_sweep_example_finds_a_best_point_among_variants_that_all_pass(tmp_path):
    folder = shutil.copytree(EXAMPLES / "sweep", tmp_path / "sweep")
    told = shell("tflm-hil sweep sweep.toml --budget flash=60000 --budget ram=32000", folder)
    assert "6 of 6 points pass" in told
    assert "best within the budget, digits: resolver" in told


@pytest.mark.slow
@needs_compiler
def test_the_campaign_example_replays_a_fault_that_changes_the_digit(tmp_path):
    folder = shutil.copytree(EXAMPLES / "campaign", tmp_path / "campaign")
    told = shell("COUNT=300 sh campaign.sh", folder)
    assert "critical, " in told
    assert "first layer that differs" in told
    assert (folder / "report.html").stat().st_size > 100_000


def shell(command: str, folder: Path) -> str:
    """What a command line says, with this checkout's `tflm-hil`; it must succeed."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    program = bin_folder / "tflm-hil"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


CUSTOM_OPERATOR_CASE = r"""
[[case]]
name = "atan"
elf = "app.elf"
model = "model.tflite"
inputs = ['^x (\S+) (\S+) (\S+) (\S+) y']
outputs = ['y (\S+) (\S+) (\S+) (\S+)$']
inferences = 3
"""


@pytest.fixture(scope="module")
def own_samples(tmp_path_factory):
    """The example as a folder of samples. What one test compiles of it, the next one has."""
    folder = tmp_path_factory.mktemp("samples")
    shutil.copytree(EXAMPLES / "custom_operator", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "zephyr_samples" / "models", folder / "models")
    shutil.copy(ROOT / "zephyr_samples" / "resolvers.toml", folder)
    shutil.copy(folder / "model.tflite", folder / "models" / "atan_float32.tflite")
    return folder


@pytest.fixture
def custom_operator(own_samples, tmp_path, monkeypatch):
    """Builds the example as its page does, with a change of its source, beside its case file."""
    folder = shutil.copytree(EXAMPLES / "custom_operator", tmp_path / "work")
    (folder / "hil.toml").write_text(CUSTOM_OPERATOR_CASE, encoding="utf-8")
    monkeypatch.setenv("TFLM_HIL_SAMPLES", str(own_samples))

    def build(file="main.cpp", old="", new=""):
        source = folder / "atan" / "src" / file
        text = source.read_text(encoding="utf-8")
        assert old in text
        source.write_text(text.replace(old, new, 1), encoding="utf-8")
        shutil.copytree(folder / "atan", own_samples / "atan", dirs_exist_ok=True)
        shutil.copy(build_one("atan", "exact"), folder / "app.elf")
        return folder

    return build


def install(folder, monkeypatch):
    """What pip makes of `my_kernels/`: its modules on the path, and its entry points."""
    text = (folder / "my_kernels" / "pyproject.toml").read_text(encoding="utf-8")
    about = folder / "my_kernels" / "my_kernels-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: my-kernels\nVersion: 1\n", encoding="utf-8")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items())
        for group, rows in tomllib.loads(text)["project"]["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "my_kernels")


@pytest.mark.needs("arm-none-eabi-gcc", "flatc")
@pytest.mark.parametrize(
    ("change", "verdict"),
    [((), Verdict.PASS), (("my_atan.cc", "std::atan(", "std::tanh("), Verdict.FAIL),
     (("main.cpp", '"MyAtan"', '"Atan"'), Verdict.FAIL)],
    ids=["as it is", "another function", "another name"],
)  # fmt: skip
def test_the_case_of_the_custom_operator_notices(
    change, verdict, custom_operator, monkeypatch, tmp_path
):
    folder = custom_operator(*change)
    install(folder, monkeypatch)
    [case] = load_cases(folder / "hil.toml")
    result = run_case(case, tmp_path / "results")
    assert result.verdict is verdict, result.reason
    assert bool(result.outputs_compared) == (verdict is Verdict.PASS or "my_atan.cc" in change)


@pytest.mark.needs("arm-none-eabi-gcc", "flatc")
def test_a_custom_operator_under_another_name_is_missing_and_not_refused(custom_operator):
    """Its registration function is called Register_MyAtan(), and AddCustom() names it Atan."""
    folder = custom_operator("main.cpp", '"MyAtan"', '"Atan"')
    audit = check(Image.from_elf(folder / "app.elf"), Model.from_file(folder / "model.tflite"))
    assert audit.missing == ("MyAtan",) and audit.registered == ("ADD", "Atan")
    assert audit.resolver.refused == ()
    assert audit.problems == (
        "custom operator MyAtan is needed by the model and not registered",
        "Atan is registered and not needed (in main at main.cpp:28)",
    )


def test_the_model_of_the_custom_operator_is_what_its_page_says():
    tensors = [T([1, 4], "float32", name="x"), constant([1.0], "float32"),
               T([1, 4], "float32", name="sum"), T([1, 4], "float32", name="y")]  # fmt: skip
    tensors[1].name = "offset"
    operators = [Op("ADD", [0, 1], [2], ("Add", {})), Op("CUSTOM", [2], [3], custom="MyAtan")]
    made = build(tensors, operators, [0], [3], "y = atan(x + 1)")
    assert (EXAMPLES / "custom_operator" / "model.tflite").read_bytes() == made
