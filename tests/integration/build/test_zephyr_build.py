"""The Zephyr builder in a real workspace: hundreds of files, minutes without a compiler cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import needs
import pytest

from harness.base import logs
from harness.base.errors import BuildFailed
from harness.build import zephyr
from harness.build.workspace import Workspace, find_workspace
from harness.elf import Image
from harness.footprint.regions import regions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4 * 3600)]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    needs.require("zephyr")
    return find_workspace()


@pytest.fixture(scope="module")
def build(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory):
    """Build hello_world; ``tree`` is what its configurations share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TFLM_HIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield lambda name="exact": zephyr.build_zephyr("hello_world", name, workspace=workspace)


def test_a_shared_tree_builds_what_an_empty_one_builds(build) -> None:
    build("exact")
    folder: Path = build("too_small").elf.parents[2]
    image = folder / "hello_world-exact"
    shutil.rmtree(image)  # not the image that was kept
    elf = build("exact").elf.read_bytes()
    shutil.rmtree(folder)
    assert build("exact").elf.read_bytes() == elf


def test_an_image_that_is_kept_is_taken_at_once(build) -> None:
    build("exact")
    build("too_small")
    lines: list[str] = []
    with logs.shown(lines.append):
        build("exact")
    assert lines == []


def test_flash_is_the_size_of_the_binary_and_ram_the_linker_s_figure(build) -> None:
    elf = build("exact").elf
    used = {region.name: region.used for region in regions(Image.from_elf(elf))}
    assert used["FLASH"] == elf.with_suffix(".bin").stat().st_size
    log = (elf.parents[1] / "west.log").read_text()
    table = [line.split() for line in log.splitlines() if line.strip().startswith("RAM:")]
    assert table[-1][1:3] == [str(used["RAM"]), "B"]


def test_a_compiler_s_error_is_told_in_one_line(build, workspace: Workspace) -> None:
    folder = build("exact").elf.parents[2]
    shutil.rmtree(folder / "hello_world-exact")
    source = folder / "build" / "tflm_hil" / "tflm_hil_data.cc"
    source.write_text("int here(;\n")
    with pytest.raises(BuildFailed) as failed:
        build("exact")
    assert "tflm_hil_data.cc:1: " in failed.value.message.splitlines()[0]
