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

// The frame lies on one of four stacks: the world is bit 6 of EXC_RETURN; PSP only where bits 2
// (SPSEL) and 3 (thread mode) are both set.
__attribute__((naked)) void FaultEntry() {
  asm volatile(
      "mov r1, lr\n"
      "and r2, r1, #12\n"
      "tst r1, #64\n"
      "beq 1f\n"
      "cmp r2, #12\n"
      "ite eq\n"
      "mrseq r0, psp\n"
      "mrsne r0, msp\n"
      "b SecureReportFault\n"
      "1: cmp r2, #12\n"
      "ite eq\n"
      "mrseq r0, psp_ns\n"
      "mrsne r0, msp_ns\n"
      "b SecureReportFault\n");
}

}  // namespace secure
