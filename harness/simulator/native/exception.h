// How exceptions are taken and left.
#ifndef HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
#define HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
#include "core.h"

// Stack the state, which goes on at `pc` later, and go to the handler of an exception.
void exception_enter(Core *c, int number, uint32_t pc);
// Return from the active exception; the code branched to `exc_return`.
void exception_leave(Core *c, uint32_t exc_return);
// A synchronous fault at `pc`; `status`: the bits of CFSR to set, or of SFSR.
void exception_fault(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// The same for a cause that names its security state, as the NVIC does.
void exception_fault_of(Core *c, int cause, uint32_t status, uint32_t pc, const uint32_t *address);
// SVC: its handler, or HardFault if its priority is not high enough.
void exception_supervisor_call(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_EXCEPTION_H_
