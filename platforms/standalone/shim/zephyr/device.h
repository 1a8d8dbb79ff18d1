// One device: the console. It is found as on the real kernel, DEVICE_DT_GET(DT_CHOSEN(...)).
#ifndef TFLM_HIL_STANDALONE_ZEPHYR_DEVICE_H_
#define TFLM_HIL_STANDALONE_ZEPHYR_DEVICE_H_

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct device {
  const char* name;
};

extern const struct device tflm_hil_console;

static inline bool device_is_ready(const struct device* dev) { return dev != 0; }

#ifdef __cplusplus
}
#endif

#define TFLM_HIL_CHOSEN_zephyr_console tflm_hil_console
#define TFLM_HIL_CHOSEN_zephyr_shell_uart tflm_hil_console
#define DT_CHOSEN(property) TFLM_HIL_CHOSEN_##property
#define DEVICE_DT_GET(node_id) (&node_id)

#endif  // TFLM_HIL_STANDALONE_ZEPHYR_DEVICE_H_
