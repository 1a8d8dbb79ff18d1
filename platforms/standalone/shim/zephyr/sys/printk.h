#ifndef TFLM_HIL_STANDALONE_ZEPHYR_PRINTK_H_
#define TFLM_HIL_STANDALONE_ZEPHYR_PRINTK_H_

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// To the console, "\n" as CR LF.
void printk(const char* fmt, ...) __attribute__((format(printf, 1, 2)));
void vprintk(const char* fmt, va_list ap);
int snprintk(char* str, size_t size, const char* fmt, ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif  // TFLM_HIL_STANDALONE_ZEPHYR_PRINTK_H_
