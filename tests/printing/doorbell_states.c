// Camera doorbell with a state machine: at each event three looks, of which the winner and the
// runner-up are printed, between transitions of the states. Runs for ever. No model.
#include "board.h"

typedef enum { kArmed, kLook, kRing, kParcel, kIgnore } State;
static const char* const kStates[] = {"ARMED", "LOOK", "RING", "PARCEL_LEFT", "IGNORE"};

enum { kEvents = 4, kLooks = 3, kClasses = 4 };
static const char* const kNames[kClasses] = {"nobody", "person", "parcel", "animal"};

static const uint8_t kScores[kEvents][kLooks][kClasses] = {
    {{22, 64, 9, 5}, {6, 87, 4, 3}, {3, 94, 2, 1}},
#if SPOILT == SWAPPED
    {{12, 53, 31, 4}, {17, 69, 12, 2}, {9, 8, 81, 2}},
#else
    {{12, 53, 31, 4}, {17, 12, 69, 2}, {9, 8, 81, 2}},
#endif
    {{34, 7, 3, 56}, {19, 5, 4, 72}, {83, 2, 1, 14}},
#if SPOILT == CHANGED
    {{15, 77, 5, 3}, {26, 58, 7, 9}, {11, 58, 16, 1}},
#else
    {{15, 77, 5, 3}, {26, 58, 7, 9}, {11, 72, 16, 1}},
#endif
};
static const uint16_t kLux[kEvents] = {212, 198, 41, 6};
static const uint16_t kMicroseconds[kLooks] = {48211, 47960, 47958};

static State g_state = kArmed;

static void Stamp(void) {
  const unsigned long now = Milliseconds();
  printf("[%4lu.%03lu] ", now / 1000, now % 1000);
}

static void Go(State next) {
  Stamp();
  printf("fsm: %s -> %s\n", kStates[g_state], kStates[next]);
  g_state = next;
}

int main(void) {
  Stamp();
  printf("boot: RingBell R2, fw 5.0.3+1187 (git 77be1d0), reset POR\n");
  Stamp();
  printf("boot: vbat 3942 mV, arena 98304 B, cam HM01B0 id 0x01B0\n");
  for (unsigned n = 0;; n++) {
    const unsigned event = n % kEvents;
    unsigned votes[kClasses] = {0, 0, 0, 0};
    Sleep(300);
    Stamp();
    printf("pir: motion #%u, %u lux, ir %s\n", n + 1, kLux[event], kLux[event] < 20 ? "on" : "off");
    Go(kLook);
    for (unsigned look = 0; look < kLooks; look++) {
      const uint8_t* score = kScores[event][look];
      unsigned first = 0, second = 0;
      Sleep(60);
      for (unsigned i = 1; i < kClasses; i++) {
        if (score[i] > score[first]) first = i;
      }
      second = first == 0;
      for (unsigned i = 0; i < kClasses; i++) {
        if (i != first && score[i] > score[second]) second = i;
      }
      votes[first]++;
#if SPOILT == MISSING
      if (event == 2 && look == 1) continue;
#endif
      Stamp();
      printf("look %u/%u: %s %u%%, then %s %u%% (%u us)\n", look + 1, kLooks, kNames[first],
             score[first], kNames[second], score[second], kMicroseconds[look]);
    }
    if (votes[1] >= 2) {
      Go(kRing);
      Stamp();
      printf("chime: melody 2, volume 6\n");
    } else if (votes[2] >= 2) {
      Go(kParcel);
      Stamp();
      printf("push: \"Something was left at the door\" queued, 1 pending\n");
    } else {
      Go(kIgnore);
    }
    Sleep(200);
    Go(kArmed);
  }
}
