// The example bare_metal as a Zephyr application: the same network, printed with printk.
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "weights.h"

static const int8_t kWindow[INPUTS] = {16, 32, 48, 64};

int main(void) {
  printk("scores");
  for (int i = 0; i < OUTPUTS; i++) {
    int32_t sum = kBias[i];
    for (int j = 0; j < INPUTS; j++) sum += kWindow[j] * kWeights[i][j];
    printk(" %d", (int)((sum + 128) >> 8) + OUTPUT_ZERO_POINT);
  }
  printk("\n");
  return 0;
}
