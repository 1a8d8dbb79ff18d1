// The few kernel calls of Zephyr that the samples make, for one thread that never yields.
#ifndef TFLM_HIL_STANDALONE_ZEPHYR_KERNEL_H_
#define TFLM_HIL_STANDALONE_ZEPHYR_KERNEL_H_

#include <stddef.h>
#include <stdint.h>
#include <zephyr/sys/printk.h>

#ifdef __cplusplus
extern "C" {
#endif

struct k_thread_stack_info {
  uintptr_t start;
  size_t size;
};

struct k_thread {
  struct k_thread_stack_info stack_info;
};

typedef struct k_thread* k_tid_t;

typedef struct {
  int64_t ticks;  // of sys_clock_hw_cycles_per_sec(); negative: for ever
} k_timeout_t;

#define K_FOREVER (k_timeout_t{-1})
#define K_NO_WAIT (k_timeout_t{0})
#define K_MSEC(ms) (k_timeout_t{((int64_t)(ms) * 32768 + 999) / 1000})
#define K_SECONDS(s) (k_timeout_t{(int64_t)(s) * 32768})

// Milliseconds since boot.
int64_t k_uptime_get(void);
static inline uint32_t k_uptime_get_32(void) { return (uint32_t)k_uptime_get(); }

// The system clock's counter: 32768 Hz, as on the real kernel for this chip.
uint32_t k_cycle_get_32(void);
static inline int sys_clock_hw_cycles_per_sec(void) { return 32768; }

// Returns 0: nothing cuts a sleep short.
int32_t k_sleep(k_timeout_t timeout);
static inline int32_t k_msleep(int32_t ms) { return k_sleep(K_MSEC(ms)); }
void k_busy_wait(uint32_t usec_to_wait);

k_tid_t k_current_get(void);

// How many bytes of the thread's stack were never used.
int k_thread_stack_space_get(const struct k_thread* thread, size_t* unused_ptr);

#ifdef __cplusplus
}
#endif

#endif  // TFLM_HIL_STANDALONE_ZEPHYR_KERNEL_H_
