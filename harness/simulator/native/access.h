// Accesses that Unicorn's page rights refuse.
#ifndef HARNESS_SIMULATOR_NATIVE_ACCESS_H_
#define HARNESS_SIMULATOR_NATIVE_ACCESS_H_
#include "core.h"

// The hook for Unicorn.
bool access_hook(void *uc, int type, uint64_t address, int size, int64_t value, void *user);
// Restores the state before the refused store, after Unicorn has finished its block.
void access_undo(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_ACCESS_H_
