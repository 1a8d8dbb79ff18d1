"""Images that misbehave end on a real Renode as the firmware's fault, with console and place."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness.elf import Image
from harness.targets import Stop, open_target

COMPILER = shutil.which("arm-none-eabi-gcc")
pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

#: Prints through UARTE0, one byte a transfer, and has one handler for all faults.
HEAD = """
#define WORD(address) (*(volatile unsigned *)(address))
extern void reset(void);
static void print(const char *text) {
  static char byte;
  for (; *text; text++) {
    byte = *text;
    WORD(0x50008544) = (unsigned)&byte;
    WORD(0x50008548) = 1;
    WORD(0x50008120) = 0;
    WORD(0x50008008) = 1;
    while (!WORD(0x50008120)) {}
  }
}
void fault(void) { print("handler\\n"); for (;;) __asm__("wfi"); }
__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    (void *)0x20010000, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault};
int deeper(int n);
"""
TAIL = """
int deeper(int n) {
  volatile int local[64];
  local[n & 63] = n;
  return deeper(n + 1) + local[0];
}
"""
SCRIPT = """SECTIONS {
  . = 0; .vectors : { KEEP(*(.vectors)) } .text : { *(.text*) *(.rodata*) }
  . = 0x20000000; .bss (NOLOAD) : { *(.bss*) }
}"""
#: What main() does; how the run ends; the fault's kind and reason; what the console holds behind.
BODIES = {
    "undefined": ('__asm__("udf #0");', Stop.IDLE, "UsageFault", "UNDEFINSTR", b"handler\n"),
    "null_call": ("((void (*)(void))0)();", Stop.IDLE, "UsageFault", "INVSTATE", b"handler\n"),
    "wild_branch": (
        "((void (*)(void))0x30000001)();", Stop.LOCKUP, "BusFault",
        "IBUSERR, branch to 0x30000000", b"",
    ),
    "end_of_ram": (
        "((void (*)(void))0x20040001)();", Stop.LOCKUP, "BusFault",
        "IBUSERR, branch to 0x20040000", b"",
    ),
    "lockup": (
        'WORD(0xE000ED24) = 7 << 16; __asm__("cpsid f\\n udf #0");', Stop.LOCKUP, "Lockup",
        "UNDEFINSTR", b"",
    ),
    "overflow": ("deeper(0);", Stop.LOCKUP, "BusFault", "STKERR", b""),
}  # fmt: skip


def built(folder: Path, body: str) -> Image:
    script, source, elf = (folder / f"image.{suffix}" for suffix in ("ld", "c", "elf"))
    script.write_text(SCRIPT)
    wiring = "WORD(0x5000850C) = 29; WORD(0x50008524) = 0x01D60000;"
    start = f'{wiring} WORD(0x50008500) = 8; print("hello\\n");'
    source.write_text(f"{HEAD}void reset(void) {{ {start} {body} for (;;) {{}} }}\n{TAIL}\n")
    flags = ["-mcpu=cortex-m33", "-mthumb", "-O1", "-g", "-nostdlib", "-fno-builtin"]
    flags += ["-fno-optimize-sibling-calls"]
    subprocess.run([str(COMPILER), *flags, f"-T{script}", source, "-o", elf], check=True)
    return Image.from_elf(elf)


@pytest.mark.parametrize("name", BODIES)
def test_a_fault_ends_the_run_with_its_place_and_the_console(server, tmp_path, name):
    body, stop, kind, reason, printed = BODIES[name]
    with open_target("renode", built(tmp_path, body), server=server) as session:
        assert session.run(None, session.deadline(30, guard=60)) is stop
        assert session.counters.virtual_seconds < 0.2
        fault = session.faults[0]
        assert fault.kind == kind
        assert fault.reason.startswith(reason)
        assert fault.where.startswith(("reset at", "deeper at"))
        assert session.read() == b"hello\n" + printed


@pytest.mark.parametrize("text", ["x", "\\n", "a line of text\\n"])
def test_an_image_that_prints_without_end_ends_at_its_guard(server, tmp_path, text):
    firmware = built(tmp_path, f'for (;;) print("{text}");')
    with open_target("renode", firmware, server=server) as session:
        begun = time.monotonic()
        assert session.run(None, session.deadline(1000, guard=2)) is Stop.GUARD
        assert time.monotonic() - begun < 10  # not 100 s; the margin is 0.5 s on a quiet machine
        assert session.read().startswith(b"hello\n")


def test_a_loop_in_silence_is_no_lockup(server, tmp_path):
    firmware = built(tmp_path, "for (volatile int n = 0;; n++) {}")
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(0.2)) is Stop.DEADLINE
        assert not session.faults
