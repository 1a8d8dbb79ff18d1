// The exception for a fault, its status registers, and lockup.
#ifndef HARNESS_SIMULATOR_NATIVE_FAULT_H_
#define HARNESS_SIMULATOR_NATIVE_FAULT_H_
#include "core.h"

// Returns the current state's exception for a cause.
int fault_own(const Core *c, int cause);
// Returns the HardFault of a fault: the secure one, or with AIRCR.BFHFNMINS that of its state.
int fault_hard(const Core *c, int cause);
// Returns the exception that is taken for `cause` at a priority; 0 if none can be taken.
int fault_escalate(const Core *c, int cause, int below);
// Sets the status registers of the state to which a fault belongs.
void fault_note(Core *c, int cause, uint32_t status, const uint32_t *address);
// Notes and reports a fault; returns the exception to take for it, 0 for none.
int fault_judge(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// Handles a fault of stacking for exception `number`; returns the exception to take instead.
int fault_derive(Core *c, int number, Failure failure, uint32_t pc);
void fault_report(Core *c, Fault fault);
void fault_lock_up(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_FAULT_H_
