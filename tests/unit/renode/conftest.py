"""The other end of Renode's link, and programs that start as Renode does."""

from __future__ import annotations

import sys
from pathlib import Path

import fake_renode
import pytest
from fake_renode import FakeRenode
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
for _ in os.fdopen(int(requests)):
    os.write(int(answers), b"done\\n")
"""


@pytest.fixture
def fake() -> FakeRenode:
    """The other end of the link."""
    return FakeRenode()


@pytest.fixture
def firmware(tmp_path: Path) -> Image:
    """An image of a vector table and one instruction."""
    return fake_renode.image(tmp_path)


@pytest.fixture
def program(tmp_path: Path):
    """Writes an executable that behaves as a Renode of ``version`` in ``mode`` does at start."""

    def write(version: str = "1.17.0", mode: str = "") -> Path:
        path = tmp_path / "renode"
        path.write_text(FAKE_PROGRAM.format(python=sys.executable, version=version, mode=mode))
        path.chmod(0o755)
        return path

    return write
