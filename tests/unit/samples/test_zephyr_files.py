"""The Zephyr side without Zephyr: manifest, twister entries, application folders, the builder."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.base import paths
from harness.base.errors import BuildFailed, EnvironmentMissing, UsageError
from harness.base.platforms import board_with, chip_names
from harness.build import board_names, generated, workspace, zephyr
from harness.build.board_names import target_of
from harness.build.builders import build_one
from harness.build.table import load

ROOT = paths.samples().parent
APPLICATIONS = sorted({sample.application for sample in load().samples.values()})


def _patterns(application: str) -> list[str]:
    document = yaml.safe_load((paths.samples() / application / "sample.yaml").read_text())
    (test,) = document["tests"].values()
    return test["harness_config"]["regex"]


def _accepts(patterns: list[str], text: str) -> bool:
    """Twister's ordered multi-line match: each pattern on a later line than the one before."""
    lines = iter(text.splitlines())
    return all(any(re.search(pattern, line) for line in lines) for pattern in patterns)


def _sine(change=lambda value: value) -> str:
    angles = [2 * math.pi * i / 20 for i in range(20)]
    return "\n".join(f"x_value: {x:.6f}, y_value: {change(math.sin(x)):.6f}" for x in angles)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_application_has_the_files_for_zephyr_and_twister(application: str) -> None:
    folder = paths.samples() / application
    for name in ("CMakeLists.txt", "Kconfig", "prj.conf", "sample.yaml", "README.md"):
        assert (folder / name).is_file(), name


@pytest.mark.parametrize("application", APPLICATIONS)
def test_no_twister_entry_accepts_an_empty_or_a_failed_console(application: str) -> None:
    patterns = _patterns(application)
    assert patterns
    assert not _accepts(patterns, "*** Booting Zephyr OS ***\nAllocateTensors() failed\n")


def test_the_hello_world_entry_accepts_the_sine() -> None:
    assert _accepts(_patterns("hello_world"), _sine())


def test_the_hello_world_entry_refuses_values_that_are_not_the_sine() -> None:
    patterns = _patterns("hello_world")
    assert not _accepts(patterns, _sine(lambda value: value + 0.3))
    assert not _accepts(patterns, _sine(lambda value: -value))
    assert not _accepts(patterns, _sine(lambda _value: 0.0))


def test_the_hello_world_entry_refuses_silence_dressed_as_output() -> None:
    assert not _accepts(_patterns("hello_world"), "x_value: , y_value: \n" * 20)


def test_the_manifest_takes_zephyr_pinned_and_names_each_module() -> None:
    manifest = yaml.safe_load((ROOT / "west.yml").read_text())["manifest"]
    (project,) = manifest["projects"]
    assert re.fullmatch(r"v4\.\d+\.\d+", project["revision"])
    names = project["import"]["name-allowlist"]
    assert {"cmsis", "hal_nordic", "tflite-micro"} <= set(names)
    assert "+optional" in manifest["group-filter"]
    assert (ROOT / manifest["self"]["west-commands"]).is_file()


def test_west_itself_accepts_the_manifest() -> None:
    from west import manifest

    flags = manifest.ImportFlag.IGNORE
    read = manifest.Manifest.from_data((ROOT / "west.yml").read_text(), import_flags=flags)
    assert "zephyr" in {project.name for project in read.projects}


def test_the_extension_command_is_where_west_will_look() -> None:
    entry = yaml.safe_load((paths.samples() / "west-commands.yml").read_text())["west-commands"][0]
    source = (ROOT / entry["file"]).read_text()
    assert f"class {entry['commands'][0]['class']}(WestCommand)" in source


def _zephyr(folder: Path, major: int, minor: int) -> Path:
    folder.mkdir(parents=True)
    text = f"VERSION_MAJOR = {major}\nVERSION_MINOR = {minor}\nPATCHLEVEL = 0\n"
    (folder / "VERSION").write_text(text)
    return folder


def test_a_workspace_is_found_by_zephyr_base(tmp_path: Path) -> None:
    base = _zephyr(tmp_path / "zephyr", 4, 1)
    found = workspace.find_workspace(tmp_path, {"ZEPHYR_BASE": str(base)})
    assert (found.base, found.version) == (base, (4, 1))


