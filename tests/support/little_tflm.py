"""A firmware with the shape of a tflite-micro application, small enough to compile in a test.

Two "operators" with kernels of their own, one helper that both call, one table that only one
reads, a resolver class template under tflite-micro's name, and an interpreter that calls through
the registrations.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

KERNELS = r"""
#include "little.h"
namespace tflite {
__attribute__((noinline)) int Shared(int x) {
  int y = 0;
  for (int i = 0; i < x; ++i) y += i * x ^ (y >> 3);
  return y;
}
namespace {
const short kOnlyConv[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
int softmax_calls;
TfLiteStatus ConvPrepare(TfLiteContext* c, TfLiteNode* n) { return n->x > 0 ? Shared(n->x) : 1; }
TfLiteStatus ConvEval(TfLiteContext* c, TfLiteNode* n) {
  n->x = Shared(n->x) + kOnlyConv[n->x & 63];
  Log("convolution went well");
  return 0;
}
TfLiteStatus SoftmaxPrepare(TfLiteContext*, TfLiteNode* n) { return n->x < 0; }
TfLiteStatus SoftmaxEval(TfLiteContext*, TfLiteNode* n) {
  ++softmax_calls;
  n->x = Shared(n->x * 3) + softmax_calls;
  return 0;
}
}  // namespace
TFLMRegistration Register_CONV_2D() { return {0, 0, ConvPrepare, ConvEval, 0, 3, 0}; }
TFLMRegistration Register_SOFTMAX() { return {0, 0, SoftmaxPrepare, SoftmaxEval, 0, 25, 0}; }
TfLiteStatus ParseConv2D(const void* x) { return x != nullptr; }
TfLiteStatus ParseSoftmax(const void* x) { return x == nullptr; }
}  // namespace tflite
"""

HEADER = r"""
#pragma once
struct TfLiteContext;
struct TfLiteNode { int x; };
using TfLiteStatus = int;
void Log(const char* text);
struct TFLMRegistration {
  void* (*init)(TfLiteContext*, const char*, unsigned);
  void (*free)(TfLiteContext*, void*);
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteNode*);
  TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*);
  void (*reset)(TfLiteContext*, void*);
  int builtin_code;
  const char* custom_name;
};
namespace tflite {
TFLMRegistration Register_CONV_2D();
TFLMRegistration Register_SOFTMAX();
TfLiteStatus ParseConv2D(const void*);
TfLiteStatus ParseSoftmax(const void*);
struct Base { virtual int Find(int code) const = 0; };
template <unsigned int N>
class MicroMutableOpResolver : public Base {
 public:
  int Find(int code) const override {
    for (unsigned i = 0; i < registrations_len_; ++i)
      if (registrations_[i].builtin_code == code) return i;
    return -1;
  }
  TfLiteStatus AddConv2D() { return Add(Register_CONV_2D(), ParseConv2D); }
  TfLiteStatus AddSoftmax() { return Add(Register_SOFTMAX(), ParseSoftmax); }
  TfLiteStatus AddCustom(const char* name, const TFLMRegistration* r) {
    if (registrations_len_ >= N) return 1;
    TFLMRegistration& slot = registrations_[registrations_len_++];
    slot = *r;
    slot.builtin_code = 32;
    slot.custom_name = name;
    return 0;
  }
  TFLMRegistration registrations_[N];
  unsigned int registrations_len_ = 0;
  int builtin_codes_[N];
  TfLiteStatus (*builtin_parsers_[N])(const void*);
  unsigned int num_buitin_ops_ = 0;
 private:
  TfLiteStatus Add(const TFLMRegistration& r, TfLiteStatus (*parser)(const void*)) {
    if (registrations_len_ >= N || Find(r.builtin_code) >= 0) return 1;
    registrations_[registrations_len_++] = r;
    builtin_parsers_[num_buitin_ops_] = parser;
    builtin_codes_[num_buitin_ops_++] = r.builtin_code;
    return 0;
  }
};
}  // namespace tflite
"""

#: With it the image has an interpreter as tflite-micro has: its model and its resolver come first.
INTERPRETER = r"""
#pragma once
#include "little.h"
namespace tflite {
struct MicroInterpreter {
  MicroInterpreter(const void* model, const Base& resolver) : model_(model), resolver_(resolver) {}
  __attribute__((noipa)) TfLiteStatus AllocateTensors() {
    return model_ == nullptr || resolver_.Find(3) < 0;
  }
  const void* model_;
  const Base& resolver_;
};
}  // namespace tflite
"""

#: Code for ``interpret`` below: the image's own resolver is the interpreter's.
INTERPRET = "tflite::MicroInterpreter(g_model, resolver).AllocateTensors();"

MAIN = r"""
#include "little.h"
INCLUDE
static volatile char sink;
alignas(16) unsigned char tensor_arena[2048];
void Log(const char* text) { while (*text) sink = *text++; }
extern "C" unsigned _sidata, _sdata, _edata, _sbss, _ebss;
extern "C" void Reset_Handler();
extern const unsigned g_model[];
__attribute__((section(".vectors"), used)) void* const vectors[2] = {
    reinterpret_cast<void*>(0x20001000), reinterpret_cast<void*>(Reset_Handler)};
