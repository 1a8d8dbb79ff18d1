// Wake-sound detector with model: per frame band energies, int8 outputs, and the transitions of a
// state machine. Printed by always-on audio firmware with debug output on. Ends.
#include "board.h"

MODEL(chime_model, "chime_int8.tflite");

#define BANDS 16
#define FRAMES 18
#define FRAME_MS 40

static const struct {
  int8_t band[BANDS], out[3];
} frames[FRAMES] = {
    {{-128, -126, -106, -61, 65, 34, -68, -99, -93, -80, -99, -115, -107, -124, -128, -113},
     {40, -7, 41}},
    {{-128, -128, -122, -43, 35, -2, -84, -112, -62, -77, -119, -128, -126, -128, -115, -128},
     {37, -34, 58}},
    {{-128, -128, -120, -121, -128, -115, -122, -128, -121, -115, -27, 100, 77, -39, -86, -78},
     {36, 16, 26}},
    {{-128, -128, -127, -120, -123, -125, -124, -121, -123, -120, -52, 72, 64, -51, -98, -61},
     {27, 35, 12}},
#if SPOILT == SWAPPED
    {{-128, -128, -128, -122, -124, -128, -123, -128, -108, -128, -58, 51, 9, -66, -60, -74},
     {36, 26, 7}},
#else
    {{-128, -128, -128, -122, -124, -128, -123, -128, -108, -128, -58, 51, 9, -66, -60, -74},
     {26, 36, 7}},
#endif
    {{-123, -128, -117, -121, -128, -119, -121, -128, -117, -116, -66, 24, 29, -68, -101, -87},
     {25, 37, 3}},
    {{-123, -123, -126, -126, -128, -128, -122, -128, -128, -121, -83, 6, 28, -66, -112, -84},
     {25, 36, 7}},
    {{-99, -128, -97, -128, -101, -125, -93, -120, -128, -128, -105, -112, -104, -117, -122, -128},
     {45, -9, 16}},
    {{-112, -127, -115, -117, -86, -110, -124, -122, -110, -100, -108, -115, -85, -109, -126, -120},
     {55, -40, 29}},
    {{-102, -122, -108, -99, -128, -95, -98, -116, -112, -128, -120, -119, -128, -103, -111, -81},
     {64, -51, 36}},
    {{-126, -128, -124, -109, -128, -128, -128, -119, -128, -85, -7, 47, -39, -91, -94, -83},
     {63, -23, 20}},
    {{-118, -105, -128, -128, -128, -113, -121, -128, -128, -111, -4, 34, -22, -71, -71, -66},
     {58, -3, 12}},
    {{-128, -126, -128, -128, -119, -121, -120, -123, -128, -102, -26, 10, -38, -109, -104, -101},
     {54, 4, 9}},
    {{-120, -128, -53, 44, 46, -42, -119, -85, -68, -117, -128, -128, -128, -123, -108, -116},
     {62, -47, 26}},
    {{-128, -123, -69, 36, 7, -67, -110, -80, -88, -110, -128, -128, -111, -121, -126, -128},
     {42, -74, 64}},
#if SPOILT == CHANGED
    {{-117, -103, -51, 12, 16, -66, -112, -78, -72, -122, -121, -125, -128, -121, -122, -128},
     {46, -82, 31}},
#else
    {{-117, -103, -51, 12, 16, -66, -112, -78, -72, -122, -121, -125, -128, -121, -122, -128},
     {46, -82, 63}},
#endif
    {{-128, -114, -65, 16, 13, -68, -110, -88, -75, -98, -128, -127, -128, -128, -115, -117},
     {45, -81, 59}},
    {{-121, -113, -85, -16, 1, -75, -113, -87, -76, -128, -122, -128, -128, -128, -128, -126},
     {40, -72, 51}},
};

enum State { WARM_UP, IDLE, SUSPECT, DETECTED, HOLD_OFF };
static const char *const state_names[] = {"WARMUP", "IDLE", "SUSPECT", "DETECTED", "HOLDOFF"};
static const char *const sounds[] = {"none", "rise", "fall"};

static enum State state = WARM_UP;
static int count, suspect;

static void Enter(enum State next, const char *why) {
  printf("fsm: %s -> %s (%s)\n", state_names[state], state_names[next], why);
  state = next;
  count = 0;
}

static void Step(int winner, unsigned frame) {
  switch (state) {
    case WARM_UP:
      if (++count == 2) Enter(IDLE, "buffers full");
      break;
    case IDLE:
      if (winner) {
        suspect = winner;
        Enter(SUSPECT, sounds[winner]);
        count = 1;
      }
      break;
    case SUSPECT:
      if (winner != suspect) {
        Enter(IDLE, "not confirmed");
      } else if (++count == 3) {
        Enter(DETECTED, sounds[winner]);
        printf(">>> WAKE: %s chime at %u ms, led1 on\n", sounds[winner], frame * FRAME_MS);
        Enter(HOLD_OFF, "notified");
      }
      break;
    default:
      if (++count == 5) Enter(IDLE, "hold-off over");
  }
}

int main(void) {
  printf("chime-wake 1.0.7 (f31ac90) PDM 16 kHz, frame %d ms, %d bands\n", FRAME_MS, BANDS);
  printf("net: %u bytes, arena 3120/4096, 2 ring buffers cleared\n",
         (unsigned)(chime_model_end - chime_model));
  printf("out scale 0.581237 zero 31, labels none rise fall\n");
  for (unsigned f = 0; f < FRAMES; ++f) {
    Sleep(FRAME_MS);
    printf("f%04u mel", f);
    for (int b = 0; b < BANDS; ++b) printf(" %d", frames[f].band[b]);
    printf("\n");
    int winner = 0;
    for (int c = 1; c < 3; ++c) {
      if (frames[f].out[c] > frames[f].out[winner]) winner = c;
    }
#if SPOILT == MISSING
    if (f != 9)
#endif
      printf("f%04u out %d %d %d %s\n", f, frames[f].out[0], frames[f].out[1], frames[f].out[2],
             state_names[state]);
    Step(winner, f);
  }
  printf("replay of %d frames done, %lu ms\n", FRAMES, (unsigned long)Milliseconds());
  return 0;
}
