// The MPU, stack limits, and the stacks of exceptions.
#include "witness.h"

static uint32_t memory[4096] __attribute__((aligned(4096)));

static void Region(uint32_t number, uint32_t first, uint32_t last, uint32_t flags) {
  MPU_RNR = number;
  MPU_RBAR = first | flags;
  MPU_RLAR = (last & ~31u) | 1;
}

// A MemManage with its MMFAR, as an offset in `memory` in the upper half.
static uint32_t Refused(void) {
  const uint32_t offset = fault.address ? fault.address - (uint32_t)memory + 0x100 : 0;
  const uint32_t caught = Caught();
  return caught ? (caught & 0xFFFF) | offset << 16 : 0;
}

static volatile uint32_t came, sp_at_entry;
__attribute__((used)) static void DoA(uint32_t sp) {
  came++;
  sp_at_entry = sp;
}
__attribute__((naked)) void IrqA(void) { __asm volatile("mov r0, sp\n b DoA"); }

// An interrupt on a process stack at `stack`, with `limit`; goes on behind it if this fails.
__attribute__((noinline)) static void OnProcessStack(uint32_t stack, uint32_t limit) {
  __asm volatile(
      "push {r4-r11, lr}\n"
      "adr r2, 2f\n orr r2, #1\n str r2, [%3]\n"
      "msr psp, %0\n msr psplim, %1\n mrs r2, control\n orr r2, #2\n"
      "msr control, r2\n isb\n"
      "str %4, [%2]\n dsb\n isb\n"
      ".align 2\n2: mrs r2, control\n bic r2, #2\n msr control, r2\n isb\n"
      "movs r2, #0\n msr psplim, r2\n str r2, [%3]\n pop {r4-r11, lr}\n" ::"r"(stack),
      "r"(limit), "r"(&ISPR), "r"(&resume), "r"(1u << IRQ_A)
      : "r2", "memory");
}

void Main(void) {
  const uint32_t base = (uint32_t)memory;
  uint32_t value;
  ISER = 1u << IRQ_A;
  // read-only, privileged: AP 2; all: AP 1; read-only, all: AP 3
  Region(0, base, base + 31, 2 << 1);
  Region(1, base + 64, base + 127, 1 << 1);
  Region(2, base + 96, base + 159, 1 << 1);
  Region(3, base + 192, base + 223, 0);
  Region(4, base + 256, base + 287, 3 << 1 | 1);
  MPU_MAIR0 = 0x44;
  MPU_CTRL = 5;
  BARRIER();
  value = memory[0];
  Tell("mpu_read_only_read", Refused());
  memory[1] = value;
  Tell("mpu_read_only_write", Refused());
  memory[17] = value;
  Tell("mpu_one_region", Refused());
  memory[25] = value;
  Tell("mpu_two_regions", Refused());
  memory[40] = value;
  Tell("mpu_background", Refused());
  __asm volatile("ldrt r1, [%0]" ::"r"(base + 64) : "r1");
  Tell("mpu_unprivileged_allowed", Refused());
  __asm volatile("ldrt r1, [%0]" ::"r"(base + 192) : "r1");
  Tell("mpu_unprivileged_refused", Refused());
  __asm volatile("ldrt r1, [%0]" ::"r"(base + 160) : "r1");
  Tell("mpu_unprivileged_background", Refused());
  MPU_CTRL = 0;
  BARRIER();
  *(volatile uint16_t *)(base + 256) = 0x4770;  // bx lr
  MPU_CTRL = 5;
  BARRIER();
  __asm volatile(
      "adr r0, 1f\n orr r0, #1\n str r0, [%1]\n blx %0\n .align 2\n1:\n" ::"r"(base + 257),
      "r"(&resume)
      : "r0", "lr", "memory");
  Tell("mpu_execute_never", Caught() & 0xFFFF);
  MPU_CTRL = 0;
  BARRIER();
  __asm volatile("msr psplim, %1\n mrs %0, psplim" : "=r"(value) : "r"(0x20000FFF));
  Tell("psplim_bits", value);
  __asm volatile("msr psplim, %0" ::"r"(0));
  OnProcessStack(base + 1024, 0);
  Tell("process_stack", came << 28 | Caught());
  OnProcessStack(base + 1024, base + 1024 - 32);
  Tell("limit_reached", came << 28 | Caught());
  OnProcessStack(base + 1024, base + 1024 - 24);
  Tell("limit_exceeded", Caught());
  Region(0, base + 512, base + 1023, 2 << 1);
  MPU_CTRL = 5;
  BARRIER();
  OnProcessStack(base + 1024, 0);
  Tell("frame_in_read_only", Caught());
  MPU_CTRL = 0;
  BARRIER();
  __asm volatile(
      "mrs r2, msplim\n mov r1, sp\n sub r3, r1, #256\n bic r3, #7\n msr msplim, r3\n"
      "adr r0, 1f\n orr r0, #1\n str r0, [%0]\n sub.w sp, sp, #512\n .align 2\n1: msr msplim, r2\n"
      " mov sp, r1\n" ::"r"(&resume)
      : "r0", "r1", "r2", "r3", "memory");
  Tell("sp_below_limit", Caught());
}