def test_a_workspace_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    base = _zephyr(tmp_path / "deps" / "zephyr", 3, 7)
    (tmp_path / ".west").mkdir()
    (tmp_path / ".west" / "config").write_text("[zephyr]\nbase = deps/zephyr\n")
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert workspace.find_workspace(inside, {}).base == base


def test_without_a_workspace_the_hint_has_the_commands_that_make_one(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing) as error:
        workspace.find_workspace(tmp_path, {})
    for command in ("west init -l", "west update", "west zephyr-export", "west sdk install"):
        assert command in error.value.hint


def test_an_installed_package_is_not_a_manifest_for_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "own_samples", lambda: tmp_path / "zephyr_samples")
    with pytest.raises(EnvironmentMissing) as error:
        workspace.find_workspace(tmp_path, {})
    assert "clone" in error.value.hint
    assert "west init" not in error.value.hint


def test_a_zephyr_base_without_zephyr_is_an_environment_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="does not contain Zephyr"):
        workspace.find_workspace(tmp_path, {"ZEPHYR_BASE": str(tmp_path)})


def test_boards_and_options_are_named_as_the_release_names_them(tmp_path: Path) -> None:
    new, old = workspace.Workspace(tmp_path, (4, 1)), workspace.Workspace(tmp_path, (3, 1))
    assert new.board("nrf9160dk/nrf9160/ns") == "nrf9160dk/nrf9160/ns"
    assert old.board("nrf9160dk/nrf9160/ns") == "nrf9160dk_nrf9160_ns"
    assert (new.fragment_option, old.fragment_option) == ("EXTRA_CONF_FILE", "OVERLAY_CONFIG")


def test_unknown_boards_and_variants_are_refused_before_anything_is_built() -> None:
    with pytest.raises(UsageError, match="nrf52840dk"):
        zephyr.build_zephyr("hello_world", board="nrf52840dk/nrf52840")
    with pytest.raises(UsageError, match="kernel variant"):
        zephyr.build_zephyr("hello_world", fragments=["fast"])


