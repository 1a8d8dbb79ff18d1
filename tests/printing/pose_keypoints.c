// Pose estimator with the 17 COCO keypoints: a table of x, y and score for each frame, a star where
// the point counts, then the pose and a count of jumping jacks. Ends. No model.
#include "board.h"

enum { kFrames = 5, kPoints = 17, kNose = 0, kLeftWrist = 9, kRightWrist = 10 };

typedef struct {
  uint8_t x, y;   // pixels of 192
  uint8_t score;  // 1/100
} Point;

static const char* const kNames[kPoints] = {
    "nose",       "l_eye",   "r_eye",   "l_ear",   "r_ear",   "l_shoulder",
    "r_shoulder", "l_elbow", "r_elbow", "l_wrist", "r_wrist", "l_hip",
    "r_hip",      "l_knee",  "r_knee",  "l_ankle", "r_ankle"};

static const Point kFrame[kFrames][kPoints] = {
    {{95, 38, 71},
     {99, 34, 66},
     {91, 34, 69},
     {104, 37, 52},
     {86, 37, 58},
     {113, 62, 83},
     {77, 62, 80},
     {120, 88, 64},
     {70, 89, 61},
     {122, 110, 47},
     {67, 112, 44},
     {107, 112, 76},
     {83, 112, 74},
     {106, 143, 57},
     {84, 144, 55},
     {105, 172, 38},
     {85, 173, 33}},
    {{96, 37, 74},
     {100, 33, 70},
     {92, 33, 68},
     {105, 36, 49},
     {87, 36, 60},
     {114, 60, 85},
     {78, 60, 79},
     {133, 41, 59},
     {60, 42, 62},
     {128, 16, 41},
#if SPOILT == SWAPPED
     {65, 17, 27},
#else
     {65, 17, 36},
#endif
     {108, 111, 78},
     {82, 111, 72},
     {114, 142, 54},
     {76, 142, 50},
     {121, 170, 31},
#if SPOILT == SWAPPED
     {69, 171, 36}},
#else
     {69, 171, 27}},
#endif
    {{95, 39, 73},
     {99, 35, 67},
     {91, 35, 70},
     {104, 38, 54},
     {86, 38, 56},
     {113, 63, 82},
     {77, 63, 81},
     {119, 90, 65},
     {71, 90, 60},
     {121, 111, 51},
     {68, 113, 42},
     {107, 113, 75},
#if SPOILT == CHANGED
     {83, 113, 73},
     {106, 144, 35},
     {84, 145, 53},
     {105, 173, 40},
     {85, 174, 34}},
#else
     {83, 113, 73},
     {106, 144, 58},
     {84, 145, 53},
     {105, 173, 40},
     {85, 174, 34}},
#endif
    {{97, 36, 69},
     {101, 32, 63},
     {93, 32, 65},
     {106, 35, 46},
     {88, 35, 55},
     {115, 59, 84},
     {79, 59, 77},
     {135, 39, 53},
     {61, 40, 50},
     {131, 14, 39},
     {64, 15, 43},
     {109, 110, 79},
     {83, 110, 71},
     {116, 141, 56},
     {77, 141, 48},
     {123, 169, 29},
     {71, 170, 32}},
    {{95, 38, 72},
     {99, 34, 64},
     {91, 34, 67},
     {104, 37, 50},
     {86, 37, 57},
     {113, 62, 86},
     {77, 62, 78},
     {124, 84, 45},
     {66, 83, 40},
     {140, 70, 22},
     {52, 68, 18},
     {107, 112, 80},
     {83, 112, 70},
     {107, 143, 61},
     {83, 144, 59},
     {108, 172, 37},
     {82, 173, 35}},
};
static const uint16_t kMilliseconds[kFrames] = {187, 184, 184, 185, 184};

int main(void) {
  unsigned reps = 0;
  int was_up = 0;
  printf("posecam 0.3.0-rc2 / lightning-192 int8 / 2338 kB / arena 1104 kB in PSRAM\n");
  printf("threshold 0.30, units px of 192x192, order x y score\n");
  for (unsigned f = 0; f < kFrames; f++) {
    const Point* p = kFrame[f];
    unsigned sum = 0, seen = 0;
    Sleep(185);
    printf("\nframe %u  %u ms  %.1f fps\n", f, kMilliseconds[f], 1000.0 / kMilliseconds[f]);
    for (unsigned i = 0; i < kPoints; i++) {
      sum += p[i].score;
      seen += p[i].score >= 30;
#if SPOILT == MISSING
      if (f == 3 && i == 8) continue;
#endif
      printf("%2u %-10s %4u %4u  0.%02u%s\n", i, kNames[i], p[i].x, p[i].y, p[i].score,
             p[i].score >= 30 ? " *" : "");
    }
    const int wrists = p[kLeftWrist].score >= 30 && p[kRightWrist].score >= 30;
    const int up = wrists && p[kLeftWrist].y < p[kNose].y && p[kRightWrist].y < p[kNose].y;
    if (was_up && wrists && !up) reps++;
    if (wrists) was_up = up;
    printf("mean %.3f, %u/%u points, pose %s, reps %u\n", sum / 100.0 / kPoints, seen, kPoints,
           !wrists ? "?"
           : up    ? "UP"
                   : "DOWN",
           reps);
  }
  printf("\ncamera stopped after %u frames, 0 dropped\n", kFrames);
  return 0;
}
