// Counting of the instructions of blocks, as Unicorn enters them.
#ifndef HARNESS_SIMULATOR_NATIVE_COUNT_H_
#define HARNESS_SIMULATOR_NATIVE_COUNT_H_
#include "core.h"

// The hook for Unicorn.
void count_block(void *uc, uint64_t address, uint32_t size, void *user);
void count_exception(void *uc, uint32_t number, void *user);
#endif  // HARNESS_SIMULATOR_NATIVE_COUNT_H_
