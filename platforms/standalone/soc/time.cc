#include "time.h"

#include "registers.h"

namespace soc {
namespace {

// CLOCK
constexpr uintptr_t kLfclkStart = 0x008;
constexpr uintptr_t kLfclkSrc = 0x518;
constexpr uint32_t kLfclkSrcRc = 1;

// RTC
constexpr uintptr_t kStart = 0x000;
constexpr uintptr_t kStop = 0x004;
constexpr uintptr_t kClear = 0x008;
constexpr uintptr_t kOverflowed = 0x104;
constexpr uintptr_t kCompared = 0x140;
constexpr uintptr_t kIntenSet = 0x304;
constexpr uintptr_t kIntenClr = 0x308;
constexpr uintptr_t kCounter = 0x504;
constexpr uintptr_t kPrescaler = 0x508;
constexpr uintptr_t kCompare = 0x540;
constexpr uint32_t kOverflowInterrupt = 1u << 1;
constexpr uint32_t kCompareInterrupt = 1u << 16;

constexpr uint32_t kWrap = 1u << 24;
// A compare value less than two ticks ahead may be missed ("COMPARE feature"), and one tick may
// pass between the look at the counter and the write.
constexpr uint32_t kSoonest = 3;

volatile uint32_t g_overflows;

}  // namespace

void StartClock() {
  Register(kClock + kLfclkSrc) = kLfclkSrcRc;
  Register(kClock + kLfclkStart) = 1;
  Register(kRtc1 + kPrescaler) = 0;
  Register(kRtc1 + kClear) = 1;
  Register(kRtc1 + kIntenSet) = kOverflowInterrupt | kCompareInterrupt;
  Register(kNvicIser) = 1u << kRtc1Irq;
  Register(kRtc1 + kStart) = 1;
}

void Rtc1Handler() {
  if (Register(kRtc1 + kOverflowed)) {
    Register(kRtc1 + kOverflowed) = 0;
    g_overflows = g_overflows + 1;
  }
  Register(kRtc1 + kCompared) = 0;
  asm volatile("dsb");  // the write must have arrived before the handler ends
}

uint64_t RtcTicks() {
  uint32_t overflows;
  uint32_t counter;
  do {
    overflows = g_overflows;
    counter = Register(kRtc1 + kCounter);
    if (Register(kRtc1 + kOverflowed)) {
      // Wrapped, and the handler has not run yet (it may be masked).
      counter = Register(kRtc1 + kCounter) + kWrap;
    }
  } while (overflows != g_overflows);
  return static_cast<uint64_t>(overflows) * kWrap + counter;
}

void SleepUntil(uint64_t ticks) {
  while (true) {
    // Masked, an interrupt between the look and WFI still ends the sleep.
    asm volatile("cpsid i" ::: "memory");
    const uint64_t now = RtcTicks();
    if (now >= ticks) {
      asm volatile("cpsie i" ::: "memory");
      return;
    }
    const uint64_t left = ticks - now;
    const uint32_t step = left < kSoonest    ? kSoonest
                          : left > kWrap / 2 ? kWrap / 2
                                             : static_cast<uint32_t>(left);
    Register(kRtc1 + kCompare) = (static_cast<uint32_t>(now) + step) % kWrap;
    asm volatile("dsb\nwfi\ncpsie i\nisb" ::: "memory");
  }
}

void StopForGood() {
  asm volatile("cpsid i" ::: "memory");
  Register(kRtc1 + kIntenClr) = kOverflowInterrupt | kCompareInterrupt;
  Register(kRtc1 + kStop) = 1;
  while (true) {
    asm volatile("dsb\nwfi");
  }
}

}  // namespace soc
