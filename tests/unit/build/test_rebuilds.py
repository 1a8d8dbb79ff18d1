"""Each kind of input makes the cache build again, and nothing else does; with the real compiler."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base import paths
from harness.base.errors import BuildFailed
from harness.build.cache import Cache
from harness.build.compiler import Compiler
from harness.build.inputs import Contents, Includes, Inputs, Roots, digest
from harness.build.options import BuildOptions
from harness.build.standalone import build_standalone
from harness.build.toolchain import Toolchain

TOOLS = ("arm-none-eabi-g++", "arm-none-eabi-gcc-ar", "flatc")

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")

SCRIPT = "INCLUDE parts.ld\n"
PARTS = "ENTRY(Reset) SECTIONS { .text 0x100 : { *(.text* .rodata*) } /DISCARD/ : { *(*) } }\n"
MAIN = """
#include <cstring>
#include "own.h"
#include <shared.h>
#if __has_include(<optional.h>)
#include <optional.h>
#endif
asm(".section .rodata.blob\\n.global blob\\nblob: .incbin \\"blob.bin\\"");
extern const char blob[];
extern "C" int Reset(char* to) { std::strcpy(to, blob); return Helped(OWN + SHARED); }
"""
OWN = '#pragma once\nextern "C" int Helped(int);\n#define OWN 1\n'
HELPER = 'extern "C" int Helped(int n) { return n * 3; }\n'


class Project:
    """A program of two files, one of them in a library, below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in {
            "src/main.cc": MAIN, "src/own.h": OWN, "late/shared.h": "#define SHARED 2\n",
            "late/blob.bin": "blob", "script/image.ld": SCRIPT, "script/parts.ld": PARTS,
        }.items():  # fmt: skip
            self.write(name, text)
        (root / "early").mkdir()
        self.library(HELPER)
        self.builds = 0

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def library(self, text: str) -> None:
        """Make late/libhelp.a of ``text``."""
        self.write("help.cc", text)
        target = self.root / "help.o"
        flags = ["-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"]
        subprocess.run(
            ["arm-none-eabi-g++", *flags, "-c", self.root / "help.cc", "-o", target], check=True
        )
        archive = self.root / "late" / "libhelp.a"
        archive.unlink(missing_ok=True)
        subprocess.run(["arm-none-eabi-gcc-ar", "rcsD", archive, target], check=True)

    def build(self) -> Path:
        """Build as a new process would; counts the builds that the cache did not save."""
        tools, contents, root = Toolchain.find(), Contents(), self.root / "cache"
        cache, includes = Cache(root, Roots({}, [root]), contents), Includes(contents)
        compiler = Compiler(tools, tools.flags(BuildOptions()), cache, includes)

        def fill(folder: Path) -> Inputs:
            self.builds += 1
            pair = (self.root / "src" / "main.cc", folder / "main.o")
            folders = [self.root / "early", self.root / "late"]
            read = compiler.compile([pair], [(folder, "generated")], folders)
            options = [f"-L{folder}" for folder in folders]
            linked = compiler.link(
                [pair[1], "-lhelp"], self.root / "script" / "image.ld", folder / "a.elf", options
            )
            return Inputs.of(read, linked)

        return cache.make(digest("project", compiler.key), fill) / "a.elf"

    def is_built_again_after(self, change: Callable[[], object]) -> bool:
        """True if a build follows ``change``; a second one must not."""
        change()
        before = self.builds
        self.build()
        again = self.builds - before
        self.build()
        assert self.builds == before + again
        return again == 1


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.build()
    made.build()
    assert made.builds == 1
    return made


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/main.cc", MAIN + "// changed\n"),
        ("src/own.h", OWN.replace("1", "5")),
        ("late/shared.h", "#define SHARED 5\n"),
        ("script/image.ld", SCRIPT + "/* changed */\n"),
        ("script/parts.ld", PARTS.replace("0x100", "0x200")),
        ("late/blob.bin", "boot"),
    ],
)
def test_a_changed_file(project: Project, name: str, text: str) -> None:
    before = project.build().read_bytes()
    original = (project.root / name).read_text()
    assert project.is_built_again_after(lambda: project.write(name, text))
    changed = project.build().read_bytes()
    assert (changed == before) == ("changed" in text)
    # As it was before: that result is still there.
    assert not project.is_built_again_after(lambda: project.write(name, original))
    assert project.build().read_bytes() == before


def test_a_changed_library(project: Project) -> None:
    before = project.build().read_bytes()
    assert project.is_built_again_after(lambda: project.library(HELPER.replace("3", "4")))
    assert project.build().read_bytes() != before


#: <> skips the source's folder; "" finds own.h there; nobody asks for the others.
NOT_SEARCHED = {"src/cstring", "early/own.h", "early/unrelated.h", "script/unrelated.ld"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("early/shared.h", "#define SHARED 7\n"),
        ("src/cstring", "#include_next <cstring>\n#define SHARED 7\n"),
        ("early/cstring", "#include_next <cstring>\n"),  # before the compiler's own
        ("early/own.h", "#define OWN 9\n"),
        ("late/optional.h", "#define OPTIONAL\n"),  # what __has_include asks for
        ("early/blob.bin", "other"),  # the assembler's search
        ("early/libhelp.a", None),  # the linker's search
        ("early/libgcc.a", None),
        ("early/unrelated.h", "#error\n"),
        ("script/unrelated.ld", "ENTRY(nowhere)\n"),
    ],
)
def test_a_new_file(project: Project, name: str, text: str | None) -> None:
    before = project.build().read_bytes()

    def appear() -> None:
        if text is None:
            shutil.copy(project.root / "late" / "libhelp.a", project.root / name)
        else:
            project.write(name, text)

    searched = name not in NOT_SEARCHED
    try:
        assert project.is_built_again_after(appear) == searched
    except BuildFailed:  # the new libgcc.a has not what is needed: it was taken, which is the point
        assert searched
    (project.root / name).unlink()
    assert project.build().read_bytes() == before


