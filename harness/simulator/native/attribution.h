// Which security state an address belongs to, and the SPU's permissions.
#ifndef HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
#define HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
#include "core.h"

// SPU.FLASHREGION[n].PERM and RAMREGION[n].PERM.
enum { PERM_EXECUTE = 1, PERM_WRITE = 2, PERM_READ = 4, PERM_SECURE = 16 };

// An address without memory or device is not secure: an access to it fails as in secure code.
bool attribution_is_secure(const Core *c, uint32_t address);
bool attribution_is_callable(const Core *c, uint32_t address);
// May code at an address of an area run in the running state?
bool attribution_may_run(const Core *c, const Area *area, uint32_t address);
// The region number that TT gives, -1 outside flash and RAM.
int attribution_region(const Core *c, uint32_t address);
// Do the SPU's permissions refuse an access? If so, this raises its event.
bool attribution_refuses(Core *c, uint32_t address, int permission);
// May the running state not access all of it, or does the SPU refuse the access? `refusal` says
// why.
bool attribution_forbids(Core *c, uint32_t address, int size, bool write);
// SPU or SAU have changed: PERM of each region of flash, then of RAM.
// Ask the machine again who may use which device.
void attribution_forget(Core *c);
void attribution_set(Core *c, uint32_t sau_ctrl, const uint8_t *regions, const Gateway *gateways,
                     int count);
// The other security state runs now: put its page rights in force.
void attribution_follow(Core *c);
// Everything is secure and open.
void attribution_reset(Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_ATTRIBUTION_H_
