"""Bare images with a model, and with functions of tflite-micro by their linker names."""

from __future__ import annotations

from pathlib import Path

from bare_images import BareImages

HEADER = """
void say(const char *);
__attribute__((aligned(16), used)) const unsigned char g_model[] = {MODEL};
static unsigned char tensor_arena[2048];
__attribute__((noipa)) void take(void *self, const void *m, const void *r, unsigned char *a,
                                 unsigned size)
    __asm__("_ZN6tflite16MicroInterpreterC1EPKNS_5ModelERKNS_10OpResolverEPhj");
void take(void *self, const void *m, const void *r, unsigned char *a, unsigned size) {
  __asm__ volatile("" ::: "memory");
}
__attribute__((noipa)) int allocate(void)
    __asm__("_ZN6tflite16MicroInterpreter15AllocateTensorsEv");
int allocate(void) { ALLOCATES }
"""


def with_interpreter(
    images: BareImages, folder: Path, body: str, model: bytes = b"", allocates: str = ""
) -> Path:
    """An image of ``body`` that holds ``model``; ``allocates`` is the body of AllocateTensors()."""
    numbers = ",".join(map(str, model or bytes(4)))
    header = folder / "model.h"
    header.write_text(
        HEADER.replace("MODEL", numbers).replace("ALLOCATES", allocates or "return 0;")
    )
    return images(body, f"-O1 -include {header}")
