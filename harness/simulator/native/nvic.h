// Pending and active exceptions, and their priorities (Armv8-M ARM, B3 and D1.2, NVIC_*).
#ifndef HARNESS_SIMULATOR_NATIVE_NVIC_H_
#define HARNESS_SIMULATOR_NATIVE_NVIC_H_
#include <stdbool.h>
#include <stdint.h>

enum {
  NMI = 2,
  HARD_FAULT = 3,
  MEM_MANAGE = 4,
  BUS_FAULT = 5,
  USAGE_FAULT = 6,
  SECURE_FAULT = 7,
  SVCALL = 11,
  PENDSV = 14,
  SYSTICK = 15,
  FIRST_IRQ = 16
};
// Added to the number of a banked exception of the non-secure state.
enum { NONSECURE = 512, NUMBER = NONSECURE - 1 };
enum { NO_PRIORITY = 256, SQUASHED = 0x80 };  // lowest non-secure priority with AIRCR.PRIS
enum { MAX_IRQS = 96, WORDS = 1 + MAX_IRQS / 32 };
// Sets of exceptions. Word 0 has the system exceptions (the secure ones in its lower half, the
// non-secure ones in its upper half); the others have 32 interrupts each, like NVIC_ISER.
enum { ENABLED, PENDING, ACTIVE, LINES, TARGETS_NONSECURE, SETS };
enum { SCR_SLEEPONEXIT = 2, SCR_SEVONPEND = 16 };

// The state in a snapshot.
typedef struct {
  uint32_t sets[SETS][WORDS];
  uint32_t scr[2];  // of the secure, of the non-secure state
  uint8_t priorities[FIRST_IRQ + MAX_IRQS], banked_priorities[FIRST_IRQ];
  uint8_t groups[2], group_masks[2];  // AIRCR.PRIGROUP; the bits of the group priority
  bool squashed, faults_nonsecure;    // AIRCR.PRIS, BFHFNMINS
  bool event;                         // the event register that WFE waits for
  // By exception: entries since the reset, and returns with the line still high since it rose.
  uint32_t entered[FIRST_IRQ + MAX_IRQS], held[FIRST_IRQ + MAX_IRQS];
  int last;         // the exception that was entered last; 0 after a return to what it interrupted
  uint32_t in_row;  // its entries, each from its own return
} NvicState;

typedef struct Nvic {
  NvicState state;
  int irqs;
  uint8_t implemented;  // bits of a priority
  // Derived from the state: the exception to be taken first (0: none), its group priority, and the
  // highest group priority of active exceptions.
  int best, best_pending, active_priority;
  void (*changed)(void *owner);  // called after each change, if there is an owner
  void *owner;
} Nvic;

void nvic_reset(Nvic *n);
void nvic_update(Nvic *n);
bool nvic_has(const Nvic *n, int set, int number);
void nvic_put(Nvic *n, int set, int number, bool value);
// Whether this exception exists once per security state.
bool nvic_is_banked(int number);
int nvic_priority(const Nvic *n, int number);
int nvic_group_priority(const Nvic *n, int number);
void nvic_set_priority(Nvic *n, int number, uint8_t value);
void nvic_set_group(Nvic *n, bool nonsecure, unsigned group);
void nvic_set_faults_nonsecure(Nvic *n, bool value);
void nvic_pend(Nvic *n, int number);
void nvic_unpend(Nvic *n, int number);
void nvic_activate(Nvic *n, int number);
void nvic_deactivate(Nvic *n, int number);
// The interrupted code goes on.
void nvic_resume(Nvic *n);
void nvic_line(Nvic *n, int irq, bool level);
// Registers by their offset in the System Control Space, as one security state sees them.
uint32_t nvic_read(const Nvic *n, uint32_t offset, bool nonsecure);
void nvic_write(Nvic *n, uint32_t offset, uint32_t value, bool nonsecure);
// Returns ICSR; `running` is the exception in IPSR.
uint32_t nvic_read_control(const Nvic *n, int running, bool nonsecure);
void nvic_write_control(Nvic *n, uint32_t value, bool nonsecure);
bool nvic_active_beside(const Nvic *n, int number);
#endif  // HARNESS_SIMULATOR_NATIVE_NVIC_H_
