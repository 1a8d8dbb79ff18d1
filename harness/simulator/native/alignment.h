// Faults of operands that Unicorn does not raise: UNALIGNED and DIVBYZERO.
#ifndef HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
#define HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
#include "core.h"

// To be called after a change of CCR or of the MPU in force.
void alignment_update(Core *c);
// Notes the checks on entry of the block at `address`, which is being decoded. A new hook requires
// another translation (Operands.from, until). `kept`: the code is decoded only once.
void alignment_decode(Core *c, Area *area, Slot *s, uint32_t address, uint32_t size, bool kept);
// Returns the index of the first instruction of the current block whose operands may be refused, or
// the number of its instructions.
uint32_t alignment_suspect(Core *c);
// Carries out the instruction at `pc`, whose operands may be refused.
void alignment_carry_out(Core *c, uint32_t pc);
// Takes the fault of the instruction at `pc`, if it is refused; returns whether it is.
bool alignment_is_refused(Core *c, uint32_t pc);
// Carries out an unaligned store at `pc` that Unicorn refused and the MPU does not; returns whether
// it was one.
bool alignment_stored(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
