// Register access and the addresses that the standalone runtime needs. Those of the chip and its
// kit are from their tables (platforms/chips, platforms/boards): the builder defines TFLM_HIL_*.
// The others: Armv8-M Architecture Reference Manual (DDI 0553). Peripherals are reached through the
// addresses of the image's own world.
#ifndef TFLM_HIL_STANDALONE_REGISTERS_H_
#define TFLM_HIL_STANDALONE_REGISTERS_H_

#include <stdint.h>

namespace soc {

inline volatile uint32_t& Register(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

#ifdef TFLM_HIL_NONSECURE  // behind the secure image, see ../secure
inline constexpr uintptr_t kPeripherals = TFLM_HIL_NONSECURE_WINDOW;
inline constexpr uintptr_t kImage = 0x8000;
#else
inline constexpr uintptr_t kPeripherals = TFLM_HIL_SECURE_WINDOW;
inline constexpr uintptr_t kImage = 0;
#endif

inline constexpr uintptr_t kClock = kPeripherals + TFLM_HIL_CLOCK;
inline constexpr uintptr_t kUarte0 = kPeripherals + TFLM_HIL_UARTE;
inline constexpr uintptr_t kRtc1 = kPeripherals + TFLM_HIL_RTC1;
inline constexpr uintptr_t kP0 = TFLM_HIL_SECURE_WINDOW + TFLM_HIL_P0;
inline constexpr int kUarte0Irq = TFLM_HIL_UARTE_IRQ;
inline constexpr int kRtc1Irq = TFLM_HIL_RTC1_IRQ;
inline constexpr int kIrqCount = TFLM_HIL_IRQS;

inline constexpr uint32_t kCpuHz = TFLM_HIL_CPU_HZ;
inline constexpr uint32_t kRtcHz = TFLM_HIL_LFCLK_HZ;
// Pins of P0: the kit's first virtual port.
inline constexpr uint32_t kTxd = TFLM_HIL_TXD;
inline constexpr uint32_t kRxd = TFLM_HIL_RXD;

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
