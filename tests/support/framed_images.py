"""The images of tests/firmware/faults, ends and agent: small C bodies in a frame."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from kept_images import kept
from renode_images import pair

from harness.elf import Image

TESTS = Path(__file__).resolve().parents[1]
HOSTILE = TESTS / "hostile"
FLAGS = (
    "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O1 -g -ffreestanding -nostdlib "
    "-fno-optimize-sibling-calls -fno-tree-loop-distribute-patterns -Wall -Wextra"
)


@dataclass(frozen=True)
class FramedImage:
    """One image; the tables explain the keys."""

    name: str
    body: str
    code: str = ""
    define: str = ""
    differs: str = ""
    late: bool = False
    worlds: bool = False

    def build(self, compiler: str, folder: Path) -> Image:
        """The image, with its ELF in ``folder``."""
        define = f"#define {self.define}" if self.define else ""
        lines = (define, '#include "image.h"', self.code, f"void Behave(void) {{\n{self.body}\n}}")
        source = "\n".join(filter(None, lines)) + "\n"
        if self.worlds:
            written = folder / f"{self.name}.c"
            written.write_text(source)
            return pair(compiler, folder, written)
        elf, frame = folder / f"{self.name}.elf", HOSTILE / "image.ld"
        command = [compiler, *FLAGS.split(), f"-I{HOSTILE}", f"-T{frame}", f"{self.name}.c"]
        read = (frame, *HOSTILE.glob("*.h"))
        return Image.from_elf(kept(elf, command, read=read, written={f"{self.name}.c": source}))


def images(table: str) -> list[FramedImage]:
    """All rows of a table, "faults", "ends" or "agent", in the order of its file."""
    rows = tomllib.loads((TESTS / "firmware" / table / f"{table}.toml").read_text())
    return [FramedImage(name, **row) for name, row in rows.items()]
