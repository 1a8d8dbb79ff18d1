// One access of each kind, privileged and not, as the host asks; the fault it becomes is noted.
//
// The host writes `earlier` and `regions` (RBAR, RLAR), `control` (MPU_CTRL), and what to try. The
// arena is used everywhere under the earlier regions, then the others take their place.
#include "machine.h"

#define MPU(offset) REG(0xE000ED90 + (offset))
enum { LOAD, STORE, BYTE, PAIR, LOAD_AS_USER, STORE_AS_USER, RUN, LOAD_MASKED };
enum { TRY, END, WARM_UP };

uint32_t earlier[16][2], regions[16][2], control, kind, unprivileged;
volatile uint32_t target;

// Where the host tries: memory of every alignment, with code that returns wherever it is entered.
__attribute__((aligned(1024))) uint16_t arena[2048];

static void Note(uint32_t status, uint32_t address, uint32_t pc) {
  results[0] = status;
  results[1] = address;
  results[2] = pc;
}

// Goes on behind the refused access, or behind the call of what may not be run.
__attribute__((used)) static void Faulted(uint32_t *frame) {
  uint32_t status = REG(0xE000ED28);
  Note(status, REG(0xE000ED34), frame[6]);
  REG(0xE000ED28) = status;
  if (status & 1) {
    frame[6] = frame[5] & ~1u;
  } else {
    frame[6] += *(const uint16_t *)frame[6] >> 11 >= 0x1D ? 4 : 2;
  }
}

__attribute__((naked)) void MemManage(void) {
  __asm volatile("tst lr, #4\n ite eq\n mrseq r0, msp\n mrsne r0, psp\n b Faulted");
}

static void Protect(uint32_t wanted[16][2]) {
  for (uint32_t i = 0; i < 16; i++) {
    MPU(8) = i;
    MPU(0xC) = wanted[i][0];
    MPU(0x10) = wanted[i][1];
  }
  MPU(4) = control;
  __asm volatile("dsb\n isb");
}

// SVC 2 puts the earlier regions in force, SVC 0 the others, SVC 1 ends the try: the MPU off, the
// thread privileged.
__attribute__((used)) static void Called(const uint32_t *frame) {
  const uint8_t *code = (const uint8_t *)frame[6];
  if (code[-2] == WARM_UP) {
    Protect(earlier);
  } else if (code[-2] == TRY) {
    Protect(regions);
    __asm volatile("dsb\n isb\n msr control, %0\n isb" ::"r"(unprivileged));
  } else {
    MPU(4) = 0;
    __asm volatile("dsb\n isb\n msr control, %0\n isb" ::"r"(0));
  }
}

__attribute__((naked)) void Svc(void) { __asm volatile("mrs r0, msp\n b Called"); }

__attribute__((noipa)) static void Access(uint32_t how, uint32_t where) {
  switch (how) {
    case LOAD:
      __asm volatile("ldr r3, [%0]" ::"r"(where) : "r3", "memory");
      break;
    case STORE:
      __asm volatile("str %0, [%0]" ::"r"(where) : "memory");
      break;
    case BYTE:
      __asm volatile("strb %0, [%0]" ::"r"(where) : "memory");
      break;
    case PAIR:
      __asm volatile("stmia %0, {r2, r3}" ::"r"(where) : "memory");
      break;
    case LOAD_AS_USER:
      __asm volatile("ldrt r3, [%0]" ::"r"(where) : "r3", "memory");
      break;
    case STORE_AS_USER:
      __asm volatile("strt %0, [%0]" ::"r"(where) : "memory");
      break;
    case LOAD_MASKED:
      __asm volatile("cpsid f\n ldr r3, [%0]\n cpsie f" ::"r"(where) : "r3", "memory");
      break;
    default:
      ((void (*)(void))(where | 1))();
  }
}

// Each access that is refused is skipped; a refused load is followed by a refused store.
__attribute__((noipa)) static void Use(uint32_t where) {
  __asm volatile("ldr r3, [%0]\n str r3, [%0]" ::"r"(where) : "r3", "memory");
  __asm volatile("ldrt r3, [%0]\n strt r3, [%0]" ::"r"(where) : "r3", "memory");
  ((void (*)(void))(where | 1))();
}

__attribute__((noipa)) void Ready(void) { __asm volatile(""); }
__attribute__((noipa)) void Done(void) { __asm volatile(""); }

void Main(void) {
  UartStart();
  SCB_SHCSR = 1u << 16;
  MPU(0x30) = 0x44;  // MAIR0: Normal memory, where single words may be unaligned
  for (uint32_t i = 0; i < 2048; i++) arena[i] = 0x4770;  // bx lr
  Print("ready\r\n");
  for (;;) {
    Ready();
    __asm volatile("svc 2" ::: "r0", "r1", "r2", "r3", "r12", "lr", "memory");
    for (uint32_t at = 0; at < sizeof arena; at += 512) Use((uint32_t)arena + at);
    Note(0, 0, 0);
    uint32_t how = kind, where = target;
    __asm volatile("svc 0" ::: "r0", "r1", "r2", "r3", "r12", "lr", "memory");
    Access(how, where);
    __asm volatile("svc 1" ::: "r0", "r1", "r2", "r3", "r12", "lr", "memory");
    Done();
  }
}
