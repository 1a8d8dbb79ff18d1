#include "fault.h"

#include <stdarg.h>
#include <stdint.h>

#include "console.h"
#include "registers.h"

namespace secure {
namespace {

using soc::Register;

constexpr uintptr_t kSfsr = 0xE000EDE4;
constexpr uintptr_t kSfar = 0xE000EDE8;
// EXC_RETURN (Armv8-M ARM, "EXC_RETURN").
constexpr uint32_t kSecureStack = 1u << 6;
// SHCSR: MemManage, BusFault, UsageFault, SecureFault.
constexpr uint32_t kFaultEnables = 0xFu << 16;

void Say(const char* format, ...) {
  va_list args;
  va_start(args, format);
  soc::Print(soc::LineEnd::kPrintk, format, args);
  va_end(args);
}

unsigned Value(uintptr_t address) { return static_cast<unsigned>(Register(address)); }

const char* Name(uint32_t exception) {
  static const char* const kNames[] = {"NMI",      "HardFault",  "MemManage",
                                       "BusFault", "UsageFault", "SecureFault"};
  return exception >= 2 && exception <= 7 ? kNames[exception - 2] : "unexpected exception";
}

}  // namespace

void EnableFaults() { Register(soc::kShcsr) |= kFaultEnables; }

void Stop() {
  asm volatile("cpsid i" ::: "memory");
  while (true) {
    asm volatile("dsb\nwfi");
  }
}

// `frame` is what the processor stacked in the world that `exc_return` names.
extern "C" [[noreturn, gnu::used]] void SecureReportFault(const uint32_t* frame,
                                                          uint32_t exc_return) {
  uint32_t exception;
  asm volatile("mrs %0, ipsr" : "=r"(exception));
  const char* const world = exc_return & kSecureStack ? "secure" : "non-secure";
  Say("\n*** %s of the %s image, CFSR 0x%08x HFSR 0x%08x SFSR 0x%08x\n", Name(exception), world,
      Value(soc::kCfsr), Value(soc::kHfsr), Value(kSfsr));
  Say("*** pc 0x%08x lr 0x%08x MMFAR 0x%08x BFAR 0x%08x SFAR 0x%08x\n",
      static_cast<unsigned>(frame[6]), static_cast<unsigned>(frame[5]), Value(soc::kMmfar),
      Value(soc::kBfar), Value(kSfar));
  Stop();
}

// The frame lies on one of four stacks. The world is bit 6 of EXC_RETURN. On PSP it lies only where
// bit 3 (thread mode) is set and so is SPSEL: bit 2 for the secure state, whose exception this is;
// the other state's is in its CONTROL alone.
__attribute__((naked)) void FaultEntry() {
  asm volatile(
      "mov r1, lr\n"
      "tst r1, #64\n"
      "beq 1f\n"
      "and r2, r1, #12\n"
      "cmp r2, #12\n"
      "ite eq\n"
      "mrseq r0, psp\n"
      "mrsne r0, msp\n"
      "b SecureReportFault\n"
      "1: mrs r2, control_ns\n"
      "and r2, r2, r1, lsr #2\n"  // bit 1: SPSEL, and thread mode
      "tst r2, #2\n"
      "ite ne\n"
      "mrsne r0, psp_ns\n"
      "mrseq r0, msp_ns\n"
      "b SecureReportFault\n");
}

}  // namespace secure
