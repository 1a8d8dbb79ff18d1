"""The Zephyr builder: one tree for an application's images, one for each workspace."""

from __future__ import annotations

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fake_west
import pytest
from forked_python import SERVER

from harness.base import logs, paths
from harness.base.errors import BuildFailed
from harness.build import zephyr
from harness.build.workspace import Workspace, find_workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace of the named release, whose west is a stand-in; the cache is the test's own."""
    (tmp_path / "modules" / "west").mkdir(parents=True)
    (tmp_path / "modules" / "west" / "__init__.py").write_text("")
    shutil.copy(fake_west.__file__, tmp_path / "modules" / "west" / "__main__.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", str(SERVER.interpreter(tmp_path / "python")))

    def make(name: str, minor: int = 4, fails: str = "") -> Workspace:
        base = tmp_path / name / "zephyr"
        base.mkdir(parents=True, exist_ok=True)
        version = f"VERSION_MAJOR = 3\nVERSION_MINOR = {minor}\n"
        if not (base / "VERSION").exists() or (base / "VERSION").read_text() != version:
            (base / "VERSION").write_text(version)
        if not (base / "c++").exists():
            (base / "c++").write_text("#!/bin/sh\n")
            (base / "c++").chmod(0o755)
            (base / "kernel.c").write_text("kernel")
        (base / "fails").unlink(missing_ok=True)
        if fails:
            (base / "fails").write_text(fails)
        return find_workspace(environment={"ZEPHYR_BASE": str(base)})

    return make


def build(workspace: Workspace, configuration: str = "exact") -> Path:
    return zephyr.build_zephyr("hello_world", configuration, workspace=workspace).elf


def west_builds(*pairs: tuple[str, str], workspace: Workspace) -> list[str]:
    """The images that were built, where others were as they should be."""
    lines: list[str] = []
    with logs.shown(lines.append):
        for pair in pairs:
            zephyr.build_zephyr(*pair, workspace=workspace)
    return [line.rpartition("/")[2] for line in lines if "west build" in line]


def compiled(elf: Path) -> list[str]:
    """What was done in the tree of ``elf``, in this order."""
    return (elf.parents[2] / "build" / "compiled").read_text().split()


def test_another_configuration_compiles_only_what_differs(workspace):
    elf = build(workspace("one"))
    assert compiled(elf) == ["cmake", "kernel.o", "main.o"]
    build(workspace("one"), "all")
    assert compiled(elf) == ["cmake", "kernel.o", "main.o", "main.o"]


def test_samples_of_one_application_share_its_tree(workspace):
    one = workspace("one")
    results = [
        zephyr.build_zephyr(sample, workspace=one).elf
        for sample in ("hello_world", "hello_world_float")
    ]
    assert compiled(results[0]) == ["cmake", "kernel.o", "main.o", "main.o"]
    assert [elf.read_text().rpartition("}")[2] for elf in results] == [
        "hello_world exact", "hello_world_float exact",
    ]  # fmt: skip


def test_the_images_of_all_configurations_are_kept(workspace):
    elves = [build(workspace("one"), name) for name in ("exact", "all", "too_small")]
    texts = [elf.read_text().rpartition(" ")[2] for elf in elves]
    assert texts == ["exact", "all", "too_small"]


def test_the_order_of_configurations_does_not_matter(workspace):
    for name in ("all", "too_small", "exact"):
        shared = build(workspace("one"), name)
    text = shared.read_text()
    shutil.rmtree(shared.parents[2])
    assert build(workspace("one")).read_text() == text


def test_a_failure_leaves_the_tree_configured(workspace):
    elf = build(workspace("one"))
    with pytest.raises(BuildFailed):
        build(workspace("one", fails="error: broken"), "all")
    build(workspace("one"), "all")
    assert compiled(elf).count("cmake") == 1


def test_an_interrupted_build_is_resumed(workspace):
    with pytest.raises(BuildFailed):  # what was compiled until then stays
        build(workspace("one", fails="Killed"))
    assert compiled(build(workspace("one"))) == ["cmake", "kernel.o", "main.o"]


def test_other_arguments_for_cmake_build_the_tree_anew(workspace):
    elf = build(workspace("one"))
    (elf.parents[2] / "arguments.json").write_text('["-DCONFIG_FPU=n"]')
    build(workspace("one"), "all")
    assert compiled(elf) == ["cmake", "kernel.o", "main.o"]


