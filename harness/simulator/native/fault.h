// Which exception a fault becomes, its status registers, and lockup.
#ifndef HARNESS_SIMULATOR_NATIVE_FAULT_H_
#define HARNESS_SIMULATOR_NATIVE_FAULT_H_
#include "core.h"

// The running state's exception for a cause.
int fault_own(const Core *c, int cause);
// The HardFault of a fault: the secure one, or with AIRCR.BFHFNMINS that of its state.
int fault_hard(const Core *c, int cause);
// The exception that `cause` becomes at a priority; 0 if none can be taken.
int fault_escalate(const Core *c, int cause, int below);
// Set the status registers of the state that a fault belongs to.
void fault_note(Core *c, int cause, uint32_t status, const uint32_t *address);
// Note and report a fault; returns the exception to take for it, 0 for none.
int fault_judge(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// A fault of stacking for exception `number`; returns the exception that is taken now.
int fault_derive(Core *c, int number, Failure failure, uint32_t pc);
void fault_report(Core *c, Fault fault);
void fault_lock_up(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_FAULT_H_
