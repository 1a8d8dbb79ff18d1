#ifndef TFLM_HIL_STANDALONE_ZEPHYR_UART_H_
#define TFLM_HIL_STANDALONE_ZEPHYR_UART_H_

#include <zephyr/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// 0 and the byte, or -1 where none has come.
int uart_poll_in(const struct device* dev, unsigned char* p_char);

// Waits until the byte is on its way. No line ends are changed.
void uart_poll_out(const struct device* dev, unsigned char out_char);

#ifdef __cplusplus
}
#endif

#endif  // TFLM_HIL_STANDALONE_ZEPHYR_UART_H_
