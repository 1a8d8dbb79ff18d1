"""A firmware with the shape of a tflite-micro application, small enough to compile in a test.

Two "operators" with kernels of their own, one helper that both call, one table that only one
reads, and tflite-micro's resolver class: its methods, their linker names and its members. An image
that allocates has an interpreter that finds the operators of its model.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kept_images import kept

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
TfLiteStatus AddEval(TfLiteContext*, TfLiteNode* n) { return n->x + 5; }
TFLMRegistration Register_ADD() { return {0, 0, 0, AddEval, 0, 0, 0}; }
TFLMRegistration Register_CONV_2D() { return {0, 0, ConvPrepare, ConvEval, 0, 3, 0}; }
TFLMRegistration Register_SOFTMAX() { return {0, 0, SoftmaxPrepare, SoftmaxEval, 0, 25, 0}; }
TfLiteStatus ParseAdd(const void* x) { return x != nullptr; }
TfLiteStatus ParseConv2D(const void* x) { return x != nullptr; }
TfLiteStatus ParseSoftmax(const void* x) { return x == nullptr; }
}  // namespace tflite
"""

#: tflite-micro's record of an operator.
RECORD = """
struct TFLMRegistration {
  void* (*init)(TfLiteContext*, const char*, unsigned);
  void (*free)(TfLiteContext*, void*);
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteNode*);
  TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*);
  void (*reset)(TfLiteContext*, void*);
  int builtin_code;
  const char* custom_name;
};
"""

HEADER = rf"""
#pragma once
struct TfLiteContext;
struct TfLiteNode {{ int x; }};
using TfLiteStatus = int;
void Log(const char* text);
{RECORD}
namespace tflite {{
enum BuiltinOperator : int {{
  BuiltinOperator_ADD = 0,
  BuiltinOperator_CONV_2D = 3,
  BuiltinOperator_SOFTMAX = 25,
  BuiltinOperator_CUSTOM = 32
}};
TFLMRegistration Register_ADD();
TFLMRegistration Register_CONV_2D();
TFLMRegistration Register_SOFTMAX();
using TfLiteBridgeBuiltinParseFunction = TfLiteStatus (*)(const void*);
TfLiteStatus ParseAdd(const void*);
TfLiteStatus ParseConv2D(const void*);
TfLiteStatus ParseSoftmax(const void*);
inline bool Same(const char* one, const char* other) {{
  for (; *one && *one == *other; ++one) ++other;
  return *one == *other;
}}
class MicroOpResolver {{
 public:
  virtual const TFLMRegistration* FindOp(BuiltinOperator op) const = 0;
  virtual const TFLMRegistration* FindOp(const char* op) const = 0;
  virtual TfLiteBridgeBuiltinParseFunction GetOpDataParser(BuiltinOperator op) const = 0;
}};
template <unsigned int N>
class MicroMutableOpResolver : public MicroOpResolver {{
 public:
  const TFLMRegistration* FindOp(BuiltinOperator op) const override {{
    if (op == BuiltinOperator_CUSTOM) return nullptr;
    for (unsigned i = 0; i < registrations_len_; ++i)
      if (registrations_[i].builtin_code == op) return &registrations_[i];
    return nullptr;
  }}
  const TFLMRegistration* FindOp(const char* op) const override {{
    for (unsigned i = 0; i < registrations_len_; ++i)
      if (registrations_[i].builtin_code == BuiltinOperator_CUSTOM &&
          Same(registrations_[i].custom_name, op))
        return &registrations_[i];
    return nullptr;
  }}
  TfLiteBridgeBuiltinParseFunction GetOpDataParser(BuiltinOperator op) const override {{
    for (unsigned i = 0; i < num_buitin_ops_; ++i)
      if (builtin_codes_[i] == op) return builtin_parsers_[i];
    return nullptr;
  }}
  TfLiteStatus AddCustom(const char* name, const TFLMRegistration* r) {{
    if (registrations_len_ >= N || FindOp(name) != nullptr) return 1;
    TFLMRegistration& slot = registrations_[registrations_len_++];
    slot = *r;
    slot.builtin_code = BuiltinOperator_CUSTOM;
    slot.custom_name = name;
    return 0;
  }}
  TfLiteStatus AddAdd() {{ return AddBuiltin(BuiltinOperator_ADD, Register_ADD(), ParseAdd); }}
  TfLiteStatus AddConv2D(const TFLMRegistration& registration = Register_CONV_2D()) {{
    return AddBuiltin(BuiltinOperator_CONV_2D, registration, ParseConv2D);
  }}
  TfLiteStatus AddSoftmax() {{
    return AddBuiltin(BuiltinOperator_SOFTMAX, Register_SOFTMAX(), ParseSoftmax);
  }}
  TFLMRegistration registrations_[N];
  unsigned int registrations_len_ = 0;
  BuiltinOperator builtin_codes_[N];
  TfLiteBridgeBuiltinParseFunction builtin_parsers_[N];
  unsigned int num_buitin_ops_ = 0;
 private:
  TfLiteStatus AddBuiltin(BuiltinOperator op, const TFLMRegistration& r,
                          TfLiteBridgeBuiltinParseFunction parser) {{
    if (FindOp(op) != nullptr || registrations_len_ >= N) return 1;
    registrations_[registrations_len_] = r;
    registrations_[registrations_len_++].builtin_code = op;
    builtin_codes_[num_buitin_ops_] = op;
    builtin_parsers_[num_buitin_ops_++] = parser;
    return 0;
  }}
}};
}}  // namespace tflite
"""


