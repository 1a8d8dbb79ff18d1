// Sending by a UARTE: each byte is read from memory when the previous one has been sent.
#ifndef HARNESS_SIMULATOR_NATIVE_UARTE_H_
#define HARNESS_SIMULATOR_NATIVE_UARTE_H_
#include "core.h"

// Carries out STARTTX; false if the device must do so.
bool uarte_start(Core *c, Registers *r);
// Begins a transfer of TXD.MAXCNT bytes of RAM from TXD.PTR, whose events the device has raised.
void uarte_begin(Core *c, Registers *r);
// Sends the bytes that are due by now; false if there are none.
bool uarte_advance(Core *c);
// Returns the tick at which the next byte has been sent, now if a device must act; INT64_MAX for
// never.
long long uarte_due(const Core *c);
// Returns the tick at which a transfer does more than read a byte of memory; INT64_MAX for never.
long long uarte_next(const Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_UARTE_H_
