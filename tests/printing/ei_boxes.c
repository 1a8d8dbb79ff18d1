// Edge Impulse's object detection: label (score) [ x, y, width, height ] of each bounding box.
// Firmware with a FOMO model of Edge Impulse prints so; a frame may have no box.
#include "board.h"

typedef struct {
  const char *label;
  float value;
  uint32_t x, y, width, height;
} box_t;

typedef struct {
  int dsp_ms, classification_ms, count;
  box_t boxes[4];
} frame_t;

static const frame_t frames[] = {
    {3, 61, 1, {{"face", 0.976562f, 8, 16, 16, 16}}},
    {3, 61, 2, {{"face", 0.964844f, 16, 16, 16, 16}, {"hand", 0.714844f, 64, 40, 8, 16}}},
    {3, 60, 0, {{"", 0, 0, 0, 0, 0}}},
    {3,
     61,
     3,
#if SPOILT == SWAPPED
     {{"face", 0.628906f, 24, 8, 16, 24},
      {"face", 0.839844f, 72, 16, 8, 8},
#elif SPOILT == CHANGED
     {{"face", 0.839844f, 24, 8, 16, 24},
      {"face", 0.898438f, 72, 16, 8, 8},
#else
     {{"face", 0.839844f, 24, 8, 16, 24},
      {"face", 0.628906f, 72, 16, 8, 8},
#endif
      {"hand", 0.871094f, 40, 56, 16, 8}}},
    {4, 61, 2, {{"hand", 0.906250f, 32, 48, 16, 16}, {"hand", 0.554688f, 56, 56, 8, 8}}},
    {3, 61, 1, {{"face", 0.992188f, 40, 24, 24, 24}}},
};

int main(void) {
  printf("Edge Impulse object detection, project 104 v17\r\n");
  printf("Camera HM01B0 found, id 0x01b0, 96x96 crop, exposure 0x0140\r\n");
  printf("Arena: 119.4 KB, image 9216 bytes\r\n\r\n");
  for (unsigned f = 0; f < sizeof frames / sizeof frames[0]; f++) {
    const frame_t *frame = &frames[f];
    printf("Taking photo...\r\n");
    Sleep(25);
    printf("Predictions (DSP: %d ms., Classification: %d ms., Anomaly: 0 ms.): \r\n", frame->dsp_ms,
           frame->classification_ms);
    printf("Object detection bounding boxes:\r\n");
    if (frame->count == 0) printf("    No objects found\r\n");
    for (int b = 0; b < frame->count; b++) {
      const box_t *box = &frame->boxes[b];
      if (SPOILT == MISSING && f == 4 && b == 1) continue;
      printf("  %s (%f) [ x: %u, y: %u, width: %u, height: %u ]\r\n", box->label, box->value,
             (unsigned)box->x, (unsigned)box->y, (unsigned)box->width, (unsigned)box->height);
    }
    printf("\r\n");
  }
  printf("Camera off\r\n");
  return 0;
}
