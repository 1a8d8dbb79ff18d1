"""Images without an operating system, from a body of main() in C: they print and end as it says."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from kept_images import kept

COMPILER = shutil.which("arm-none-eabi-gcc")
OPTIONS = ("-mcpu=cortex-m33", "-mthumb", "-g", "-w")
LINK = ("-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Timage.ld")

# UARTE0 of the nRF9160: ENABLE 0x500, PSEL.TXD 0x50C, BAUDRATE 0x524, TXD.PTR 0x544 and MAXCNT.
SOURCE = """
#include <stdlib.h>
#include <signal.h>
#include <assert.h>
#include <stdint.h>
#define UARTE(offset) (*(volatile unsigned *)(0x50008000 + (offset)))
#define SCB(offset) (*(volatile unsigned *)(0xE000ED00 + (offset)))
extern unsigned data_from, data_begin, data_end, bss_begin, bss_end;
__attribute__((noinline)) int main(void);
void _exit(int);
void start(void) {
  for (unsigned *to = &bss_begin; to < &bss_end;) *to++ = 0;
  unsigned *from = &data_from;
  for (unsigned *to = &data_begin; to < &data_end;) *to++ = *from++;
  UARTE(0x50C) = 29;
  UARTE(0x524) = 0x01D60000;
  UARTE(0x500) = 8;
  int code = main();
  _exit(code);
}
static char buffer[128];
__attribute__((noinline)) void say(const char *text) {
  unsigned length = 0;
  while (text[length]) { buffer[length] = text[length]; length++; }
  UARTE(0x120) = 0;
  UARTE(0x544) = (unsigned)(uintptr_t)buffer;
  UARTE(0x548) = length;
  __asm__ volatile("dsb" ::: "memory");
  UARTE(0x008) = 1;
  while (!UARTE(0x120)) {}
}
void wait(void) { for (volatile unsigned i = 0; i < 100000; i++) {} }
void on_fault(void) { ON_FAULT; }
MORE
__attribute__((section(".vectors"), used)) void *const vectors[80] = {
    (void *)0x20010000, (void *)start, [2 ... 79] = (void *)on_fault, VECTORS};
int main(void) { BODY; }
"""
SCRIPT = """
SECTIONS {
  . = 0;
  .vectors : { KEEP(*(.vectors)) }
  .text : { *(.text* .rodata*) . = ALIGN(4); }
  .ARM.exidx : { *(.ARM.exidx*) }
  data_from = .;
  .data 0x20000000 : AT (data_from) { data_begin = .; *(.data*) . = ALIGN(4); data_end = .; }
  .bss (NOLOAD) : { bss_begin = .; *(.bss* COMMON) . = ALIGN(4); bss_end = .; end = .; }
}
"""


class BareImages:
    """Compiles each image once, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Path] = {}

    def __call__(
        self,
        body: str,
        flags: str = "-O1",
        on_fault: str = "for (;;) {}",
        origin: int = 0,
        handlers: Mapping[int, str] | None = None,
        more: str = "",
    ) -> Path:
        """The image; its exception handlers run ``on_fault``, its flash begins at ``origin``.

        ``handlers``: number of an exception -> body of a handler of its own. ``more`` is code
        before main().
        """
        own = handlers or {}
        more += "".join(f"void handler_{n}(void) {{ {own[n]}; }}\n" for n in own)
        vectors = ", ".join(f"[{n}] = (void *)handler_{n}" for n in own)
        key = body, flags, on_fault, str(origin), more
        if key not in self._made:
            path = self._folder / f"image{len(self._made)}.elf"
            text = SOURCE.replace("MORE", more).replace("VECTORS", vectors)
            text = text.replace("ON_FAULT", on_fault).replace("BODY", body)
            script = SCRIPT.replace(". = 0;", f". = {origin:#x};")
            command = [str(COMPILER), *OPTIONS, *flags.split(), "image.c", *LINK]
            self._made[key] = kept(path, command, written={"image.c": text, "image.ld": script})
        return self._made[key]
