// A transfer of a UARTE (nRF9160 PS, "UARTE"): the bytes to send, and those that have been sent.
#ifndef HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
#define HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
#include <stdbool.h>
#include <stdint.h>

enum { MOST_BYTES = 0x1FFF };  // TXD.MAXCNT has 13 bits

typedef struct {
  bool heard;     // bytes go to the outbox of the console, else to the device
  bool active;    // a byte is being sent
  bool stopping;  // STOPTX: it is the last one
  bool waits;     // the device must take bytes, or raise events
  uint32_t pointer, size;
  uint32_t sent, taken;       // bytes that have been sent; those of them that have been passed on
  uint32_t changed;           // index of the first byte that changed after STARTTX, or `size`
  long long ticks;            // per byte; 0: the device carries out STARTTX
  long long next;             // tick at which the current byte has been sent
  uint8_t bytes[MOST_BYTES];  // as at STARTTX, or as read for sending
} Transfer;
#endif  // HARNESS_SIMULATOR_NATIVE_TRANSFER_H_