@pytest.fixture
def west(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `python -m west` that notes the arguments of all calls and leaves what a build leaves."""
    package = tmp_path / "bin" / "west"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import os, pathlib, sys\n"
        "with open(os.environ['WEST_NOTES'], 'a') as notes:\n"
        "    print(*sys.argv[1:], sep='\\n', file=notes)\n"
        "if os.environ.get('WEST_FAILS'):\n"
        "    print('[7/9] Building C object posix/perror.c.obj')\n"
        "    print('main.cpp:3: error: ' + os.environ['WEST_FAILS']); sys.exit(1)\n"
        "tree = pathlib.Path(sys.argv[sys.argv.index('--build-dir') + 1]) / 'zephyr'\n"
        "tree.mkdir(parents=True, exist_ok=True)\n"
        "for name in ('zephyr.elf', 'zephyr.map', '.config', 'zephyr.dts'):\n"
        "    (tree / name).write_text(name)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("WEST_NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ZEPHYR_BASE", str(_zephyr(tmp_path / "zephyr", 4, 1)))
    assert sys.executable
    return tmp_path / "notes"


def test_west_builds_the_sample_in_its_configuration(west: Path) -> None:
    zephyr.build_zephyr("hello_world_float", "too_small", fragments=["cmsis-nn"])
    asked = west.read_text().splitlines()
    assert asked[0] == "build"
    assert asked[asked.index("--board") + 1] == "nrf9160dk/nrf9160"
    assert str(paths.samples() / "hello_world") in asked
    choices = [word.partition("=@")[2] for word in asked if "=@" in word]
    assert [Path(one).read_text() for one in choices] == ["hello_world_float\n", "too_small\n"]
    assert any(word.endswith("cmsis-nn.conf") for word in asked)
    assert f"-DTFLM_HIL_GENERATOR={generated.__file__}" in asked


def test_elf_map_configuration_and_devicetree_are_kept(west: Path) -> None:
    result = zephyr.build_zephyr("atan", "exact")
    assert result.elf.read_text() == "zephyr.elf"
    kept = {path.name for path in result.elf.parent.iterdir()}
    assert {"zephyr.map", ".config", "zephyr.dts"} <= kept


def test_a_failed_build_quotes_the_compiler(west: Path, monkeypatch) -> None:
    monkeypatch.setenv("WEST_FAILS", "no such thing")
    with pytest.raises(BuildFailed, match="no such thing") as error:
        zephyr.build_zephyr("atan", "exact")
    assert "perror" not in error.value.message
    assert "failed.log" in error.value.hint


def test_libraries_of_the_wrong_float_abi_are_named_with_the_remedy(
    west: Path, monkeypatch
) -> None:
    monkeypatch.setenv("WEST_FAILS", "zephyr_pre0.elf uses VFP register arguments, libc.a does not")
    with pytest.raises(BuildFailed) as error:
        zephyr.build_zephyr("atan", "exact")
    assert "float_abi.cmake" in error.value.hint


@pytest.mark.needs("cmake")
@pytest.mark.parametrize(
    ("options", "linked"),
    [
        (("CONFIG_FPU", "CONFIG_FP_HARDABI"), ["link -mfloat-abi=hard"]),
        (("CONFIG_FPU", "CONFIG_FP_SOFTABI"), []),
        ((), []),
    ],
    ids=["hard", "softfp", "no unit"],
)
def test_the_float_abi_of_the_link_is_the_images_own(options, linked, tmp_path):
    script = tmp_path / "script.cmake"
    lines = [f"set({name} y)" for name in options]
    lines += ["function(zephyr_link_libraries)", 'message("link ${ARGV}")', "endfunction()"]
    lines += [f"include({paths.own_samples() / 'common' / 'float_abi.cmake'})"]
    script.write_text("\n".join(lines))
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == linked


@pytest.mark.needs("cmake")
def test_kernels_that_zephyr_s_list_leaves_out_are_added_to_the_library(tmp_path):
    micro = tmp_path / "module" / "tensorflow" / "lite" / "micro"
    listed = ("micro_interpreter.cc", "kernels/cmsis_nn/add.cc", "kernels/mul_common.cc")
    others = ("kernels/add.cc", "kernels/mul.cc", "kernels/mul_test.cc", "kernels/mulXcc")
    for name in (*listed, *others):
        (micro / name).parent.mkdir(parents=True, exist_ok=True)
        (micro / name).touch()
    common = paths.own_samples() / "common"
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(kernels LANGUAGES NONE)\n"
        f"add_custom_target(tflm SOURCES {' '.join(str(micro / name) for name in listed)})\n"
        "add_custom_target(other SOURCES CMakeLists.txt)\n"
        "set_property(GLOBAL PROPERTY ZEPHYR_LIBS other tflm)\n"
        f"set(ZEPHYR_TFLITE_MICRO_MODULE_DIR {tmp_path / 'module'})\n"
        f"include({common / 'kernels.cmake'})\n"
        'get_target_property(sources tflm SOURCES)\nmessage("${sources}")\n'
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    added = {Path(name).name for name in done.stderr.strip().split(";")} - {
        Path(name).name for name in listed
    }
    assert added == {"mul.cc"}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_twister_may_build_an_application_for_each_chip(application: str) -> None:
    document = yaml.safe_load((paths.samples() / application / "sample.yaml").read_text())
    kits = [board_with(chip) for chip in chip_names()]
    secure = {target_of(kit, nonsecure=False) for kit in kits}
    assert secure <= set(document["common"]["platform_allow"]) <= set(board_names.boards())


@pytest.mark.parametrize(
    ("chip", "board"),
    [("", "nrf9160dk/nrf9160"), ("nrf9151", "nrf9151dk/nrf9151"),
     ("nRF9131", "nrf9131ek/nrf9131"), ("nrf5340", "nrf5340dk/nrf5340/cpuapp")],
)  # fmt: skip
def test_west_builds_for_the_kit_of_the_chip(west: Path, chip: str, board: str) -> None:
    build_one("hello_world", "exact", "zephyr", chip)
    asked = west.read_text().splitlines()
    assert asked[asked.index("--board") + 1] == board
