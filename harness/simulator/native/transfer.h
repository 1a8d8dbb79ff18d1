// A transfer of a UARTE (nRF9160 PS, "UARTE"): the bytes that leave, and those that have left.
#ifndef HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
#define HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
#include <stdbool.h>
#include <stdint.h>

enum { MOST_BYTES = 0x1FFF };  // TXD.MAXCNT has 13 bits

typedef struct {
  bool heard;     // the console listens: bytes go to the outbox, else to the device
  bool active;    // a byte is leaving
  bool stopping;  // STOPTX: it is the last one
  bool waits;     // the device must take bytes, or raise events
  uint32_t pointer, size;
  uint32_t sent, taken;  // bytes that have left; those of them that were handed on
  uint32_t changed;      // the first byte that was not the one of STARTTX when it left, or `size`
  long long ticks;       // per byte; 0: STARTTX is the device's
  long long next;        // tick at which the byte that leaves has left
  uint8_t bytes[MOST_BYTES];  // as at STARTTX, or as they were when their turn came
} Transfer;
#endif  // HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
