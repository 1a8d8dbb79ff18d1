"""Loading of the shared library of Unicorn, and the errors for one that does not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import needs
import pytest

from harness.base.errors import EnvironmentMissing
from harness.simulator import unicorn

Install = Callable[[str, bytes], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package ``unicorn`` that holds one file before the real one."""

    def put(name: str, content: bytes) -> Path:
        path = tmp_path / "unicorn" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        (tmp_path / "unicorn" / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, "unicorn", raising=False)
        monkeypatch.syspath_prepend(tmp_path)
        return path

    return put


def stub(folder: Path, version: int) -> bytes:
    """A library with Unicorn's functions, of which ``uc_version`` alone does anything."""
    compiler = needs.require("cc")
    names = [name for name in unicorn._SIGNATURES if name != "uc_version"]
    source = f"unsigned uc_version(void *a, void *b) {{ return {version:#x}; }}\n"
    source += "".join(f"void {name}(void) {{}}\n" for name in names)
    (folder / "stub.c").write_text(source)
    command = [compiler, "-shared", "-fPIC", "-w", "stub.c", "-o", "stub.so"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "stub.so").read_bytes()


def refusal() -> EnvironmentMissing:
    with pytest.raises(EnvironmentMissing) as refused:
        unicorn.load.__wrapped__()
    assert refused.value.hint == "install it with: pip install 'unicorn>=2.1.4'"
    return refused.value


def test_a_missing_library_has_an_installation_hint(install: Install) -> None:
    install("lib/README", b"")
    assert refusal().message == "the simulator needs the Python package unicorn"


@pytest.mark.parametrize("name", ["libunicorn.so", "libunicorn.so.2", "libunicorn.2.dylib"])
def test_a_file_that_is_not_a_library_is_named(install: Install, name: str) -> None:
    install(f"lib/{name}", b"text")
    assert refusal().message.startswith(f"cannot load {name}: ")


@pytest.mark.parametrize("version", ["1.9", "2.0"])
def test_a_version_before_2_1_is_too_old(install: Install, tmp_path: Path, version: str) -> None:
    major, minor = (int(part) for part in version.split("."))
    install("lib/libunicorn.so.2", stub(tmp_path, major << 24 | minor << 16 | 0xFF04))
    assert refusal().message == f"unicorn {version} is too old"


@pytest.mark.parametrize("version", [0x0201_0400, 0x0202_0000, 0x0300_0000])
def test_later_versions_are_loaded(install: Install, tmp_path: Path, version: int) -> None:
    install("lib/libunicorn.so.2", stub(tmp_path, version))
    assert unicorn.load.__wrapped__().uc_version(None, None) == version


def test_a_refused_call_of_unicorn_names_call_and_error() -> None:
    loaded = unicorn.load()
    unicorn.check(loaded, 0, "nothing")
    with pytest.raises(unicorn.UnicornError, match=r"^mapping flash: .*memory"):
        unicorn.check(loaded, 6, "mapping flash")


def test_functions_have_addresses() -> None:
    loaded = unicorn.load()
    addresses = [unicorn.function_address(loaded, name) for name in unicorn.NATIVE_FUNCTIONS]
    assert len(set(addresses)) == len(addresses)
    assert 0 not in addresses
