// The security state of addresses, and the SPU's permissions.
#ifndef HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
#define HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
#include "core.h"

// SPU.FLASHREGION[n].PERM and RAMREGION[n].PERM.
enum { PERM_EXECUTE = 1, PERM_WRITE = 2, PERM_READ = 4, PERM_SECURE = 16 };

// Whether an address is secure. One without memory or device is not: an access to it fails as in
// secure code.
bool attribution_is_secure(const Core *c, uint32_t address);
bool attribution_is_callable(const Core *c, uint32_t address);
// Whether code at an address of an area may run in the current state.
bool attribution_may_run(const Core *c, const Area *area, uint32_t address);
// Returns the region number for TT, -1 outside flash and RAM.
int attribution_region(const Core *c, uint32_t address);
// Returns whether the SPU's permissions refuse an access, and raises its event if they do.
bool attribution_refuses(Core *c, uint32_t address, int permission);
// Whether the current state may not access all of it, or the SPU refuses the access; `refusal` is
// the reason.
bool attribution_forbids(Core *c, uint32_t address, int size, bool write);
// Applies a change of SPU or SAU: PERM of each region of flash, then of RAM.
// Forgets which states may use which device: the machine must decide again.
void attribution_forget(Core *c);
void attribution_set(Core *c, uint32_t sau_ctrl, const uint8_t *regions, const Gateway *gateways,
                     int count);
// Puts the page rights of the current security state in force.
void attribution_follow(Core *c);
// Makes everything secure and open.
void attribution_reset(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
