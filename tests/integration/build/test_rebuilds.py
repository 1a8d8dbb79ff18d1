"""What makes the standalone builder build again, and what does not; with the real compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base import paths
from harness.base.errors import BuildFailed
from harness.build import ninja
from harness.build.standalone import build_standalone

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")

IMAGE = "nrf9160/hello_world-exact"


class Checkout:
    """A copy of the sources below ``root``, and what was built of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(paths.platforms(), root / "platforms")
        shutil.copytree(paths.own_samples(), root / "samples")

    @property
    def runtime(self) -> Path:
        return self.root / "platforms" / "standalone"

    @property
    def samples(self) -> Path:
        return self.root / "samples"

    def build(self, configuration: str = "exact") -> set[str]:
        """The outputs whose commands ran."""
        before = self._log()
        self.elf = build_standalone("hello_world", configuration).elf
        return {line.split("\t")[3] for line in self._log() - before}

    def _log(self) -> set[str]:
        """Times and name of each output that was built; ninja writes the log anew at times."""
        logs = (self.root / "cache").glob("build/*/.ninja_log")
        return {line for log in logs for line in log.read_text().splitlines()[1:]}

    @property
    def top(self) -> Path:
        return self.elf.parents[2]

    def including(self, header: str) -> set[str]:
        """The objects that were compiled with a header, by ninja's own list."""
        command = [ninja.program(), "-t", "deps"]
        told = subprocess.run(command, cwd=self.top, capture_output=True, text=True, check=True)
        blocks = told.stdout.split("\n\n")
        return {block.partition(":")[0] for block in blocks if f"/{header}\n" in f"{block}\n"}


