// Accesses that Unicorn's page rights refuse.
#ifndef HARNESS_SIMULATOR_NATIVE_ACCESS_H_
#define HARNESS_SIMULATOR_NATIVE_ACCESS_H_
#include "core.h"

// Unicorn's hook.
bool access_hook(void *uc, int type, uint64_t address, int size, int64_t value, void *user);
// Go back to the state before the refused store, whose block Unicorn has finished.
void access_undo(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_ACCESS_H_
