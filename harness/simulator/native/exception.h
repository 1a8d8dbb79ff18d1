// Exception entry and return.
#ifndef HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
#define HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
#include "core.h"

// Stacks the state, with `pc` as return address, and enters the handler of an exception.
void exception_enter(Core *c, int number, uint32_t pc);
// Returns from the active exception by a branch to `exc_return`.
void exception_leave(Core *c, uint32_t exc_return);
// Takes a synchronous fault at `pc`; `status`: the bits of CFSR or SFSR to set.
void exception_fault(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// Takes a fault whose cause includes its security state, as in the NVIC.
void exception_fault_of(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// Takes SVC, or HardFault if the priority of SVC is not high enough.
void exception_supervisor_call(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
