// How flash and RAM are divided; secure.ld and harness/build/secure_image.py hold the same figures.
#ifndef TFLM_HIL_SECURE_LAYOUT_H_
#define TFLM_HIL_SECURE_LAYOUT_H_

#include <stdint.h>

namespace secure {

// What the SPU can tell apart, from the chip's table.
inline constexpr uint32_t kFlashRegion = TFLM_HIL_FLASH_REGION;
inline constexpr uint32_t kRamRegion = TFLM_HIL_RAM_REGION;

// This image's own, from the start of each memory.
inline constexpr uint32_t kFlashSize = 0x8000;
inline constexpr uint32_t kRamSize = 0x2000;
// Non-secure callable: the end of the flash.
inline constexpr uint32_t kCallableSize = 0x100;

}  // namespace secure

#endif  // TFLM_HIL_SECURE_LAYOUT_H_
