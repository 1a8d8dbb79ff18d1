#include "gateways.h"

#include <arm_cmse.h>

#include "uarte.h"

extern "C" {

__attribute__((cmse_nonsecure_entry)) int secure_write(const uint8_t* data, uint32_t size) {
  const int readable = CMSE_NONSECURE | CMSE_MPU_READ;
  if (size == 0) {
    return 0;
  }
  if (cmse_check_address_range(const_cast<uint8_t*>(data), size, readable) == nullptr) {
    return -1;
  }
  soc::Send(data, size);
  return 0;
}

__attribute__((cmse_nonsecure_entry)) int secure_read(void) { return soc::Receive(); }

}  // extern "C"
