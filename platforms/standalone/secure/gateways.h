// What the secure image does for the non-secure one. Both are built with this header; the veneers'
// addresses come from the secure image's import library.
#ifndef TFLM_HIL_SECURE_GATEWAYS_H_
#define TFLM_HIL_SECURE_GATEWAYS_H_

#include <stdint.h>

extern "C" {

// Sends `size` bytes on the console and waits until they are out. 0, or -1 where not all of them
// are non-secure memory that the caller may read; then none is sent.
int secure_write(const uint8_t* data, uint32_t size);

// The next byte that was received; -1 where something else than input ended the sleep.
int secure_read(void);

}  // extern "C"

#endif  // TFLM_HIL_SECURE_GATEWAYS_H_
