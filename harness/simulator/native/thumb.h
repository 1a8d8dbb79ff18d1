// What must be known of Thumb instructions.
#ifndef HARNESS_SIMULATOR_NATIVE_THUMB_H_
#define HARNESS_SIMULATOR_NATIVE_THUMB_H_
#include <stdbool.h>
#include <stdint.h>

#define XPSR_THUMB 0x01000000u
#define XPSR_IT 0x0600FC00u
// The context of an instruction, as far as it decides who carries it out.
enum { CONTEXT_NO_FP = 1, CONTEXT_NONSECURE = 2 };
// State outside the registers that exception entry must deal with, once firmware uses it.
enum { EXTRA_LIMITS = 1, EXTRA_EXCLUSIVE = 2 };

uint32_t thumb_length(uint16_t first);
// ITSTATE, and whether an instruction that stands in it is executed.
uint32_t thumb_it_state(uint32_t xpsr);
bool thumb_passes(uint32_t xpsr);
// Must the core carry it out itself?
bool thumb_is_special(uint16_t first, uint16_t second, int context);
// Is it the DSB of the architecture's sequence DSB, WFI, before an instruction `next`? The core
// carries it out, too: Unicorn would translate it anew each time, to stop behind it.
bool thumb_is_barrier_before_sleep(uint16_t first, uint16_t second, uint16_t next);
// Does it use floating-point registers?
bool thumb_is_floating(uint16_t first, uint16_t second);
// Is it IT?
bool thumb_begins_conditional(uint16_t first);
bool thumb_branches_to_itself(uint16_t first, uint16_t second);
// False only for instructions that certainly write no memory.
bool thumb_may_store(uint16_t first);
// How many bytes an instruction stores that does nothing else; 0 for all others.
int thumb_plain_store(uint16_t first, uint16_t second);
int thumb_extra_state(uint16_t first, uint16_t second);
#endif  // HARNESS_SIMULATOR_NATIVE_THUMB_H_
