// Instructions by call stack.
#ifndef HARNESS_SIMULATOR_NATIVE_CALLS_H_
#define HARNESS_SIMULATOR_NATIVE_CALLS_H_
#include "core.h"

// Of the function at an address: its number, from 1; 0 for none.
enum { CALLS_ENTRY = 1u << 31, CALLS_EXCEPTION = 1u << 30 };

// Begin with empty stacks. The functions of each halfword of flash and of RAM, which the tree
// copies; bit 31 is set at a function's first one. False without memory.
bool calls_start(Core *c, const uint32_t *functions[2], const size_t counts[2]);
// A block begins; Unicorn calls it behind count_block().
void calls_block(void *uc, uint64_t address, uint32_t size, void *core);
// From the next call on the function that begins at `address` has another number.
void calls_rename(Core *c, uint32_t address, uint32_t number);
// Charge what has been executed so far.
void calls_settle(Core *c);
void calls_free(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_CALLS_H_