def test_a_tree_without_its_elf_is_an_error_whatever_was_kept_before(workspace):
    one = workspace("one")
    zephyr.build_zephyr("atan", workspace=one)
    (one.base / "nothing").touch()
    (one.base / "kernel.c").write_text("changed")
    with pytest.raises(BuildFailed, match=r"left no zephyr\.elf"):
        zephyr.build_zephyr("atan", workspace=one)


def test_a_changed_compiler_builds_the_tree_anew(workspace):
    elf = build(workspace("one"))
    one = workspace("one")
    (one.base / "c++").write_text("#!/bin/sh\n# another\n")
    zephyr.build_zephyr("hello_world", workspace=one)
    assert compiled(elf) == ["cmake", "kernel.o", "main.o"]


def test_a_compiler_that_is_gone_builds_the_tree_anew(workspace):
    elf = build(workspace("one"))
    settings = elf.parents[2] / "build" / "CMakeCache.txt"
    settings.write_text("CMAKE_CXX_COMPILER:FILEPATH=/gone/c++\n")
    build(workspace("one"))
    assert compiled(elf) == ["cmake", "kernel.o", "main.o"]
    assert "/gone/c++" not in settings.read_text()


def test_an_image_from_the_same_inputs_is_not_built_again(workspace):
    pairs = [("atan", "exact"), ("atan", "all")] * 2
    assert west_builds(*pairs, workspace=workspace("one")) == ["atan-exact", "atan-all"]


@pytest.mark.parametrize("folder", ["one", "one two"])
@pytest.mark.parametrize("name", ["kernel.c", "VERSION", "c++"])
def test_an_image_is_built_again_after_a_change_of(name, folder, workspace):
    one = workspace(folder)
    pair = ("atan", "exact")
    assert west_builds(pair, pair, workspace=one) == ["atan-exact"]
    with (one.base / name).open("a") as file:
        file.write("# changed\n")
    assert west_builds(pair, pair, workspace=workspace(folder)) == ["atan-exact"]


def test_builds_of_one_tree_at_once_do_not_mix(workspace):
    names = ["exact", "all", "too_small", "missing"]
    with ThreadPoolExecutor(4) as pool:
        elves = list(pool.map(lambda name: build(workspace("one"), name), names))
    assert [elf.read_text().rpartition(" ")[2] for elf in elves] == names


def test_each_workspace_has_build_trees_of_its_own(workspace):
    one, other = build(workspace("one")), build(workspace("other"))
    assert one != other
    assert "one" in one.read_text()
    assert "other" in other.read_text()


def test_each_copy_of_the_samples_has_build_trees_of_its_own(workspace, tmp_path, monkeypatch):
    """CMake and the records of kept images name files of one copy."""
    elf = build(workspace("one"))
    shutil.copytree(paths.samples(), tmp_path / "copy")
    monkeypatch.setenv("TFLM_HIL_SAMPLES", str(tmp_path / "copy"))
    assert build(workspace("one")) != elf


def test_another_release_in_the_same_workspace_is_another_tree(workspace):
    old, new = build(workspace("one", minor=1)), build(workspace("one", minor=4))
    assert ("zephyr3.1-" in str(old), "zephyr3.4-" in str(new)) == (True, True)


def test_the_non_secure_board_s_build_is_kept_whole_as_a_build_folder(workspace):
    board = "nrf9160dk/nrf9160/ns"
    result = zephyr.build_zephyr("hello_world", board=board, workspace=workspace("one"))
    kept = {path.name: path.read_text() for path in result.image.rglob("*") if path.is_file()}
    assert (kept["tfm_merged.hex"], kept["tfm_s.elf"], kept["bl2.elf"]) == (
        "merged", "secure", "bootloader",
    )  # fmt: skip
    assert "one" in kept["zephyr.elf"]


def test_the_secure_board_s_build_is_its_elf(workspace):
    result = zephyr.build_zephyr("hello_world", workspace=workspace("one"))
    assert result.image == result.elf


def test_of_a_sysbuild_the_default_domain_is_the_image(workspace):
    one = workspace("one")
    (one.base / "sysbuild").touch()
    elf = build(one)
    assert elf.read_text().startswith("application ")
    assert (elf.parents[2] / "mcuboot" / "zephyr" / "zephyr.elf").is_file()


