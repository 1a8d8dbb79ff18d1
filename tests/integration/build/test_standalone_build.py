"""The standalone builder with the real compiler: what is compiled when, and what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base import logs, paths
from harness.base.errors import BuildFailed, EnvironmentMissing, UsageError
from harness.build.options import BuildOptions
from harness.build.standalone import build_many, build_standalone
from harness.cli import main
from harness.elf import Image

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


def test_another_arena_is_another_image() -> None:
    small = build_standalone("hello_world", "exact", options=BuildOptions(arena=1024))
    large = build_standalone("hello_world", "exact", options=BuildOptions(arena=2048))
    sizes = [
        symbol.size
        for one in (small, large)
        for symbol in Image.from_elf(one.elf).symbols
        if "tensor_arena" in symbol.name
    ]
    assert sizes == [1024, 2048]


@pytest.mark.slow
def test_two_processes_build_in_a_new_cache_at_once_what_is_in_this_one(tmp_path: Path) -> None:
    """Neither cache nor checkout has left a trace in the image."""
    program = (
        "from harness.build.standalone import build_standalone as b;"
        "print(b('hello_world', 'duplicate').elf)"
    )
    environment = {**os.environ, "TFLM_HIL_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = {process.communicate(timeout=200)[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(told) == 1
    made = Path(told.pop().strip()).read_bytes()
    assert made == build_standalone("hello_world", "duplicate").elf.read_bytes()
    assert str(paths.samples().parent).encode() not in made
    assert str(tmp_path).encode() not in made


def test_progress_names_what_was_built_and_is_silent_about_the_rest() -> None:
    (image,) = build_many([("hello_world", "empty")])
    shutil.rmtree(image.elf.parent)
    lines: list[str] = []
    with logs.shown(lines.append):
        build_many([("hello_world", "exact"), ("hello_world", "empty")])
    assert len(lines) == 1
    assert "hello_world-empty" in lines[0]


def test_soft_float_images_have_no_fpu_instructions() -> None:
    result = build_standalone("hello_world_float", "exact", options=BuildOptions(fpu=False))
    command = ["arm-none-eabi-objdump", "-d", str(result.elf)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "ResetHandler" in listing
    assert "\tvmul.f32" not in listing


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UsageError) as sample:
        build_standalone("nosuch", "exact")
    assert "hello_world" in str(sample.value)
    with pytest.raises(UsageError) as configuration:
        build_standalone("hello_world", "nosuch")
    assert "person_detection" in str(configuration.value)


def test_the_compilers_own_words_reach_the_user() -> None:
    options = BuildOptions(defines=("TFLM_HIL_INFERENCES=oops",))
    with pytest.raises(BuildFailed) as failed:
        build_standalone("hello_world", "exact", options=options)
    assert "'oops' was not declared" in str(failed.value)


def test_an_arena_that_does_not_fit_is_told_with_the_command_that_shows_what_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(BuildFailed) as failed:
        build_standalone("hello_world", "exact", options=BuildOptions(arena=300_000))
    overflow = re.search(r"region `RAM' overflowed by (\d+) bytes$", failed.value.message, re.M)
    command = re.match(r"`tflm-hil (footprint \S+)`", failed.value.hint)
    assert overflow is not None and command is not None
    assert main(command[1].split()) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert f"overflows by {int(overflow[1]):,} B: " in first and "tensor_arena 300,000 B" in first


def test_without_a_compiler_the_error_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentMissing) as missing:
        build_standalone("hello_world", "exact")
    assert "arm-none-eabi-g++" in missing.value.message
    assert "doctor --install" in missing.value.hint


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TFLM_HIL_CACHE", str(blocked / "cache"))
    with pytest.raises(EnvironmentMissing) as missing:
        build_standalone("hello_world", "exact")
    assert "TFLM_HIL_CACHE" in missing.value.hint


def test_stacks_and_arena_show_under_their_names() -> None:
    firmware = Image.from_elf(build_standalone("hello_world", "exact").elf)
    sizes = {name: firmware.symbol(name) for name in ("z_main_stack", "z_interrupt_stacks")}
    assert {name: symbol.size for name, symbol in sizes.items() if symbol} == {
        "z_main_stack": 4096,
        "z_interrupt_stacks": 1024,
    }
