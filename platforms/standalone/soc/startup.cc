// From reset to main(): vector table, FPU, memory, stacks, constructors.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fault.h"
#include "registers.h"
#include "stacks.h"
#include "time.h"
#include "uarte.h"

int main();

extern "C" {

// Set by the linker script.
extern uint8_t __data_start[];
extern uint8_t __data_end[];
extern uint8_t __data_load[];
extern uint8_t __bss_start[];
extern uint8_t __bss_end[];
using Constructor = void (*)();
extern Constructor __init_array_start[];
extern Constructor __init_array_end[];

__attribute__((section(".stack.main"), aligned(8))) uint8_t z_main_stack[CONFIG_MAIN_STACK_SIZE];
__attribute__((section(".stack.isr"),
               aligned(8))) uint8_t z_interrupt_stacks[CONFIG_ISR_STACK_SIZE];

[[noreturn]] void ResetHandler();

// Objects of static storage are never destroyed.
void* __dso_handle = nullptr;
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }

// Called through a null entry of a class's table, and by library code that gives up.
[[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }
[[noreturn]] void abort() { __builtin_trap(); }
[[noreturn]] void __assert_func(const char*, int, const char*, const char*) { __builtin_trap(); }

// Library code names these in its unwinding tables, which this image leaves out. The real ones
// would bring the whole unwinder.
void __aeabi_unwind_cpp_pr0() {}
void __aeabi_unwind_cpp_pr1() {}
void __aeabi_unwind_cpp_pr2() {}
}

namespace {

using Vector = void (*)();

struct VectorTable {
  const uint8_t* stack_top;
  Vector reset;
  Vector exceptions[14];
  Vector interrupts[soc::kIrqCount];
};

void RunConstructors() {
  for (Constructor* entry = __init_array_start; entry < __init_array_end; ++entry) {
    (*entry)();
  }
}

[[noreturn]] void RunMain() {
  RunConstructors();
  main();
  soc::StopForGood();
}

// Continues on the main stack; nothing is left on the interrupt stack. The new stack's first user
// is a function of its own: locals of this one, which link-time optimization may give it by
// inlining, lie at offsets from the old stack pointer.
[[noreturn]] void SwitchToMainStack() {
  const uint8_t* const top = z_main_stack + sizeof(z_main_stack);
  asm volatile(
      "msr psplim, %0\n"
      "msr psp, %1\n"
      "mov r0, #2\n"
      "msr control, r0\n"
      "isb\n"
      "bx %2\n"
      :
      : "r"(z_main_stack), "r"(top), "r"(RunMain)
      : "r0", "memory");
  __builtin_unreachable();
}

void EnableFpu() {
#ifdef __ARM_FP
  soc::Register(soc::kCpacr) |= 0xFu << 20;  // full access to CP10 and CP11
  asm volatile("dsb\nisb" ::: "memory");
#endif
}

void EnableCycleCounter() {
  soc::Register(soc::kDemcr) |= 1u << 24;   // TRCENA
  soc::Register(soc::kDwtCtrl) |= 1u << 0;  // CYCCNTENA
}

}  // namespace

extern "C" [[noreturn]] void ResetHandler() {
  asm volatile("msr msplim, %0" : : "r"(z_interrupt_stacks));
  EnableFpu();
  memcpy(__data_start, __data_load, static_cast<size_t>(__data_end - __data_start));
  memset(__bss_start, 0, static_cast<size_t>(__bss_end - __bss_start));
  memset(z_main_stack, kStackPaint, sizeof(z_main_stack));
  soc::Register(soc::kVtor) = soc::kImage;
  soc::EnableFaults();
  EnableCycleCounter();
  soc::StartClock();
  soc::StartConsole();
  SwitchToMainStack();
}

// NMI, HardFault, MemManage, BusFault, UsageFault, SecureFault, then reserved words up to SVCall,
// DebugMonitor, reserved, PendSV, SysTick. Nothing here uses those after the faults.
static_assert(soc::kRtc1Irq == 21, "g_vectors has its handler there");
extern "C" const VectorTable g_vectors;
__attribute__((section(".vectors"), used)) const VectorTable g_vectors = {
    z_interrupt_stacks + sizeof(z_interrupt_stacks),
    ResetHandler,
    {soc::FaultEntry, soc::FaultEntry, soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
     soc::FaultEntry, soc::FaultEntry, soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
     soc::FaultEntry, soc::FaultEntry, soc::FaultEntry, soc::FaultEntry},
    {
        soc::FaultEntry, soc::FaultEntry,  soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
        soc::FaultEntry, soc::FaultEntry,  soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
        soc::FaultEntry, soc::FaultEntry,  soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
        soc::FaultEntry, soc::FaultEntry,  soc::FaultEntry, soc::FaultEntry, soc::FaultEntry,
        soc::FaultEntry, soc::Rtc1Handler,
    },
};
