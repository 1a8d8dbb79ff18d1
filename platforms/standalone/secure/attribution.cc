// Who may reach what: the system protection unit (nRF9160 Product Specification v2.1, "SPU") and
// the core's own part of it (Armv8-M ARM, "SAU", "NVIC_ITNS").
#include "attribution.h"

#include <stdint.h>

#include "layout.h"
#include "registers.h"

namespace secure {
namespace {

using soc::Register;

constexpr uintptr_t kSpu = TFLM_HIL_SECURE_WINDOW + TFLM_HIL_SPU;
constexpr uintptr_t kFlashNscRegion = kSpu + 0x500;
constexpr uintptr_t kFlashNscSize = kSpu + 0x504;
constexpr uintptr_t kFlashRegionPerm = kSpu + 0x600;
constexpr uintptr_t kRamRegionPerm = kSpu + 0x700;
constexpr uintptr_t kPeripheralPerm = kSpu + 0x800;
constexpr uint32_t kFlashRegions = TFLM_HIL_FLASH_REGIONS;
constexpr uint32_t kRamRegions = TFLM_HIL_RAM_REGIONS;
// EXECUTE, WRITE, READ; SECATTR (bit 4) clear. RAM is data alone.
constexpr uint32_t kNonSecureFlash = 7;
constexpr uint32_t kNonSecureRam = 6;
constexpr uint32_t kSecureAttribute = 1u << 4;
constexpr uint32_t kSecureDma = 1u << 5;

constexpr uintptr_t kSauCtrl = 0xE000EDD0;
constexpr uint32_t kAllNonSecure = 1u << 1;
constexpr uintptr_t kNvicItns = 0xE000E380;

// Peripheral id and interrupt number are the same on these chips.
constexpr int kClockId = TFLM_HIL_CLOCK >> 12;
constexpr int kGiven[] = {kClockId, soc::kRtc1Irq};

// SIZE of a callable area: 1 is 32 bytes, each step doubles it.
constexpr uint32_t SizeField(uint32_t bytes) {
  uint32_t field = 1;
  while ((16u << field) < bytes) {
    ++field;
  }
  return field;
}

}  // namespace

void Attribute() {
  for (uint32_t n = kFlashSize / kFlashRegion; n < kFlashRegions; ++n) {
    Register(kFlashRegionPerm + 4 * n) = kNonSecureFlash;
  }
  for (uint32_t n = kRamSize / kRamRegion; n < kRamRegions; ++n) {
    Register(kRamRegionPerm + 4 * n) = kNonSecureRam;
  }
  // The veneers lie at the end of this image's last region.
  Register(kFlashNscRegion) = kFlashSize / kFlashRegion - 1;
  Register(kFlashNscSize) = SizeField(kCallableSize);
  for (const int id : kGiven) {
    Register(kPeripheralPerm + 4 * static_cast<uint32_t>(id)) &= ~(kSecureAttribute | kSecureDma);
    Register(kNvicItns + id / 32 * 4) |= 1u << id % 32;
  }
  Register(kSauCtrl) = kAllNonSecure;  // the SPU decides
  asm volatile("dsb\nisb" ::: "memory");
}

}  // namespace secure
