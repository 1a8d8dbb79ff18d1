// A UART shell (coloured prompt, command, answer) that runs its start-up script, with a sine model.
// Printed by test firmware with a shell, as of Zephyr or NuttX. Ends at the prompt.
#include "board.h"

MODEL(sine_model, "hello_world_float32.tflite");

#define BATCH 4
#define EVALS 5

static const struct {
  float x[BATCH], y[BATCH];
  unsigned us;
} evals[EVALS] = {
    {{0.300f, 0.900f, 1.571f, 2.200f}, {0.290132f, 0.775738f, 1.006008f, 0.804436f}, 213},
#if SPOILT == SWAPPED
    {{2.900f, 3.300f, 3.900f, 4.400f}, {-0.684119f, -0.152210f, 0.232719f, -0.949533f}, 211},
#else
    {{2.900f, 3.300f, 3.900f, 4.400f}, {0.232719f, -0.152210f, -0.684119f, -0.949533f}, 211},
#endif
    {{4.712f, 5.100f, 5.600f, 6.100f}, {-1.002780f, -0.912616f, -0.632406f, -0.182817f}, 214},
#if SPOILT == CHANGED
    {{0.050f, 1.200f, 4.000f, 5.900f}, {0.057250f, 0.763999f, -0.747718f, -0.362653f}, 211},
#else
    {{0.050f, 1.200f, 4.000f, 5.900f}, {0.057250f, 0.943999f, -0.747718f, -0.362653f}, 211},
#endif
    {{0.785f, 2.356f, 3.927f, 5.498f}, {0.708399f, 0.701941f, -0.701291f, -0.724123f}, 213},
};

static void Prompt(const char *command) {
  printf("\x1b[1;32mnode:~$ \x1b[0m%s\r\n", command);
  Sleep(30);
}

static void Eval(int n) {
  char command[64];
  snprintf(command, sizeof command, "nn eval %.3f %.3f %.3f %.3f", (double)evals[n].x[0],
           (double)evals[n].x[1], (double)evals[n].x[2], (double)evals[n].x[3]);
  Prompt(command);
  for (int i = 0; i < BATCH; ++i) {
#if SPOILT == MISSING
    if (n == 2 && i == 2) continue;
#endif
    printf("y[%d] = %.4f\r\n", i, (double)evals[n].y[i]);
  }
  printf("ok (%d rows, %u us)\r\n", BATCH, evals[n].us);
}

int main(void) {
  printf("\r\n\r\nnode shell v0.9.3-14-gb2c81e7 (Oct  2 2025 17:40:11)\r\n");
  printf("Type \"help\" for a list of commands. Running /lfs/init.sh, any key stops it.\r\n");
  Sleep(200);
  Prompt("nn info");
  printf("model   sine_f32 (%u bytes)\r\n", (unsigned)(sine_model_end - sine_model));
  printf("arena   1284 of 2048 bytes used\r\n");
  printf("input   0: float32 [1,1]\r\noutput  0: float32 [1,1]\r\n");
  Eval(0);
  Eval(1);
  Prompt("kernel uptime");
  printf("Uptime: %lu ms\r\n", (unsigned long)Milliseconds());
  Eval(2);
  Prompt("adc read 3");
  printf("adc: command not found\r\n");
  Prompt("heap");
  printf("free: 11264  allocated: 5120  max. allocated: 6016\r\n");
  Eval(3);
  Eval(4);
  Prompt("nn stat");
  printf("%d evals, %d rows, 0 errors\r\n", EVALS, EVALS * BATCH);
  printf("\x1b[1;32mnode:~$ \x1b[0m");
  return 0;
}
