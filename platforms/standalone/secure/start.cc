// From reset to the non-secure image: vector table, memory, faults, attribution, the change of
// world.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attribution.h"
#include "fault.h"
#include "layout.h"
#include "registers.h"
#include "uarte.h"

extern "C" {

// Set by the linker script.
extern uint8_t __data_start[];
extern uint8_t __data_end[];
extern uint8_t __data_load[];
extern uint8_t __bss_start[];
extern uint8_t __bss_end[];

constexpr size_t kStackSize = 2048;
__attribute__((section(".stack"), aligned(8))) uint8_t secure_stack[kStackSize];

[[noreturn]] void SecureReset();

// Called through a null entry of a class's table.
[[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }
void __aeabi_unwind_cpp_pr0() {}
void __aeabi_unwind_cpp_pr1() {}
}

namespace secure {
namespace {

using soc::Register;

constexpr uintptr_t kNsacr = 0xE000ED8C;
constexpr uint32_t kFloatingPoint = 3u << 10;  // CP10 and CP11
constexpr uintptr_t kVtorNonSecure = 0xE002ED08;
// No frame begins with it: a return or an unstacking through an empty stack fails.
constexpr uint32_t kSeal = 0xFEF5EDA5;
constexpr size_t kSealSize = 8;

using Vector = void (*)();
// GCC takes the attribute in C's form alone.
typedef void NonSecureReset(void) __attribute__((cmse_nonsecure_call));

struct VectorTable {
  const uint8_t* stack_top;
  Vector reset;
  Vector exceptions[14 + soc::kIrqCount];
};

void Seal() {
  uint8_t* const top = secure_stack + kStackSize - kSealSize;
  memcpy(top, &kSeal, sizeof(kSeal));
  memcpy(top + 4, &kSeal, sizeof(kSeal));
}

[[noreturn]] void StartNonSecure() {
  const auto* const table = reinterpret_cast<const volatile uint32_t*>(kFlashSize);
  Register(kVtorNonSecure) = kFlashSize;
  asm volatile("msr msp_ns, %0" : : "r"(table[0]));
  // Bit 0 clear: the branch changes the world.
  reinterpret_cast<NonSecureReset*>(table[1] & ~1u)();
  Stop();
}

}  // namespace
}  // namespace secure

extern "C" [[noreturn]] void SecureReset() {
  asm volatile("msr msplim, %0" : : "r"(secure_stack));
  memcpy(__data_start, __data_load, static_cast<size_t>(__data_end - __data_start));
  memset(__bss_start, 0, static_cast<size_t>(__bss_end - __bss_start));
  secure::Seal();
  secure::EnableFaults();
  soc::Register(secure::kNsacr) |= secure::kFloatingPoint;
  soc::StartConsole();
  secure::Attribute();
  secure::StartNonSecure();
}

#define FAULT_4 secure::FaultEntry, secure::FaultEntry, secure::FaultEntry, secure::FaultEntry
#define FAULT_16 FAULT_4, FAULT_4, FAULT_4, FAULT_4

// The console's interrupt only wakes; it is never taken.
extern "C" const secure::VectorTable g_secure_vectors;
__attribute__((section(".vectors"), used)) const secure::VectorTable g_secure_vectors = {
    secure_stack + kStackSize - secure::kSealSize,
    SecureReset,
    {FAULT_16, FAULT_16, FAULT_16, FAULT_16, FAULT_4, FAULT_4, FAULT_4, secure::FaultEntry,
     secure::FaultEntry, secure::FaultEntry},
};
