// Register access and the addresses that the standalone runtime needs. Sources: nRF9160 Product
// Specification v2.1 (UARTE, RTC, CLOCK chapters) and Armv8-M Architecture Reference Manual
// (DDI 0553). Peripherals are reached through the addresses of the image's own world.
#ifndef TFLM_HIL_STANDALONE_REGISTERS_H_
#define TFLM_HIL_STANDALONE_REGISTERS_H_

#include <stdint.h>

namespace soc {

inline volatile uint32_t& Register(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

#ifdef TFLM_HIL_NONSECURE  // behind the secure image, see ../secure
inline constexpr uintptr_t kPeripherals = 0x40000000;
inline constexpr uintptr_t kImage = 0x8000;
#else
inline constexpr uintptr_t kPeripherals = 0x50000000;
inline constexpr uintptr_t kImage = 0;
#endif

inline constexpr uintptr_t kClock = kPeripherals + 0x5000;
inline constexpr uintptr_t kUarte0 = kPeripherals + 0x8000;
inline constexpr uintptr_t kRtc1 = kPeripherals + 0x15000;
inline constexpr int kUarte0Irq = 8;
inline constexpr int kRtc1Irq = 21;
inline constexpr int kIrqCount = 65;

inline constexpr uint32_t kCpuHz = 64'000'000;
inline constexpr uint32_t kRtcHz = 32'768;

// System control space.
inline constexpr uintptr_t kNvicIser = 0xE000E100;
inline constexpr uintptr_t kNvicIcer = 0xE000E180;
inline constexpr uintptr_t kNvicIcpr = 0xE000E280;
inline constexpr uintptr_t kVtor = 0xE000ED08;
inline constexpr uintptr_t kShcsr = 0xE000ED24;
inline constexpr uintptr_t kCfsr = 0xE000ED28;
inline constexpr uintptr_t kHfsr = 0xE000ED2C;
inline constexpr uintptr_t kMmfar = 0xE000ED34;
inline constexpr uintptr_t kBfar = 0xE000ED38;
inline constexpr uintptr_t kCpacr = 0xE000ED88;
inline constexpr uintptr_t kDemcr = 0xE000EDFC;
inline constexpr uintptr_t kDwtCtrl = 0xE0001000;
inline constexpr uintptr_t kDwtCyccnt = 0xE0001004;

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_REGISTERS_H_