def older_header(words: int, code: str = "int") -> str:
    """The header of a revision before 2023: registrations of ``words`` words, ``code`` codes."""
    more = "".join(f"  int more{number};\n" for number in range(words - 8))
    record = RECORD.replace("TFLMRegistration", "TfLiteRegistration")
    record = record.replace("void (*reset)(TfLiteContext*, void*)",
                            "const char* (*profiling_string)(const TfLiteContext*)")  # fmt: skip
    record = record.replace("custom_name;\n", f"custom_name;\n  int version;\n{more}")
    text = HEADER.replace(RECORD, f"{record}\n#define TFLMRegistration TfLiteRegistration\n")
    return text.replace("enum BuiltinOperator : int", f"enum BuiltinOperator : {code}")


#: The interpreter, which an image has if it allocates (``interpret``).
INTERPRETER = r"""
#pragma once
#include "little.h"
namespace tflite {
struct Model;
const Model* GetModel(const void* buffer);
class MicroAllocator {
 public:
  static MicroAllocator* Create(unsigned char* arena, unsigned size);
};
class MicroInterpreter {
 public:
  MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver, unsigned char* arena,
                   unsigned size);
  MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                   MicroAllocator* allocator);
  TfLiteStatus AllocateTensors();
 private:
  const Model* model_;
  const MicroOpResolver& op_resolver_;
  const void* arena_;
};
class RecordingMicroInterpreter : public MicroInterpreter {
 public:
  RecordingMicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                            unsigned char* arena, unsigned size);
};
}  // namespace tflite
"""

#: Its code. ``allocated`` is what AllocateTensors() returned last: 0 if all operators are found.
INTERPRETER_CODE = r"""
#include "interpreter.h"
extern "C" { volatile int allocated = -1; }
namespace tflite {
namespace {
using Bytes = const unsigned char*;
int Int(Bytes at) { return *reinterpret_cast<const int*>(at); }
Bytes Follow(Bytes at) { return at + Int(at); }
Bytes Field(Bytes table, int number) {
  Bytes offsets = table - Int(table);
  const unsigned short* at = reinterpret_cast<const unsigned short*>(offsets);
  return 4 + 2 * number < at[0] && at[2 + number] ? table + at[2 + number] : nullptr;
}
}  // namespace
const Model* GetModel(const void* buffer) {
  return reinterpret_cast<const Model*>(Follow(static_cast<Bytes>(buffer)));
}
MicroAllocator* MicroAllocator::Create(unsigned char* arena, unsigned) {
  return reinterpret_cast<MicroAllocator*>(arena);
}
MicroInterpreter::MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                                   unsigned char* arena, unsigned size)
    : model_(model), op_resolver_(op_resolver), arena_(MicroAllocator::Create(arena, size)) {}
MicroInterpreter::MicroInterpreter(const Model* model, const MicroOpResolver& op_resolver,
                                   MicroAllocator* allocator)
    : model_(model), op_resolver_(op_resolver), arena_(allocator) {}
RecordingMicroInterpreter::RecordingMicroInterpreter(const Model* model,
                                                     const MicroOpResolver& op_resolver,
                                                     unsigned char* arena, unsigned size)
    : MicroInterpreter(model, op_resolver, MicroAllocator::Create(arena, size)) {}
TfLiteStatus MicroInterpreter::AllocateTensors() {
  Bytes codes = Follow(Field(reinterpret_cast<Bytes>(model_), 1));
  allocated = 0;
  for (int i = 0; i < Int(codes); ++i) {
    Bytes code = Follow(codes + 4 + 4 * i);
    Bytes number = Field(code, 3), custom = Field(code, 1);
    const TFLMRegistration* found =
        custom ? op_resolver_.FindOp(reinterpret_cast<const char*>(Follow(custom) + 4))
               : op_resolver_.FindOp(static_cast<BuiltinOperator>(number ? Int(number) : 0));
    if (found == nullptr) allocated = 1;
  }
  return allocated;
}
}  // namespace tflite
"""

#: Code for ``interpret`` below: an interpreter of the image's model gets the image's own resolver.
INTERPRET = "interpret(g_model, resolver);"

