// The samples' Zephyr calls, on this runtime's console, clock and stacks.
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "console.h"
#include "format.h"
#include "registers.h"
#include "stacks.h"
#include "time.h"
#include "uarte.h"

namespace {

k_thread g_main_thread = {{0, sizeof(z_main_stack)}};

}  // namespace

extern "C" {

const struct device tflm_hil_console = {"uart@50008000"};

void vprintk(const char* fmt, va_list ap) { soc::Print(soc::LineEnd::kPrintk, fmt, ap); }

void printk(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vprintk(fmt, args);
  va_end(args);
}

int snprintk(char* str, size_t size, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const int length = soc::FormatTo(str, size, fmt, args);
  va_end(args);
  return length;
}

int uart_poll_in(const struct device*, unsigned char* p_char) {
  const int byte = soc::Receive();
  if (byte < 0) {
    return -1;
  }
  *p_char = static_cast<unsigned char>(byte);
  return 0;
}

void uart_poll_out(const struct device*, unsigned char out_char) { soc::Send(&out_char, 1); }

int64_t k_uptime_get(void) { return static_cast<int64_t>(soc::RtcTicks() * 1000 / soc::kRtcHz); }

uint32_t k_cycle_get_32(void) { return static_cast<uint32_t>(soc::RtcTicks()); }

int32_t k_sleep(k_timeout_t timeout) {
  soc::SleepUntil(timeout.ticks < 0 ? UINT64_MAX
                                    : soc::RtcTicks() + static_cast<uint64_t>(timeout.ticks));
  return 0;
}

void k_busy_wait(uint32_t usec_to_wait) {
  const uint32_t cycles = usec_to_wait * (soc::kCpuHz / 1'000'000);
  const uint32_t start = soc::Register(soc::kDwtCyccnt);
  while (soc::Register(soc::kDwtCyccnt) - start < cycles) {
  }
}

k_tid_t k_current_get(void) {
  g_main_thread.stack_info.start = reinterpret_cast<uintptr_t>(z_main_stack);
  return &g_main_thread;
}

int k_thread_stack_space_get(const struct k_thread* thread, size_t* unused_ptr) {
  const auto* stack = reinterpret_cast<const volatile uint8_t*>(thread->stack_info.start);
  size_t unused = 0;
  while (unused < thread->stack_info.size && stack[unused] == kStackPaint) {
    ++unused;
  }
  *unused_ptr = unused;
  return 0;
}
}
