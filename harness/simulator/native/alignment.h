// Faults of operands that Unicorn does not raise: UNALIGNED and DIVBYZERO.
#ifndef HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
#define HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
#include "core.h"

// CCR or the MPU in force has changed.
void alignment_update(Core *c);
// The code at `address` is decoded: note what must be checked when its block is entered. A new hook
// asks for another translation (Operands.from, until). `kept`: it is decoded only once.
void alignment_decode(Core *c, Area *area, Slot *s, uint32_t address, uint32_t size, bool kept);
// The index of the first instruction of the current block whose operands may be refused; the count
// of its instructions if there is none.
uint32_t alignment_suspect(Core *c);
// Carry out the instruction at `pc`, whose operands may be refused.
void alignment_carry_out(Core *c, uint32_t pc);
// True if the instruction at `pc` is refused: the fault is taken.
bool alignment_is_refused(Core *c, uint32_t pc);
#endif  // HARNESS_SIMULATOR_NATIVE_ALIGNMENT_H_