int initialised[3] = {7, 8, 9};
static tflite::MicroMutableOpResolver<SLOTS> resolver;
extern "C" __attribute__((noinline)) void setup() {
  REGISTER
  INTERPRET
}
extern "C" __attribute__((noinline)) int loop() {
  TfLiteNode node{initialised[0] + static_cast<int>(g_model[2]) + tensor_arena[5]};
  for (unsigned i = 0; i < resolver.registrations_len_; ++i) {
    auto& r = resolver.registrations_[i];
    if (r.prepare(nullptr, &node) == 0) r.invoke(nullptr, &node);
    resolver.builtin_parsers_[i](&node);
  }
  const tflite::Base* base = &resolver;
  asm volatile("" : "+r"(base));
  return base->Find(3) + node.x;
}
extern "C" void (*__init_array_start[])();
extern "C" void (*__init_array_end[])();
extern "C" void Reset_Handler() {
  unsigned* from = &_sidata;
  for (unsigned* to = &_sdata; to < &_edata;) *to++ = *from++;
  for (unsigned* to = &_sbss; to < &_ebss;) *to++ = 0;
  for (auto f = __init_array_start; f < __init_array_end; ++f) (*f)();
  setup();
  for (;;) tensor_arena[1] = loop();
}
"""

MODEL = """
extern const unsigned g_model[64];
const unsigned g_model[64] = {0x1, 0x33464c54, 0x149, 0x181, 0x1a1, 0x1c1};
"""

SCRIPT = """
ENTRY(Reset_Handler)
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 1M
         RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 256K }
SECTIONS {
  .vectors : { KEEP(*(.vectors)) } > FLASH
  .text : { *(.text*) } > FLASH
  .rodata : { *(.rodata*) . = ALIGN(4); } > FLASH
  .init_array : { __init_array_start = .; KEEP(*(.init_array*)) __init_array_end = .; } > FLASH
  .ARM.exidx : { *(.ARM.exidx*) } > FLASH
  .data : { _sdata = .; *(.data*) . = ALIGN(4); _edata = .; } > RAM AT > FLASH
  _sidata = LOADADDR(.data);
  .bss (NOLOAD) : { _sbss = .; *(.bss*) *(COMMON) . = ALIGN(4); _ebss = .; } > RAM
  /DISCARD/ : { *(.ARM.extab*) *(.comment) }
}
"""

_FLAGS = ("-mthumb", "-Os", "-ffunction-sections", "-fdata-sections", "-fno-exceptions",
          "-fno-rtti", "-fno-threadsafe-statics", "-ffreestanding", "-w")  # fmt: skip


def compile_little(
    folder: Path,
    *,
    register: str = "resolver.AddConv2D(); resolver.AddSoftmax();",
    interpret: str = "",
    slots: int = 2,
    dwarf: str = "-gdwarf-5",
    compiler: str = "gcc",
    extra: tuple[str, ...] = (),
    files: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Compile and link; the map file lies beside the ELF as ``little.map``.

    ``interpret`` is code behind ``register`` that may use an interpreter.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "little.h").write_text(HEADER)
    (folder / "kernels.cc").write_text(KERNELS)
    (folder / "model.cc").write_text(MODEL)
    (folder / "interpreter.h").write_text(INTERPRETER)
    parts = {"SLOTS": str(slots), "REGISTER": register, "INTERPRET": interpret,
             "INCLUDE": '#include "interpreter.h"' if interpret else ""}  # fmt: skip
    main = MAIN
    for name, text in parts.items():
        main = main.replace(name, text)
    (folder / "main.cc").write_text(main)
    (folder / "little.ld").write_text(SCRIPT)
    for name, text in files.items():
        (folder / name).write_text(text)
    if compiler == "gcc":
        tool = ["arm-none-eabi-g++", "-mcpu=cortex-m33", "-nostdlib", "-Wl,--gc-sections",
                "-Wl,-Map=little.map", "-lgcc"]  # fmt: skip
    else:
        tool = ["clang", "--target=armv8m.main-none-eabi", "-mcpu=cortex-m33", "-mfloat-abi=soft",
                "-nostdlib", "-fuse-ld=lld", "-Wl,--gc-sections"]  # fmt: skip
    flags = [dwarf] if dwarf else []
    command = [*tool, *_FLAGS, *flags, *extra, "-std=c++17", "-T", "little.ld", "-o", "little.elf",
               "main.cc", "kernels.cc", "model.cc"]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "little.elf"
