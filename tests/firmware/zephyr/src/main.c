// A thread that fails as SCENARIO says; docs/how-to/debugging.md has what is told of each.
#include <zephyr/irq.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#define NULL_CALL 1
#define PANIC 2
#define ASSERTION 3
#define OVERFLOW 4
#define DEADLOCK 5
#define SPIN 6
#define ISR_FAULT 7

#define STACK 1024
K_THREAD_STACK_DEFINE(worker_stack, STACK);
static struct k_thread worker;
K_MUTEX_DEFINE(left);
K_MUTEX_DEFINE(right);
K_SEM_DEFINE(never, 0, 1);

static int (*volatile read_channel)(int channel);
static volatile int depth = 1 << 20, level = 100;

static __attribute__((noinline)) int read_sensor(int channel) { return read_channel(channel) + 1; }

static __attribute__((noinline)) int sum(int n) {
  volatile char room[64];
  room[n & 63] = (char)n;
  return n > depth ? 0 : sum(n + 1) + room[(n + 1) & 63];
}

static __attribute__((noinline)) void check_level(int limit) {
  __ASSERT(level < limit, "level %d is above %d", level, limit);
}

static __attribute__((noinline)) void give_up(void) {
  k_panic();
  level++;
}

static __attribute__((noinline)) void take_both(struct k_mutex *one, struct k_mutex *other) {
  k_mutex_lock(one, K_FOREVER);
  k_msleep(10);
  k_mutex_lock(other, K_FOREVER);
  level++;
}

static __attribute__((noinline)) void wait_ready(volatile int *flag) {
  while (!*flag) {
  }
}
static volatile int ready;

static __attribute__((noinline)) int divide(int value) {
  volatile int *bad = (volatile int *)0x60000000;
  return value / 3 + *bad;
}

static void handler(const void *unused) {
  ARG_UNUSED(unused);
  level = divide(level);
}

static void work(void *a, void *b, void *c) {
  printk("worker starts\n");
#if SCENARIO == NULL_CALL
  level = read_sensor(3);
#elif SCENARIO == PANIC
  give_up();
#elif SCENARIO == ASSERTION
  check_level(50);
#elif SCENARIO == OVERFLOW
  level = sum(0);
#elif SCENARIO == DEADLOCK
  take_both(&left, &right);
#elif SCENARIO == SPIN
  wait_ready(&ready);
#elif SCENARIO == ISR_FAULT
  NVIC_SetPendingIRQ(20);
  k_busy_wait(100);
#endif
  printk("worker ends, level %d\n", level);
}

int main(void) {
  printk("main starts\n");
#if SCENARIO == ISR_FAULT
  IRQ_CONNECT(20, 3, handler, NULL, 0);
  irq_enable(20);
#endif
  k_thread_create(&worker, worker_stack, K_THREAD_STACK_SIZEOF(worker_stack), work, NULL, NULL,
                  NULL, 5, 0, K_NO_WAIT);
  k_thread_name_set(&worker, "worker");
#if SCENARIO == DEADLOCK
  take_both(&right, &left);
#endif
  k_sem_take(&never, K_FOREVER);
  return 0;
}