@pytest.fixture(scope="module")
def built() -> Checkout:
    """Compiled once for all tests, each of which leaves it as it was.

    In a place that ccache knows from earlier runs of the tests.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    root = paths.cache() / "tests" / f"checkout-{worker}"
    shutil.rmtree(root, ignore_errors=True)
    return Checkout(root)


@pytest.fixture
def checkout(built: Checkout, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    monkeypatch.setattr(paths, "platforms", lambda: built.root / "platforms")
    monkeypatch.setenv("TFLM_HIL_SAMPLES", str(built.samples))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(built.root / "cache"))
    built.build()
    before = built.elf.read_bytes()
    yield built
    built.build()
    assert built.elf.read_bytes() == before


def changed(path: Path, text: str) -> Iterator[None]:
    """Adds ``text`` to a file for as long as the iterator lives."""
    before = path.read_text()
    path.write_text(before + text)
    yield
    path.write_text(before)


def test_another_configuration_costs_one_compilation_and_one_link(checkout: Checkout) -> None:
    folder = "nrf9160/hello_world-too_large"
    assert checkout.build("too_large") == {
        f"{folder}/{name}"
        for name in ("main.o", "hello_world-too_large.elf", "hello_world-too_large.map")
    }


def test_a_touched_header_compiles_what_includes_it_and_links_nothing(checkout: Checkout) -> None:
    users = checkout.including("uarte.h")
    assert 1 < len(users) < 10
    os.utime(checkout.runtime / "soc" / "uarte.h")
    assert checkout.build() == users
    assert checkout.build() == set()


@pytest.mark.parametrize(
    "name", ["samples/common/include/hil/record.h", "platforms/standalone/soc/format.h"]
)
def test_a_changed_header_goes_into_the_image(checkout: Checkout, name: str) -> None:
    header = checkout.root / name
    before = header.read_text()
    header.write_text(f"{before}\nstatic_assert(sizeof(int) == 4);\n")
    assert checkout.build() >= checkout.including(header.name)
    header.write_text(before)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("platforms/standalone/tflm", "hil/record.h"),  # earlier on the include path
        ("platforms/standalone/tflm", "zephyr/sys/printk.h"),
        ("platforms/standalone/tflm", "cstring"),  # before the compiler's own
        ("samples/hello_world/src", "hil/main.h"),  # beside the source that includes it
    ],
)
def test_a_new_header_that_shadows_another_is_read(
    checkout: Checkout, place: str, name: str
) -> None:
    header = checkout.root / place / name
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("#error it is read\n")
    with pytest.raises(BuildFailed) as failed:
        checkout.build()
    header.unlink()
    assert failed.value.message.splitlines()[0].endswith(f"{name}:1: #error it is read")


def test_a_header_outside_all_folders_is_watched(checkout: Checkout) -> None:
    source, header = checkout.samples / "hello_world/src/main.cpp", checkout.root / "extra.h"
    before = source.read_text()
    source.write_text(f'#include "{header}"\n{before}')
    header.write_text("")
    checkout.build()
    header.write_text("#error no longer\n")
    with pytest.raises(BuildFailed, match=r"extra\.h:1: #error no longer"):
        checkout.build()
    source.write_text(before)


def test_a_changed_linker_script_links_again(checkout: Checkout) -> None:
    script = checkout.runtime / "sections.ld"
    for _ in changed(script, "/* changed */\n"):
        assert checkout.build() == {f"{IMAGE}/hello_world-exact.{one}" for one in ("elf", "map")}


def test_a_source_that_goes_is_linked_no_longer(checkout: Checkout) -> None:
    extra = checkout.samples / "hello_world" / "src" / "extra.cpp"
    extra.write_text("extern const int kExtra; const int kExtra = 5;\n")
    assert f"{IMAGE}/extra.o" in checkout.build()
    extra.unlink()
    assert f"{IMAGE}/hello_world-exact.elf" in checkout.build()


@pytest.mark.parametrize(
    "name",
    ["nrf9160/05-uarte.o", "nrf9160/runtime.a", f"{IMAGE}/main.o", f"{IMAGE}/hello_world-exact.elf",
     f"{IMAGE}/hello_world-exact.map", f"{IMAGE}/tflm_hil_config.h", "nrf9160/memory.ld",
     "schema/include/tensorflow/lite/schema/schema_generated.h", "toolchain"],
)  # fmt: skip
def test_a_damaged_file_is_mended(checkout: Checkout, name: str) -> None:
    if "uarte" in name:
        name = next(checkout.top.glob("nrf9160/*-uarte.o")).relative_to(checkout.top).as_posix()
    path = checkout.top / name
    before, status = path.read_bytes(), path.stat()
    damaged = bytearray(before)
    damaged[len(damaged) // 2] ^= 0x10
    path.write_bytes(damaged)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    checkout.build()
    assert path.read_bytes() == before
    assert checkout.build() == set()


def test_a_variable_of_the_compiler_s_is_another_build(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cstring").write_text("#error it is read\n")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match="it is read"):
        checkout.build()
    monkeypatch.delenv("CPLUS_INCLUDE_PATH")
    assert checkout.build() == set()


def write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.mark.slow
def test_a_part_of_the_compiler_that_is_replaced_in_place(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler on PATH is a script around the real one, whose programs are scripts, too."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "programs").mkdir()
    for name in ("cc1plus", "as", "ld", "collect2"):
        command = ["arm-none-eabi-g++", f"-print-prog-name={name}"]
        real = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        write_script(tmp_path / "programs" / name, f'exec "{real}" "$@"')
    compiler = shutil.which("arm-none-eabi-g++")
    write_script(
        tmp_path / "bin" / "arm-none-eabi-g++", f'exec "{compiler}" -B"{tmp_path}/programs/" "$@"'
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    checkout.build()
    assert checkout.build() == set()
    for part in (tmp_path / "bin" / "arm-none-eabi-g++", *(tmp_path / "programs").iterdir()):
        before, text = part.stat(), part.read_text()
        part.write_text(f"{text[:-1]} ")  # of the same size and time
        os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert len(checkout.build()) > 50, part.name


def test_a_folder_on_path_that_cannot_be_looked_into_is_passed_over(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a name that no file can have, as root may enter every folder."""
    monkeypatch.setenv("PATH", f"/{'x' * 300}{os.pathsep}{os.environ['PATH']}")
    assert checkout.build() == set()
