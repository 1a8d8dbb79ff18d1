"""A ``west`` whose ``build`` has a state: run as ``python -m west`` by the Zephyr builder.

It configures a tree that is new or that arguments for CMake were given for, compiles the sources
whose inputs changed, and links. ``compiled`` in the tree lists each compilation, and build.ninja
names the inputs for the real ninja. In ZEPHYR_BASE, ``fails`` is the output of a build that fails,
``c++`` the compiler, ``kernel.c`` a source; with ``nothing`` there is no ELF in the end,
with ``sysbuild`` there are two.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """``west build``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["build"])
    parser.add_argument("--cmake-only", action="store_true")
    parser.add_argument("--pristine")
    parser.add_argument("--board")
    parser.add_argument("--build-dir", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("cmake", nargs="*")
    options = parser.parse_args()
    tree, base = options.build_dir, Path(os.environ["ZEPHYR_BASE"])
    (tree / "zephyr").mkdir(parents=True, exist_ok=True)
    if options.cmake or not (tree / "CMakeCache.json").exists():
        note(tree, "cmake")
        cache = dict(one.removeprefix("-D").split("=", 1) for one in options.cmake)
        (tree / "CMakeCache.json").write_text(json.dumps(cache))
        (tree / "CMakeCache.txt").write_text(f"CMAKE_CXX_COMPILER:FILEPATH={base / 'c++'}\n")
        kernel, version = (str(base / one).replace(" ", "$ ") for one in ("kernel.c", "VERSION"))
        (tree / "build.ninja").write_text(
            f"rule cc\n  command = false\nbuild zephyr/zephyr.elf: cc {kernel}\n"
            f"build build.ninja: cc {version}\n"
        )
    if options.cmake_only:
        return
    if (base / "fails").exists():
        said = (base / "fails").read_text()
        if "overflowed by" in said:  # GNU ld writes the map all the same
            (tree / "zephyr" / "zephyr_pre0.map").write_text("")
        sys.exit(said)
    cache = json.loads((tree / "CMakeCache.json").read_text())
    choices = [cache[f"TFLM_HIL_{name}"].removeprefix("@") for name in ("SAMPLE", "RESOLVER")]
    for name, inputs in {
        "kernel.o": f"{base} {options.board} {(base / 'kernel.c').read_text()} {cache}",
        "main.o": " ".join(Path(place).read_text().strip() for place in choices),
    }.items():
        if not (tree / name).exists() or (tree / name).read_text() != inputs:
            note(tree, name)
            (tree / name).write_text(inputs)
    if (base / "nothing").exists():
        (tree / "zephyr" / "zephyr.elf").unlink(missing_ok=True)
        return
    elf = "".join((tree / name).read_text() for name in ("kernel.o", "main.o"))
    images = [tree]
    if (base / "sysbuild").exists():
        images = [tree / "application", tree / "mcuboot"]
        (tree / "domains.yaml").write_text(
            "default: application\ndomains:\n  - name: application\n  - name: mcuboot\n"
        )
    for image in images:
        (image / "zephyr").mkdir(parents=True, exist_ok=True)
        for name in ("zephyr.elf", "zephyr.map", ".config", "zephyr.dts"):
            (image / "zephyr" / name).write_text(f"{image.name} {elf}")
    if options.board in ("nrf9160dk/nrf9160/ns", "nrf9160dk_nrf9160_ns"):
        (tree / "tfm" / "bin").mkdir(parents=True, exist_ok=True)
        (tree / "zephyr" / "tfm_merged.hex").write_text("merged")
        (tree / "tfm" / "bin" / "tfm_s.elf").write_text("secure")
        (tree / "tfm" / "bin" / "bl2.elf").write_text("bootloader")


def note(tree: Path, what: str) -> None:
    """Append to the list of compilations."""
    with (tree / "compiled").open("a") as file:
        file.write(f"{what}\n")


if __name__ == "__main__":
    main()
