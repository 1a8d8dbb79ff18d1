"""The simulator's counting core is built after the fact where pip could not build it."""

import os
import shutil
import subprocess
import sys

import pytest

from harness import doctor, native
from harness.errors import BuildFailed, EnvironmentMissing

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or bool(native.packages()), reason="no C compiler"
)


@pytest.fixture
def sources(tmp_path):
    copy = tmp_path / "simulator" / "native"
    shutil.copytree(native.paths.PACKAGE / "simulator" / "native", copy)
    return copy


@needs_compiler
def test_it_is_built_beside_its_sources_and_python_can_load_it(sources):
    library = native.build(sources)
    assert sorted(path.name for path in sources.parent.iterdir()) == [library.name, "native"]
    code = (
        "from importlib.util import spec_from_file_location as spec, module_from_spec as module\n"
        f"found = spec('_native', {str(library)!r}); found.loader.exec_module(module(found))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_compiler
def test_its_sources_compile_without_a_warning_each_on_its_own(sources, tmp_path):
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{native._headers()}", "-c"]
    for source in sorted(sources.glob("*.c")):
        subprocess.run(["cc", *flags, str(source), "-o", str(tmp_path / "object")], check=True)


@needs_compiler
def test_a_compiler_that_refuses_is_quoted_and_leaves_nothing(sources):
    (sources / "count.c").write_text("this is no C")
    with pytest.raises(BuildFailed, match=r"counting core cannot be built:\n.*error"):
        native.build(sources)
    assert [path.name for path in sources.parent.iterdir()] == ["native"]


def test_without_a_compiler_the_packages_are_named(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "gcc" in native.packages()
    with pytest.raises(EnvironmentMissing, match="needs gcc"):
        native.build(sources)


@needs_compiler
def test_a_folder_that_may_not_be_written_is_told(tmp_path):
    with pytest.raises(EnvironmentMissing, match="cannot write"):
        native.build(tmp_path / "no" / "native")


def test_doctor_goes_on_without_it_and_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "find", lambda: "")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    told = doctor.build_core(said.append)
    assert told.startswith("the simulator cannot run: this system has no apt-get")


def test_what_it_takes_is_said_before_it_is_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "find", lambda: "")
    monkeypatch.setattr(doctor, "install", lambda packages: pytest.fail("it installed"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    said = []
    assert doctor.build_core(said.append, dry_run=True).startswith("would build")
    assert any("install --yes" in line and "gcc" in line for line in said)


def test_a_library_older_than_one_of_its_sources_is_built_again(monkeypatch, tmp_path, sources):
    library = tmp_path / "_native.so"
    library.write_bytes(b"")
    monkeypatch.setattr(native, "find", lambda: str(library))
    for source in sources.iterdir():
        os.utime(source, (500, 500))
    os.utime(library, (1000, 1000))
    assert not native.outdated(sources)
    os.utime(sources / "core.h", (2000, 2000))
    assert native.outdated(sources)
