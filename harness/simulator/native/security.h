// The current security state.
#ifndef HARNESS_SIMULATOR_NATIVE_SECURITY_H_
#define HARNESS_SIMULATOR_NATIVE_SECURITY_H_
#include "core.h"

bool security_is_privileged(Core *c);
// Returns the context of its instructions.
int security_context(const Core *c);
// Whether a state may use the FPU: by its own CPACR; and the non-secure one by NSACR.
bool security_cpacr_allows(const Core *c, bool nonsecure);
bool security_nsacr_allows(const Core *c);
// To be called after a change of CPACR, NSACR, FPCCR or FPDSCR.
void security_update_fp_access(Core *c);
// Sets the state only: the registers are already those of this state.
void security_set_state(Core *c, bool nonsecure);
// Changes to the other state.
void security_change_state(Core *c);
void security_reset(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_SECURITY_H_
