// The part of the processor's state that Unicorn's interface does not give.
#ifndef HARNESS_SIMULATOR_NATIVE_STATE_H_
#define HARNESS_SIMULATOR_NATIVE_STATE_H_
#include "core.h"

// Finds it in a saved context; returns NULL, or a description of the part that is not as expected.
const char *state_find(Core *c);
// Notes address and status of a fault of the MPU or the default memory map.
void state_note_fault(Core *c);
void state_set_mpu(Core *c, const Regions *regions);
// Sets FPCCR.ASPEN and FPDSCR of the secure and the non-secure state.
void state_set_fpu(Core *c, const uint32_t fpccr[2], const uint32_t fpdscr[2]);
void state_limits(Core *c, uint32_t *psplim, uint32_t *msplim);
void state_set_limits(Core *c, uint32_t psplim, uint32_t msplim);
// Exchanges the registers of the current security state with those of the other one.
void state_exchange_banks(Core *c);
// Returns PRIMASK, FAULTMASK, BASEPRI and CONTROL of the other security state.
void state_other(Core *c, uint32_t values[4]);
void state_clear_monitor(Core *c);
// The whole state, for a snapshot.
size_t state_size(const Core *c);
void state_save(Core *c, uint8_t *into);
void state_load(Core *c, const uint8_t *from);
#endif  // HARNESS_SIMULATOR_NATIVE_STATE_H_
