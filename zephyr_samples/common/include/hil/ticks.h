// Time in processor cycles, from the Cortex-M33's own counter.
#ifndef HIL_TICKS_H_
#define HIL_TICKS_H_

#include <cstdint>

namespace hil {

// The processor's clock on the nRF9160 (Product Specification, "CPU").
inline constexpr uint32_t kTicksPerSecond = 64'000'000;

// Registers of the Armv8-M Architecture Reference Manual (DDI 0553), "DWT" and "DEMCR".
inline volatile uint32_t& Register(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// Starts the cycle counter. tflite-micro's own tick source is no help: the one that Zephyr's module
// compiles returns 0, and k_cycle_get_32() counts the 32768 Hz of the RTC on this chip.
inline void StartTicks() {
  Register(0xE000EDFCu) |= 1u << 24;  // DEMCR.TRCENA
  Register(0xE0001000u) |= 1u << 0;   // DWT_CTRL.CYCCNTENA
}

// Cycles so far, modulo 2^32: a difference is right for spans of up to 67 s.
inline uint32_t Ticks() { return Register(0xE0001004u); }  // DWT_CYCCNT

}  // namespace hil

#endif  // HIL_TICKS_H_
