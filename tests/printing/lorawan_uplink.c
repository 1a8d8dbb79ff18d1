// LoRaWAN acoustic node: the log of a LoRaMac-node application, the class as text and the scores
// only as bytes of the uplink payload (class, 5 scores of 1/255, battery). Runs for ever. No model.
#include "board.h"

enum { kClasses = 5, kEvents = 6 };
static const char* const kNames[kClasses] = {"quiet", "bird", "chainsaw", "gunshot", "vehicle"};

static const uint8_t kScores[kEvents][kClasses] = {
    {0xE1, 0x0F, 0x03, 0x02, 0x0A}, {0x1C, 0xCB, 0x05, 0x04, 0x0F},
#if SPOILT == SWAPPED
    {0x04, 0x09, 0x20, 0x06, 0xCC},
#else
    {0x04, 0x09, 0xCC, 0x06, 0x20},
#endif
#if SPOILT == CHANGED
    {0x02, 0x01, 0x74, 0x03, 0x46},
#else
    {0x02, 0x01, 0xB3, 0x03, 0x46},
#endif
    {0x0B, 0x06, 0x12, 0x9D, 0x3F}, {0x31, 0x02, 0x29, 0x07, 0x9C},
};
static const int8_t kRssi[kEvents] = {-97, -101, -96, -104, -99, -98};
static const uint8_t kChannel[kEvents] = {0, 2, 1, 0, 1, 2};

static void Ruler(void) { printf("###### ===================================== ######\n"); }

int main(void) {
  printf("\n");
  Ruler();
  printf("\nApplication name   : forest-ear\n");
  printf("Application version: 1.4.0\n");
  printf("GitHub base version: 4.7.0\n");
  printf("Build              : b27e90d-dirty, Mar 11 2025\n\n");
  Ruler();
  printf("\nDevEui      : 70-B3-D5-49-9A-31-07-5C\n");
  printf("JoinEui     : 00-00-00-00-00-00-00-00\n\n");
  Sleep(200);
  printf("###### ===========       JOINED      =========== ######\n\n");
  printf("OTAA\n\nDevAddr     :  260B1F3C\n\nDATA RATE   : DR_5\n\n");
  for (unsigned frame = 1;; frame++) {
    const unsigned event = (frame - 1) % kEvents;
    const uint8_t* score = kScores[event];
    unsigned best = 0;
    for (unsigned i = 1; i < kClasses; i++) {
      if (score[i] > score[best]) best = i;
    }
    Sleep(180);
    printf("[ear] window %u, 16000 samples, dsp 61 ms, nn 142 ms -> %u %s\n\n", frame, best,
           kNames[best]);
    Sleep(40);
    printf("###### =====   UPLINK FRAME %8u   ===== ######\n\n", frame);
    printf("CLASS       : A\n\n");
    printf("TX PORT     : 2\n");
    printf("TX DATA     : UNCONFIRMED\n");
    printf("%02X ", best);
    for (unsigned i = 0; i < kClasses; i++) {
#if SPOILT == MISSING
      if (event == 4 && i == 2) continue;
#endif
      printf("%02X ", score[i]);
    }
    printf("%02X \n\n", 0xD8 - frame / 20 % 64);
    printf("DATA RATE   : DR_5\n");
    printf("U/L FREQ    : %u\n", 868100000u + 200000u * kChannel[event]);
    printf("TX POWER    : 1\n");
    printf("CHANNEL MASK: 0007 \n\n");
    if (frame % 4 == 0) {
      Sleep(60);
      printf("###### =====  DOWNLINK FRAME %8u  ===== ######\n\n", frame / 4);
      printf("RX WINDOW   : 1\n\nDATA RATE   : DR_5\nRX RSSI     : %d\nRX SNR      : 7\n\n",
             kRssi[event]);
    }
  }
}
