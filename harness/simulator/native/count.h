// Blocks, as Unicorn enters them: each instruction is counted.
#ifndef HARNESS_SIMULATOR_NATIVE_COUNT_H_
#define HARNESS_SIMULATOR_NATIVE_COUNT_H_
#include "core.h"

// Unicorn's hooks.
void count_block(void *uc, uint64_t address, uint32_t size, void *user);
void count_exception(void *uc, uint32_t number, void *user);
#endif  // HARNESS_SIMULATOR_NATIVE_COUNT_H_
