"""Which tools are used, and what makes a compiler another one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from harness.build.toolchain import Toolchain, identity

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    return script(tmp_path / "g++", f'exec "{shutil.which("arm-none-eabi-g++")}" "$@"')


def test_the_identity_has_the_compiler_s_programs_and_libraries(
    compiler: Path, tmp_path: Path
) -> None:
    names = {Path(line[66:]).name for line in identity(compiler, [], tmp_path / "m").splitlines()}
    assert {"g++", "cc1plus", "as", "ld", "libgcc.a", "libc_nano.a"} <= names


def test_a_changed_file_changes_the_identity_whatever_its_time(
    compiler: Path, tmp_path: Path
) -> None:
    memo = tmp_path / "memo.json"
    before, status = identity(compiler, [], memo), compiler.stat()
    assert identity(compiler, [], memo) == before
    compiler.write_text(compiler.read_text()[:-1] + " ")
    os.utime(compiler, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert identity(compiler, [], memo) != before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"/nowhere": ["", "0"]}'])
def test_a_damaged_memo_is_computed_again(compiler: Path, tmp_path: Path, content: str) -> None:
    memo = tmp_path / "memo.json"
    before = identity(compiler, [], memo)
    memo.write_text(content)
    assert identity(compiler, [], memo) == before


@pytest.mark.parametrize(
    ("says", "used"),
    [("echo {folder}", True), ("echo {folder}/new/one", True), ("echo {folder}/file/no", False),
     ("exit 1", False)],
)  # fmt: skip
def test_ccache_is_used_if_it_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, used: bool
) -> None:
    script(tmp_path / "bin" / "ccache", says.format(folder=tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "file").touch()
    assert (Toolchain.find().ccache is not None) == used
