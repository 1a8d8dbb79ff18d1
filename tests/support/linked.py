"""A small firmware, linked by a test's own linker script: ELF, map file, memory table."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = r"""
extern int helper(int);
void Reset_Handler(void);
#define AT(name) __attribute__((section(name), used))
AT(".vectors") const void *vectors[] = {(void *)0x20001000, Reset_Handler};
const int table[64] = {1, 2, 3};
int counted[32] = {1, 2};
char arena[ARENA];
char small[100];
AT(".noinit") char kept[300];
AT(".late") int late[16] = {9};
void Reset_Handler(void) {
  for (;;) arena[helper(3) & 7] = table[counted[1] & 63] + small[2] + kept[1] + late[1];
}
"""
HELPER = (
    "static int hidden[50];\nint helper(int x) { hidden[x & 15] += x; return hidden[1] + x; }\n"
)

_SCRIPT = """
MEMORY {{ {memory} }}
ENTRY(Reset_Handler)
SECTIONS {{
 .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(4); }} > FLASH
 {sections}
 /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab*) }}
}}
"""
FLASH, RAM = "FLASH (rx) : ORIGIN = 0, LENGTH = 1M", "RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K"
DATA = ".data : { *(.data* .late) . = ALIGN(4); } > RAM AT> FLASH"
BSS = ".bss : { *(.bss*) *(COMMON) . = ALIGN(4); } > RAM"
NOINIT = ".noinit (NOLOAD) : { *(.noinit*) } > RAM"
_COMPILE = ("-mcpu=cortex-m33", "-mthumb", "-Os", "-g", "-ffreestanding", "-ffunction-sections",
            "-fdata-sections")  # fmt: skip
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_ROW = re.compile(r"^ *(\w+): +(\d+) (\w+) ", re.MULTILINE)


@dataclass(frozen=True)
class Linked:
    """The result of a link; ``table`` is GNU ld's --print-memory-usage, {} of lld."""

    elf: Path
    map_file: Path
    table: dict[str, int]
    errors: str

    @property
    def binary_size(self) -> int:
        """The bytes of ``objcopy -O binary``."""
        binary = self.elf.with_suffix(".bin")
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", self.elf, binary], check=True)
        return binary.stat().st_size


def link(
    folder: Path, *sections: str, memory: tuple[str, ...] = (FLASH, RAM), arena: int = 2000,
    linker: str = "gnu", options: tuple[str, ...] = ("--noinhibit-exec",),
) -> Linked:  # fmt: skip
    """Link a small firmware, ``helper`` from an archive, by a script with these ``sections``."""
    (folder / "app.c").write_text(SOURCE)
    (folder / "helper.c").write_text(HELPER)
    for name in ("app", "helper"):
        command = ["arm-none-eabi-gcc", *_COMPILE, f"-DARENA={arena}", "-c", f"{name}.c"]
        subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["arm-none-eabi-ar", "rc", "libhelp.a", "helper.o"], cwd=folder, check=True)
    script = _SCRIPT.format(memory="\n".join(memory), sections="\n".join(sections))
    (folder / "script.ld").write_text(script)
    command = (
        ["ld.lld"] if linker == "lld" else ["arm-none-eabi-ld", "--print-memory-usage"]
    )  # fmt: skip
    done = subprocess.run(
        [*command, "--gc-sections", "-T", "script.ld", "-Map=fw.map", *options, "app.o",
         "libhelp.a", "-o", "fw.elf"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    table = {name: int(used) * _UNITS[unit] for name, used, unit in _ROW.findall(done.stdout)}
    return Linked(folder / "fw.elf", folder / "fw.map", table, done.stderr)
