"""west sets a workspace up from this repository's manifest: repositories that stand in for Zephyr's
own lie on this disk, west and git are the real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base import paths
from harness.build.workspace import find_workspace

pytestmark = pytest.mark.needs("git")

ROOT = paths.samples().parent
UPSTREAM = "https://github.com/zephyrproject-rtos"
#: Two of Zephyr's many modules that nobody here asked for, and those that were.
MODULES = ("cmsis", "hal_nordic", "hal_stm32", "lvgl")
WEST_YML = """\
manifest:
  defaults: {remote: upstream}
  remotes: [{name: upstream, url-base: "%s"}]
  group-filter: [-optional]
  projects:
%s
  self: {path: zephyr, import: submanifests}
"""
OPTIONAL_YAML = """\
manifest:
  remotes: [{name: upstream, url-base: "%s"}]
  projects:
    - {name: tflite-micro, remote: upstream, revision: main, groups: [optional],
       path: optional/modules/lib/tflite-micro}
    - {name: thrift, remote: upstream, revision: main, groups: [optional]}
"""


def run(*words: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, check=False, timeout=120, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def repository(folder: Path, files: dict[str, str], *tags: str) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run("git", "init", "-q", "-b", "main", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", "commit", "-q", "-m", "a stand-in", cwd=folder)
    for tag in tags:
        run("git", "tag", tag, cwd=folder)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What `west init -l` and `west update` make of the manifest."""
    top = tmp_path_factory.mktemp("workspace")
    with pytest.MonkeyPatch.context() as environment:
        git_leads_to(top / "upstream", environment)
        set_up(top, top / "upstream")
        yield top


def git_leads_to(upstream: Path, environment: pytest.MonkeyPatch) -> None:
    """git with settings of its own: Zephyr's address leads to this disk."""
    settings = {
        f"url.{upstream.as_uri()}.insteadOf": UPSTREAM,
        "user.name": "test",
        "user.email": "test@example.org",
        "protocol.file.allow": "always",
    }
    environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    environment.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        environment.setenv(f"GIT_CONFIG_KEY_{number}", key)
        environment.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    environment.delenv("ZEPHYR_BASE", raising=False)


def set_up(top: Path, upstream: Path) -> None:
    for name in (*MODULES, "tflite-micro", "thrift"):
        repository(upstream / name, {"README": name})
    projects = "\n".join(f"    - {{name: {name}, revision: main}}" for name in MODULES)
    version = "VERSION_MAJOR = 4\nVERSION_MINOR = 1\nPATCHLEVEL = 0\n"
    repository(
        upstream / "zephyr",
        {
            "west.yml": WEST_YML % (UPSTREAM, projects),
            "submanifests/optional.yaml": OPTIONAL_YAML % UPSTREAM,
            "VERSION": version,
        },
        "v4.3.0",
    )
    manifest = top / "tflm-hil"
    (manifest / "zephyr_samples" / "common").mkdir(parents=True)
    for name in (
        "west.yml",
        "zephyr_samples/west-commands.yml",
        "zephyr_samples/common/west_hil.py",
    ):
        shutil.copyfile(ROOT / name, manifest / name)
    west = (sys.executable, "-m", "west")
    run(*west, "init", "-l", manifest, cwd=top)
    run(*west, "update", cwd=top)


def test_only_the_modules_that_are_needed_are_taken(workspace: Path) -> None:
    west = (sys.executable, "-m", "west")
    names = run(*west, "list", "-f", "{name}", cwd=workspace).split()
    assert sorted(names) == ["cmsis", "hal_nordic", "manifest", "tflite-micro", "zephyr"]


def test_tflite_micro_comes_although_zephyr_leaves_optional_modules_out(workspace: Path) -> None:
    assert (workspace / "optional/modules/lib/tflite-micro/README").read_text() == "tflite-micro"
    assert not (workspace / "thrift").exists()


def test_zephyr_is_there_in_the_pinned_revision(workspace: Path) -> None:
    at = run("git", "describe", "--tags", cwd=workspace / "zephyr").strip()
    assert at == "v4.3.0"


def test_the_builder_finds_the_workspace_that_west_made(workspace: Path) -> None:
    found = find_workspace(workspace / "tflm-hil", {})
    assert found.base.resolve() == (workspace / "zephyr").resolve()
    assert found.board("nrf9160dk/nrf9160") == "nrf9160dk/nrf9160"


def test_the_workspace_has_the_command_hil(workspace: Path) -> None:
    told = run(sys.executable, "-m", "west", "hil", "--help", cwd=workspace)
    assert "--resolver" in told
