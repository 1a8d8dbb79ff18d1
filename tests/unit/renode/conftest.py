"""Fakes of Renode: one in this process, and programs that start as Renode does."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_renode import FakeRenode

from harness.elf import Firmware

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
def firmware(tmp_path: Path) -> Firmware:
    """An ELF of one segment at 0: a vector table with a stack and five handlers at 0x41."""
    data = struct.pack("<16I", 0x20001000, *[0x41] * 15) + bytes.fromhex("fee7")
    header = b"\x7fELF" + bytes((1, 1, 1)) + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0x41, 52, 0, 0x05000200, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 84, 0, 0, len(data), len(data), 5, 4)
    path = tmp_path / "image.elf"
    path.write_bytes(header + segment + data)
    return Firmware.from_elf(path)


@pytest.fixture
def program(tmp_path: Path):
    """Writes an executable that behaves as a Renode of ``version`` in ``mode`` does at start."""

    def write(version: str = "1.16.1", mode: str = "") -> Path:
        path = tmp_path / "renode"
        path.write_text(FAKE_PROGRAM.format(python=sys.executable, version=version, mode=mode))
        path.chmod(0o755)
        return path

    return write
