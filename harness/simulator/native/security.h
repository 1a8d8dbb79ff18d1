// The security state that runs.
#ifndef HARNESS_SIMULATOR_NATIVE_SECURITY_H_
#define HARNESS_SIMULATOR_NATIVE_SECURITY_H_
#include "core.h"

bool security_is_privileged(Core *c);
// The context of its instructions.
int security_context(const Core *c);
// Is a state allowed to use the FPU: by its own CPACR; and the non-secure one by NSACR?
bool security_cpacr_allows(const Core *c, bool nonsecure);
bool security_nsacr_allows(const Core *c);
// CPACR, NSACR, FPCCR or FPDSCR have changed.
void security_update_fp_access(Core *c);
// The state alone: the registers are those of this state already.
void security_set_state(Core *c, bool nonsecure);
// Go on in the other state.
void security_change_state(Core *c);
void security_reset(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_SECURITY_H_
