// Sending by a UARTE: bytes leave one after another, each is read when its turn comes.
#ifndef HARNESS_SIMULATOR_NATIVE_UARTE_H_
#define HARNESS_SIMULATOR_NATIVE_UARTE_H_
#include "core.h"

// Carry out STARTTX; false if the device must do so.
bool uarte_start(Core *c, Registers *r);
// Begin a transfer of TXD.MAXCNT bytes of RAM from TXD.PTR, whose events the device has raised.
void uarte_begin(Core *c, Registers *r);
// Send what is due by now; false if nothing was.
bool uarte_advance(Core *c);
// The tick at which the next byte has left, now if a device must act; INT64_MAX for never.
long long uarte_due(const Core *c);
// The tick at which a transfer does more than read a byte of memory; INT64_MAX for never.
long long uarte_next(const Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_UARTE_H_