#: What compilers call; the image has no C library.
RUNTIME = r"""
extern "C" {
__attribute__((used)) void* memcpy(void* to, const void* from, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<const volatile char*>(from)[i];
  return to;
}
__attribute__((used)) void* memset(void* to, int value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) static_cast<volatile char*>(to)[i] = value;
  return to;
}
void __cxa_pure_virtual() { for (;;) {} }
void __aeabi_memcpy(void* to, const void* from, unsigned size) { memcpy(to, from, size); }
void __aeabi_memcpy4(void* to, const void* from, unsigned size) { memcpy(to, from, size); }
void __aeabi_memcpy8(void* to, const void* from, unsigned size) { memcpy(to, from, size); }
void __aeabi_memclr(void* to, unsigned size) { memset(to, 0, size); }
void __aeabi_memclr4(void* to, unsigned size) { memset(to, 0, size); }
void __aeabi_memclr8(void* to, unsigned size) { memset(to, 0, size); }
}
"""

#: What an image with an interpreter has above its setup().
INTERPRETS = r"""
#include "interpreter.h"
extern const unsigned g_model[];
extern unsigned char tensor_arena[2048];
inline TfLiteStatus interpret(const void* model, const tflite::MicroOpResolver& resolver) {
  tflite::MicroInterpreter interpreter(tflite::GetModel(model), resolver, tensor_arena, 2048);
  return interpreter.AllocateTensors();
}
"""

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
  const tflite::MicroOpResolver* base = &resolver;
  asm volatile("" : "+r"(base));
  return (base->FindOp(tflite::BuiltinOperator_CONV_2D) != nullptr) + node.x;
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

#: Not a whole model: its beginning.
BEGINNING = struct.pack("<64I", 1, 0x33464C54, 0x149, 0x181, 0x1A1, 0x1C1, *bytes(58))

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


def variable(name: str, data: bytes) -> str:
    """The C++ source of a constant that holds a model."""
    whole = data + bytes(-len(data) % 4)
    words = ", ".join(map(str, memoryview(whole).cast("I")))
    return f"extern const unsigned {name}[];\nconst unsigned {name}[] = {{{words}}};\n"


_FLAGS = ("-mthumb", "-Os", "-ffunction-sections", "-fdata-sections", "-fno-exceptions",
          "-fno-rtti", "-fno-threadsafe-statics", "-ffreestanding", "-w")  # fmt: skip


def sources(
    *,
    register: str = "resolver.AddConv2D(); resolver.AddSoftmax();",
    interpret: str = "",
    slots: int = 2,
    dwarf: str = "-gdwarf-5",
    compiler: str = "gcc",
    extra: tuple[str, ...] = (),
    files: Mapping[str, str] = MappingProxyType({}),
    models: Mapping[str, bytes] = MappingProxyType({"g_model": BEGINNING}),
) -> tuple[list[str], dict[str, str]]:
    """The command that compiles and links the firmware, and the files that it reads.

    ``interpret`` is code behind ``register`` that may use an interpreter.
    """
    parts = {"SLOTS": str(slots), "REGISTER": register, "INTERPRET": interpret,
             "INCLUDE": INTERPRETS if interpret else ""}  # fmt: skip
    main = MAIN
    for name, text in parts.items():
        main = main.replace(name, text)
    model = "".join(map(variable, models, models.values()))
    texts = {"little.h": HEADER, "kernels.cc": KERNELS, "model.cc": model,
             "interpreter.h": INTERPRETER, "interpreter.cc": INTERPRETER_CODE,
             "runtime.cc": RUNTIME, "main.cc": main, "little.ld": SCRIPT, **files}  # fmt: skip
    if compiler == "gcc":
        tool = ["arm-none-eabi-g++", "-mcpu=cortex-m33", "-nostdlib", "-Wl,--gc-sections", "-lgcc"]
    else:
        tool = ["clang", "--target=armv8m.main-none-eabi", "-mcpu=cortex-m33", "-mfloat-abi=soft",
                "-nostdlib", "-fuse-ld=lld", "-Wl,--gc-sections"]  # fmt: skip
    flags = [dwarf] if dwarf else []
    added = ["interpreter.cc", "runtime.cc"] if interpret else []
    command = [*tool, *_FLAGS, *flags, *extra, "-std=c++17", "-T", "little.ld",
               "main.cc", "kernels.cc", "model.cc", *added]  # fmt: skip
    return command, texts


def compile_little(folder: Path, **options: Any) -> Path:
    """``little.elf`` in ``folder``, of the :func:`sources` with these options."""
    command, texts = sources(**options)
    folder.mkdir(parents=True, exist_ok=True)
    return kept(folder / "little.elf", command, written=texts)


def compile_with_map(folder: Path, *options: str) -> str:
    """Make ``little.elf`` and ``little.map`` in ``folder``, not kept; what the linker prints."""
    command, texts = sources()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [*command, "-Wl,-Map=little.map", *options, "-o", "little.elf"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