def test_a_header_that_goes(project: Project) -> None:
    project.build()
    (project.root / "src" / "own.h").unlink()
    with pytest.raises(BuildFailed, match=r"own\.h"):
        project.build()


@pytest.mark.parametrize(
    ("name", "value"),
    [("CPATH", "early"), ("CPLUS_INCLUDE_PATH", "early"), ("LIBRARY_PATH", "late"),
     ("SOURCE_DATE_EPOCH", "1")],
)  # fmt: skip
def test_a_variable_of_the_compiler(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    chosen = value if value == "1" else str(project.root / value)
    assert project.is_built_again_after(lambda: monkeypatch.setenv(name, chosen))
    assert not project.is_built_again_after(lambda: monkeypatch.delenv(name))


@pytest.fixture
def wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler on PATH that is a script around the real one, whose programs are copies."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("cc1plus", "as", "ld", "collect2"):
        real = subprocess.run(
            ["arm-none-eabi-g++", f"-print-prog-name={name}"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        write_script(programs / name, f'exec "{real}" "$@"')
    write_script(
        folder / "arm-none-eabi-g++",
        f'exec "{shutil.which("arm-none-eabi-g++")}" -B"{programs}/" "$@"',
    )
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "name",
    ["bin/arm-none-eabi-g++", "programs/cc1plus", "programs/as", "programs/ld",
     "programs/collect2"],
)  # fmt: skip
def test_a_part_of_the_compiler_that_is_replaced_in_place(wrapped: Path, name: str) -> None:
    project = Project(wrapped)
    project.build()
    part = wrapped / name
    before, text = part.stat(), part.read_text()

    def replace() -> None:
        part.write_text(f"{text[:-1]} ")  # of the same size
        os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert project.is_built_again_after(replace)


def test_a_file_that_changes_while_it_is_compiled(project: Project) -> None:
    """The record must not pair what was read before with what is there after."""
    cache, seen = Cache(project.root / "other"), []
    header = project.root / "src" / "own.h"

    def fill(folder: Path) -> Inputs:
        seen.append(header.read_text())
        if len(seen) == 1:
            time.sleep(0.05)
            header.write_text("edited meanwhile\n")
        (folder / "result").write_text(seen[-1])
        return Inputs(frozenset([str(header)]))

    made = cache.make("abcdef", fill)
    assert (made / "result").read_text() == "edited meanwhile\n"
    assert len(seen) == 2


def test_a_file_that_never_rests(project: Project) -> None:
    header = project.root / "src" / "own.h"

    def fill(folder: Path) -> Inputs:
        time.sleep(0.05)
        header.write_text(str(time.time_ns()))
        return Inputs(frozenset([str(header)]))

    cache = Cache(project.root / "other")
    with pytest.raises(BuildFailed, match=r"own\.h changed during the build"):
        cache.make("abcdef", fill)
    assert cache.entry("abcdef") is None
    assert list((project.root / "other").rglob(".draft-*")) == []


def test_two_builds_at_once_give_one_result(tmp_path: Path) -> None:
    project = Project(tmp_path)
    results: list[Path] = []
    threads = [threading.Thread(target=lambda: results.append(project.build())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert len(results) == 3
    assert list((tmp_path / "cache").rglob(".draft-*")) == []


BUILD_SLOWLY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import {module} as tests
project = tests.Project.__new__(tests.Project)
project.root, project.builds = Path(sys.argv[1]), 0
project.build()
"""


def test_a_killed_build_leaves_nothing_that_passes_for_a_result(tmp_path: Path) -> None:
    project = Project(tmp_path)
    slow = tmp_path / "slow"
    slow.mkdir()
    started = tmp_path / "started"
    real = shutil.which("arm-none-eabi-g++")
    write_script(
        slow / "arm-none-eabi-g++",
        f'case "$*" in *-Wl,--verbose*) "{real}" "$@"; echo $$ > "{started}"; sleep 600;; esac\n'
        f'exec "{real}" "$@"',
    )
    program = BUILD_SLOWLY.format(folder=str(Path(__file__).parent), module=Path(__file__).stem)
    environment = {**os.environ, "PATH": f"{slow}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], env=environment, start_new_session=True
    ) as child:
        limit = time.monotonic() + 120
        while not (
            started.exists() and started.read_text()
        ):  # the image has been linked, and is not an entry yet
            assert time.monotonic() < limit
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
    os.killpg(int(started.read_text()), signal.SIGKILL)  # nobody else is left to do it
    assert list((tmp_path / "cache").rglob("*.elf")) != []
    assert list((tmp_path / "cache").glob("*/[!.]*/a.elf")) == []
    project.build()
    assert project.builds == 1
    assert list((tmp_path / "cache").rglob(".draft-*")) == []


def test_a_header_of_an_application_outside_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = tmp_path / "samples"
    shutil.copytree(paths.own_samples(), samples)
    monkeypatch.setenv("TFLM_HIL_SAMPLES", str(samples))
    source, header = samples / "hello_world" / "src" / "main.cpp", samples / "extra.h"
    source.write_text(f'#include "../../extra.h"\n{source.read_text()}')
    header.write_text("#define EXTRA 1\n")
    first = build_standalone("hello_world")
    assert build_standalone("hello_world").cached
    header.write_text("#error no longer\n")
    with pytest.raises(BuildFailed, match="no longer"):
        build_standalone("hello_world")
    header.write_text("#define EXTRA 1\n")
    assert build_standalone("hello_world").elf == first.elf
