// Instructions that the core carries out itself; see thumb_is_special().
#ifndef HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
#define HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
#include "core.h"

// Carries out the instruction at pc. Does nothing for an ordinary one, which has a breakpoint.
void instruction_carry_out(Core *c, uint32_t pc);
// Carries out a branch to FNC_RETURN (Armv8-M ARM, FunctionReturn).
void instruction_function_return(Core *c);
// Carries out a branch to EXC_RETURN or FNC_RETURN; `target` includes its original bit 0.
void instruction_magic_branch(Core *c, uint32_t target);
// Takes the fault if the current state may not execute the code at pc; returns whether it did.
bool instruction_is_refused(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
