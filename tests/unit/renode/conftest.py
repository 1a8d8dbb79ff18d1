"""Fakes of Renode: one in this process, and programs that start as Renode does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_renode import R1_17, FakeRenode, Release, tiny_image
from renode_archive import cache  # noqa: F401

from harness.elf import Image

FAKE_PROGRAM = """#!{python}
import os, pathlib, re, sys, time
if "--version" in sys.argv:
    print("Renode v{version}.1234")
    sys.exit(0)
if {mode!r} == "ends":
    print("Cannot open an assembly")
    sys.exit(1)
if {mode!r} == "silent":
    time.sleep(600)
folder = pathlib.Path(os.environ["TMPDIR"]) / f"renode-{{os.getpid()}}"
folder.mkdir()
(folder.parent / "argv").write_text("\\n".join(sys.argv))
requests, answers = re.search(r"serve\\((\\d+), (\\d+)\\)", open(sys.argv[-1]).read()).groups()
os.write(int(answers), b"done\\n")
time.sleep(600)
"""


@pytest.fixture
def fake() -> Iterator[FakeRenode]:
    """Renode 1.17 in this process."""
    renode = FakeRenode()
    yield renode
    renode.released.set()


@pytest.fixture
def release() -> Release:
    """1.17.0; a module that overrides it runs its tests on others."""
    return R1_17


@pytest.fixture
def renode(release: Release) -> Iterator[FakeRenode]:
    """A Renode of ``release`` in this process."""
    one = FakeRenode(release)
    yield one
    one.released.set()


@pytest.fixture
def firmware(tmp_path: Path) -> Image:
    """An image of a vector table and one instruction."""
    return tiny_image(tmp_path)


@pytest.fixture
def program(tmp_path: Path):
    """Writes an executable that behaves as a Renode of ``version`` in ``mode`` does at start."""

    def write(version: str = "1.17.0", mode: str = "") -> Path:
        path = tmp_path / "renode"
        path.write_text(FAKE_PROGRAM.format(python=sys.executable, version=version, mode=mode))
        path.chmod(0o755)
        return path

    return write
