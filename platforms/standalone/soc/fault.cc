#include "fault.h"

#include <stdint.h>
#include <zephyr/sys/printk.h>

#include "registers.h"
#include "time.h"

namespace soc {
namespace {

constexpr uint32_t kStackOverflow = 1u << 20;  // CFSR.STKOF

const char* Name(uint32_t exception) {
  switch (exception) {
    case 2:
      return "NMI";
    case 3:
      return "HardFault";
    case 4:
      return "MemManage";
    case 5:
      return "BusFault";
    case 6:
      return "UsageFault";
    case 7:
      return "SecureFault";
    default:
      return "unexpected exception";
  }
}

}  // namespace

void EnableFaults() { Register(kShcsr) |= 7u << 16; }

// `frame` is what the processor stacked: r0-r3, r12, lr, pc, xpsr.
extern "C" [[noreturn, gnu::used]] void ReportFault(const uint32_t* frame) {
  uint32_t exception;
  asm volatile("mrs %0, ipsr" : "=r"(exception));
  const uint32_t status = Register(kCfsr);
  printk("\n*** %s (exception %u), CFSR 0x%08x HFSR 0x%08x\n", Name(exception),
         static_cast<unsigned>(exception), static_cast<unsigned>(status),
         static_cast<unsigned>(Register(kHfsr)));
  if (status & kStackOverflow) {
    // The frame was not stacked: there was no room for it.
    printk("*** stack overflow, the frame is lost\n");
  } else {
    printk("*** pc 0x%08x lr 0x%08x xpsr 0x%08x\n", static_cast<unsigned>(frame[6]),
           static_cast<unsigned>(frame[5]), static_cast<unsigned>(frame[7]));
    printk("*** MMFAR 0x%08x BFAR 0x%08x\n", static_cast<unsigned>(Register(kMmfar)),
           static_cast<unsigned>(Register(kBfar)));
  }
  StopForGood();
}

// The frame lies on PSP only if EXC_RETURN says thread mode (bit 3) and SPSEL (bit 2): SPSEL may be
// set for a fault in a handler, too, whose frame is always on MSP.
__attribute__((naked)) void FaultEntry() {
  asm volatile(
      "and r0, lr, #12\n"
      "cmp r0, #12\n"
      "ite ne\n"
      "mrsne r0, msp\n"
      "mrseq r0, psp\n"
      "b ReportFault\n");
}

}  // namespace soc
