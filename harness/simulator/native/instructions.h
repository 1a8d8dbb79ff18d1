// Instructions that the core carries out itself; see thumb_is_special().
#ifndef HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
#define HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
#include "core.h"

// Carry out the instruction at pc. Does nothing for an ordinary one, which has a breakpoint.
void instruction_carry_out(Core *c, uint32_t pc);
// A branch to FNC_RETURN (Armv8-M ARM, FunctionReturn).
void instruction_function_return(Core *c);
// A branch to EXC_RETURN or FNC_RETURN: `target` with the bit 0 that it had.
void instruction_magic_branch(Core *c, uint32_t target);
// May the running state not execute what is at pc? Then the fault is taken.
bool instruction_is_refused(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_INSTRUCTIONS_H_
