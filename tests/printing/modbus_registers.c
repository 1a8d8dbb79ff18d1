// Pump monitor as a Modbus RTU slave: a dump of its input registers at each poll, scores as
// sixteen-bit registers in 1/10000 beside temperature, speed and counters. Ends. No model.
#include "board.h"

enum { kRegisters = 10, kFirst = 30001, kState = 4, kScore = 5, kClasses = 4, kPolls = 6 };

// Sequence, temperature 0.1 degC, speed 1/min, vibration 0.01 mm/s, state (filled in below),
// scores normal, cavitation, bearing, dry run, CRC errors on the bus.
static const uint16_t kPoll[kPolls][kRegisters] = {
    {412, 418, 2904, 171, 0, 9312, 403, 254, 31, 2},
    {413, 419, 2901, 188, 0, 8840, 790, 322, 48, 2},
#if SPOILT == SWAPPED
    {414, 423, 2876, 512, 0, 7254, 1713, 968, 65, 2},
#else
    {414, 423, 2876, 512, 0, 1713, 7254, 968, 65, 2},
#endif
    {415, 437, 2889, 640, 0, 627, 2915, 6404, 54, 3},
#if SPOILT == CHANGED
    {416, 466, 2951, 233, 0, 218, 3316, 137, 8329, 3},
#else
    {416, 466, 2951, 233, 0, 218, 1316, 137, 8329, 3},
#endif
    {417, 431, 2903, 194, 0, 9027, 561, 379, 33, 3},
};

int main(void) {
  printf("\r\nPumpGuard 200, firmware 3.2.1 (a91c04e), board rev C, reset cause 0x01\r\n");
  printf("modbus: RTU slave 17 on uart1, 19200 8E1\r\n");
  printf("modbus: input 30001 seq, 30002 degC x10, 30003 rpm, 30004 mm/s x100, 30005 state,\r\n");
  printf("modbus: input 30006-30009 normal/cavitation/bearing/dryrun x10000, 30010 crc errors\r\n");
  for (unsigned p = 0; p < kPolls; p++) {
    uint16_t reg[kRegisters];
    unsigned best = 0;
    for (unsigned i = 0; i < kRegisters; i++) reg[i] = kPoll[p][i];
    for (unsigned i = 1; i < kClasses; i++) {
      if (reg[kScore + i] > reg[kScore + best]) best = i;
    }
    reg[kState] = (uint16_t)best;
    Sleep(250);
    printf("\r\n[%08lu] rx 11 04 00 00 00 0A 72 9D, read input 0x0000 x%u\r\n",
           (unsigned long)Milliseconds(), kRegisters);
    for (unsigned i = 0; i < kRegisters; i++) {
#if SPOILT == MISSING
      if (p == 3 && i == kScore + 2) continue;
#endif
      printf("  %5u  0x%04X  %5u\r\n", kFirst + i, reg[i], reg[i]);
    }
    Sleep(12);
    printf("[%08lu] tx %u bytes\r\n", (unsigned long)Milliseconds(), 5 + 2 * kRegisters);
  }
  Sleep(300);
  printf("\r\nmodbus: bus silent, entering stop mode\r\n");
  return 0;
}
