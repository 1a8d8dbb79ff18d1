"""The simulator's counting core is built after the fact where pip could not build it."""

import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

import pytest

from harness import doctor
from harness.base import logs, native
from harness.base.errors import BuildFailed, EnvironmentMissing
from harness.base.platforms import chip_table
from harness.base.sources import MACRO, fingerprint
from harness.cli import main
from harness.simulator.engine import Engine

needs_compiler = pytest.mark.needs("cc")


@pytest.fixture
def sources(tmp_path):
    copy = tmp_path / "simulator" / "native"
    shutil.copytree(native.paths.PACKAGE / "simulator" / "native", copy)
    return copy


@pytest.mark.slow
@needs_compiler
def test_it_is_built_beside_its_sources_and_python_can_load_it(sources):
    library = native.build(sources)
    assert sorted(path.name for path in sources.parent.iterdir()) == [library.name, "native"]
    code = (
        "from importlib.util import spec_from_file_location as spec, module_from_spec as module\n"
        f"found = spec('_native', {str(library)!r}); found.loader.exec_module(module(found))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@needs_compiler
def test_its_sources_compile_without_a_warning_each_on_its_own(sources, tmp_path):
    flags = [f'-D{MACRO}="0"', "-O2", "-Wall", "-Wextra", "-Werror", f"-I{native._headers()}", "-c"]
    for source in sorted(sources.glob("*.c")):
        subprocess.run(["cc", *flags, str(source), "-o", str(tmp_path / "object")], check=True)


@pytest.mark.slow
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
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    with pytest.raises(EnvironmentMissing, match="cannot write"):
        native.build(tmp_path / "no" / "native")


def test_doctor_goes_on_without_it_and_gives_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "find", lambda: "")
    monkeypatch.setenv("PATH", str(tmp_path))
    told = doctor.build_core()
    assert told.startswith("the simulator cannot run: this system has no apt-get")


def test_prerequisites_are_listed_before_they_are_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "find", lambda: "")
    monkeypatch.setattr(doctor, "install", lambda packages: pytest.fail("it installed"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    said = []
    with logs.shown(said.append):
        assert doctor.build_core(dry_run=True).startswith("would build")
    assert any("install --yes" in line and "gcc" in line for line in said)


@pytest.mark.slow
@needs_compiler
def test_it_carries_the_number_of_the_sources_that_it_was_built_from(sources):
    (sources / "core.h").open("a").write("// one more line\n")
    library = native.build(sources)
    assert fingerprint(sources).encode() in library.read_bytes()
    assert fingerprint(sources) != fingerprint(native._SOURCES)


def test_each_name_and_each_byte_of_the_sources_counts(sources):
    before = fingerprint(sources)
    (sources / "count.c").rename(sources / "counted.c")
    renamed = fingerprint(sources)
    (sources / "core.h").write_bytes((sources / "core.h").read_bytes()[:-1])
    assert len({before, renamed, fingerprint(sources)}) == 3


@pytest.fixture
def loaded(monkeypatch):
    """What Python finds when it looks for the counting core."""
    module = ModuleType("harness.simulator._native")
    module.__file__ = "simulator/_native.cpython-311-x86_64-linux-gnu.so"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.mark.parametrize("number", [None, "", "0123456789abcdef"])
def test_a_core_of_other_sources_is_refused_by_its_file_name(loaded, number):
    if number is not None:  # those of before had none
        loaded.SOURCES = number
    with pytest.raises(EnvironmentMissing, match=r"of another version: .*cpython-311") as told:
        native.load()
    assert "tflm-hil doctor --install" in told.value.hint


def test_a_core_of_these_sources_is_loaded(loaded):
    loaded.SOURCES = fingerprint(native._SOURCES)
    assert native.load() is loaded
    assert native.find() == loaded.__file__


def test_a_core_that_was_built_after_an_older_one_was_loaded_is_found(loaded):
    loaded.SOURCES = "0123456789abcdef"
    assert native.find() == loaded.__file__  # another process loads this checkout's core


def test_the_core_of_this_package_is_checked_wherever_one_is(tmp_path, monkeypatch):
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("raise ImportError('another package')")
    monkeypatch.chdir(tmp_path)
    native.check()


def test_an_older_core_is_not_found_if_no_process_can_load_a_newer_one(loaded, monkeypatch):
    def check():
        raise BuildFailed("the counting core cannot be loaded")

    loaded.SOURCES = "0123456789abcdef"
    monkeypatch.setattr(native, "check", check)
    assert not native.find()


def test_a_simulator_with_an_old_core_is_refused_before_anything_runs(loaded):
    with pytest.raises(EnvironmentMissing, match="another version"):
        Engine(chip_table())


@pytest.mark.slow
@needs_compiler
def test_a_build_that_would_hide_the_new_one_is_removed(sources):
    old = sources.parent / f"_native{EXTENSION_SUFFIXES[0]}"
    old.write_bytes(b"stale")
    other = sources.parent / "_native.cpython-27-x86_64-linux-gnu.so"  # another Python's
    other.write_bytes(b"not ours")
    library = native.build(sources)
    assert {path.name for path in sources.parent.iterdir()} == {
        library.name, other.name, "native"
    }  # fmt: skip


def test_doctor_is_content_once_it_has_built_the_core(monkeypatch, capsys):
    built = []

    def build(*, dry_run=False):
        built.append("_native.so")
        return "built it"

    core = doctor.Requirement("counting core", "x", "", look=lambda: "".join(built))
    monkeypatch.setattr(doctor, "build_core", build)
    monkeypatch.setattr(doctor, "examine", lambda *_: [doctor.Diagnosis(core, core.look())])
    assert main(["doctor", "--install"]) == 0
    assert "all required tools are installed" in capsys.readouterr().out
