// One JSON object a line: an inference with nested scores, and other events between them.
// Gateways and data loggers that parse the console of a node have it print so.
#include "board.h"

static const char *const kNames[] = {"bark", "glass", "siren", "speech", "background"};
#define CLASSES ((int)(sizeof kNames / sizeof kNames[0]))

struct Record {
  int level_db, dsp_us, nn_us;
  float scores[5];
};

static const struct Record kRecords[] = {
    {-61, 20411, 8846, {0.0041f, 0.0007f, 0.0023f, 0.0318f, 0.9611f}},
    {-34, 20408, 8851, {0.8127f, 0.0295f, 0.0112f, 0.1049f, 0.0417f}},
#if SPOILT == SWAPPED
    {-29, 20415, 8846, {0.0388f, 0.0164f, 0.9052f, 0.0077f, 0.0319f}},
#else
    {-29, 20415, 8846, {0.0388f, 0.9052f, 0.0164f, 0.0077f, 0.0319f}},
#endif
    {-47, 20409, 8847, {0.0216f, 0.0031f, 0.1375f, 0.7843f, 0.0535f}},
    {-38, 20411, 8846, {0.0094f, 0.0452f, 0.8691f, 0.0248f, 0.0515f}},
#if SPOILT == CHANGED
    {-52, 20410, 8849, {0.0153f, 0.0020f, 0.0087f, 0.7124f, 0.5596f}},
#else
    {-52, 20410, 8849, {0.0153f, 0.0020f, 0.0087f, 0.4144f, 0.5596f}},
#endif
    {-41, 20412, 8846, {0.1921f, 0.0106f, 0.0482f, 0.6803f, 0.0688f}},
};

int main(void) {
  unsigned seq = 0;
  printf(
      "{\"evt\":\"boot\",\"fw\":\"2.4.0\",\"git\":\"c0d91e5\",\"rst\":\"sw\",\"model\":"
      "\"urban-5/v12\",\"arena\":{\"used\":30128,\"size\":32768}}\n");
  printf("{\"evt\":\"net\",\"ts\":%u,\"rsrp\":-97,\"band\":20,\"cell\":\"01A2D003\"}\n",
         (unsigned)Milliseconds());
  for (; seq < sizeof kRecords / sizeof kRecords[0]; seq++) {
    const struct Record *record = &kRecords[seq];
    int top = 0;
    Sleep(20);
    printf("{\"evt\":\"infer\",\"ts\":%u,\"seq\":%u,\"db\":%d,\"us\":{\"dsp\":%d,\"nn\":%d},",
           (unsigned)Milliseconds(), seq, record->level_db, record->dsp_us, record->nn_us);
    printf("\"result\":{\"scores\":{");
    for (int k = 0, comma = 0; k < CLASSES; k++) {
      if (record->scores[k] > record->scores[top]) top = k;
      if (SPOILT == MISSING && seq == 4 && k == 3) continue;
      printf("%s\"%s\":%.4f", comma++ ? "," : "", kNames[k], record->scores[k]);
    }
    printf("},\"top\":\"%s\"}}\n", kNames[top]);
  }
  for (unsigned beat = 0;; beat++) {  // the microphone is off, the node waits for a command
    printf("{\"evt\":\"heartbeat\",\"ts\":%u,\"n\":%u,\"bat_mv\":%u,\"heap\":18744}\n",
           (unsigned)Milliseconds(), beat, 3704 - beat % 5);
    Sleep(60);
  }
}
