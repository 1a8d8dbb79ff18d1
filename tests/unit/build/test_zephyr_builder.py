"""The Zephyr builder: one build tree a workspace and release, and failures that tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import BuildFailed
from harness.build import zephyr

#: A `west` that says where it was to build, and fails as the file `fails` of its Zephyr says.
WEST = """
import os, pathlib, sys
tree = pathlib.Path(sys.argv[sys.argv.index("--build-dir") + 1])
fails = pathlib.Path(os.environ["ZEPHYR_BASE"], "fails")
if fails.exists():
    sys.exit(fails.read_text())
(tree / "zephyr").mkdir(parents=True, exist_ok=True)
(tree / "zephyr" / "zephyr.elf").write_text(os.environ["ZEPHYR_BASE"])
if any(board in sys.argv for board in ("nrf9160dk/nrf9160/ns", "nrf9160dk_nrf9160_ns")):
    (tree / "tfm" / "bin").mkdir(parents=True, exist_ok=True)
    (tree / "zephyr" / "tfm_merged.hex").write_text("merged")
    (tree / "tfm" / "bin" / "tfm_s.elf").write_text("secure")
    (tree / "tfm" / "bin" / "bl2.elf").write_text("bootloader")
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace of the named release, whose west is a script; the cache is the test's own."""
    (tmp_path / "modules" / "west").mkdir(parents=True)
    (tmp_path / "modules" / "west" / "__init__.py").write_text("")
    (tmp_path / "modules" / "west" / "__main__.py").write_text(WEST)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))

    def make(name: str, minor: int = 4, fails: str = "") -> zephyr.Workspace:
        base = tmp_path / name / "zephyr"
        base.mkdir(parents=True, exist_ok=True)
        (base / "VERSION").write_text(f"VERSION_MAJOR = 3\nVERSION_MINOR = {minor}\n")
        (base / "fails").unlink(missing_ok=True)
        if fails:
            (base / "fails").write_text(fails)
        return zephyr.find_workspace(environment={"ZEPHYR_BASE": str(base)})

    return make


def build(workspace: zephyr.Workspace) -> Path:
    return zephyr.build_zephyr("hello_world", workspace=workspace).elf


def test_each_workspace_has_build_trees_of_its_own(workspace):
    one, other = build(workspace("one")), build(workspace("other"))
    assert one != other
    assert "one" in one.read_text()
    assert "other" in other.read_text()


def test_another_release_in_the_same_workspace_is_another_tree(workspace):
    old, new = build(workspace("one", minor=1)), build(workspace("one", minor=4))
    assert ("zephyr3.1-" in str(old), "zephyr3.4-" in str(new)) == (True, True)


def test_the_non_secure_board_s_build_is_kept_whole_as_a_build_folder(workspace):
    board = "nrf9160dk/nrf9160/ns"
    result = zephyr.build_zephyr("hello_world", board=board, workspace=workspace("one"))
    kept = {path.name: path.read_text() for path in result.image.iterdir() if path.is_file()}
    assert (kept["tfm_merged.hex"], kept["tfm_s.elf"], kept["bl2.elf"]) == (
        "merged", "secure", "bootloader",
    )  # fmt: skip
    assert "one" in kept["zephyr.elf"]


def test_the_secure_board_s_build_is_its_elf(workspace):
    result = zephyr.build_zephyr("hello_world", workspace=workspace("one"))
    assert result.image == result.elf


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
    assert failed.value.message.splitlines()[1] == line
    assert hint in failed.value.hint


def test_any_other_failure_shows_its_errors_and_where_all_of_it_is(workspace):
    with pytest.raises(BuildFailed) as failed:
        build(workspace("one", fails="[1/2] cc perror.c\nperror.c:1: error: no"))
    assert failed.value.message == "west build failed:\nperror.c:1: error: no"
    assert failed.value.hint.endswith("build.log")