def test_builds_that_ninja_does_not_know_whole_always_go_through_west(workspace):
    one = workspace("one")
    (one.base / "sysbuild").touch()
    assert west_builds(*[("atan", "exact")] * 2, workspace=one) == ["atan-exact"] * 2


def test_a_kept_file_that_was_damaged_is_copied_again_with_a_note(workspace, caplog):
    one = workspace("one")
    elf = zephyr.build_zephyr("atan", workspace=one).elf
    text = elf.read_text()
    elf.with_suffix(".map").write_text("damaged")
    assert zephyr.build_zephyr("atan", workspace=one).elf == elf
    assert elf.with_suffix(".map").read_text() == text
    assert "is not as it was built: it is built again" in caplog.text


def test_a_failure_of_one_workspace_is_not_that_of_the_next(workspace):
    with pytest.raises(BuildFailed, match="broken"):
        build(workspace("one", fails="error: broken"))
    assert build(workspace("other")).is_file()


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('  Target "tfm" not found.', "trusted-firmware-m (group tee)"),
        ('error: static assertion failed: "Retargetable locking must be enabled"', "Zephyr SDK"),
        ("ld: error: a.o uses VFP register arguments, b.elf does not", "float_abi.cmake"),
    ],
)
def test_a_known_cause_comes_first_with_its_remedy(workspace, line, hint):
    noise = "\n".join(f"CMake Error at {number}" for number in range(40))
    with pytest.raises(BuildFailed) as failed:
        build(workspace("one", fails=f"{noise}\n{line}"))
    assert failed.value.message == f"west build failed: {line.strip()}"
    assert hint in failed.value.hint


def test_a_region_that_overflows_is_told_with_the_map_that_shows_why(workspace):
    with pytest.raises(BuildFailed) as failed:
        build(workspace("one", fails="/x/ld.bfd: region `RAM' overflowed by 4408 bytes"))
    first = failed.value.message.splitlines()[0]
    assert first == "west build failed: region `RAM' overflowed by 4408 bytes"
    assert re.match(r"`tflm-hil footprint \S+/zephyr_pre0\.map` shows what", failed.value.hint)


def test_any_other_failure_shows_its_first_error_and_where_all_of_it_is(workspace):
    with pytest.raises(BuildFailed) as failed:
        build(workspace("one", fails="[1/2] cc perror.c\nperror.c:1: error: no"))
    assert failed.value.message.splitlines() == [
        "west build failed: perror.c:1: no", "    perror.c:1: error: no",
    ]  # fmt: skip
    assert failed.value.hint.endswith("failed.log")


def test_a_value_that_kconfig_refuses_is_told_with_the_line_of_its_assignment(workspace, tmp_path):
    (tmp_path / "board").write_text("CONFIG_STACK_SIZE=1024\n")
    (tmp_path / "prj.conf").write_text("CONFIG_FPU=y\nCONFIG_STACK_SIZE=large\n")
    read = "".join(f"Merged configuration '{tmp_path / name}'\n" for name in ("board", "prj.conf"))
    said = "the value 'large' is invalid for STACK_SIZE, which has type int"
    ending = "\n\nerror: Aborting due to Kconfig warnings\n"
    with pytest.raises(BuildFailed) as failed:
        build(workspace("one", fails=f"\nwarning: {said}{read}{ending}"))
    first = failed.value.message.splitlines()[0]
    assert first == f"west build failed: {tmp_path}/prj.conf:2: {said}"


@pytest.mark.parametrize(
    ("option", "module"),
    [("CMSIS_DSP", "cmsis-dsp"), ("HAS_NRFX", "hal_nordic"), ("HAS_CMSIS_CORE", "cmsis_6")],
)
def test_a_module_that_the_workspace_lacks_is_named(workspace, option, module):
    warning = (
        f"warning: {option} (defined at modules/a/Kconfig:7) has direct dependencies 0 with value"
        " n, but is currently being y-selected by the following symbols:\n - OTHER (defined at"
        " modules/b/Kconfig:7), with value y\n\nerror: Aborting due to Kconfig warnings\n"
    )
    with pytest.raises(BuildFailed, match=f"lacks the module {module}"):
        build(workspace("one", fails=warning))
