// Properties of Thumb instructions.
#ifndef HARNESS_SIMULATOR_NATIVE_THUMB_H_
#define HARNESS_SIMULATOR_NATIVE_THUMB_H_
#include <stdbool.h>
#include <stdint.h>

#define XPSR_THUMB 0x01000000u
#define XPSR_IT 0x0600FC00u
// The context of an instruction that decides whether the core carries it out.
enum { CONTEXT_NO_FP = 1, CONTEXT_NONSECURE = 2 };
// State besides the registers that exception entry must handle, once firmware uses it.
enum { EXTRA_LIMITS = 1, EXTRA_EXCLUSIVE = 2 };

uint32_t thumb_length(uint16_t first);
// Returns ITSTATE, and whether an instruction with that state is executed.
uint32_t thumb_it_state(uint32_t xpsr);
bool thumb_passes(uint32_t xpsr);
// Whether the core must carry it out itself.
bool thumb_is_special(uint16_t first, uint16_t second, int context);
// Whether it is the DSB of the sequence DSB, WFI (or WFE), before `next`. The core carries it out,
// too: Unicorn would translate it each time, to stop after it.
bool thumb_is_barrier_before_sleep(uint16_t first, uint16_t second, uint16_t next);
// Whether it uses floating-point registers.
bool thumb_is_floating(uint16_t first, uint16_t second);
// Is it IT?
bool thumb_begins_conditional(uint16_t first);
bool thumb_branches_to_itself(uint16_t first, uint16_t second);
// Returns false only for instructions that never write memory.
bool thumb_may_store(uint16_t first);
// Returns the number of bytes that a store without other effects writes; 0 for other instructions.
int thumb_plain_store(uint16_t first, uint16_t second);
// Whether it is LDRT, STRT or a variant of them.
bool thumb_is_unprivileged(uint16_t first, uint16_t second);
int thumb_extra_state(uint16_t first, uint16_t second);
#endif  // HARNESS_SIMULATOR_NATIVE_THUMB_H_
