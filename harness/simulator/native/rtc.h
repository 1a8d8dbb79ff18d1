// RTC0 and RTC1: when their events come (nRF9160 PS, "RTC").
#ifndef HARNESS_SIMULATOR_NATIVE_RTC_H_
#define HARNESS_SIMULATOR_NATIVE_RTC_H_
#include "core.h"

// Schedule the events whose bits of EVTEN are in `events`, as they come after tick `now`.
void rtc_arrange(Registers *r, uint32_t events, long long now);
// CC, EVTEN, EVTENSET, EVTENCLR, INTEN, INTENSET or INTENCLR?
bool rtc_schedules(uint32_t offset);
// A write of one of these.
void rtc_set(Registers *r, uint32_t offset, uint32_t value, long long now);
// The tick of the next event; INT64_MAX for never.
long long rtc_due(const Registers *r);
// The offset of an event that is due by `now`, which is then scheduled anew; 0 if none is.
uint32_t rtc_take(Registers *r, long long now);

// Carry out such a write; false if the device must do so.
bool rtc_write(Core *c, Registers *r, uint32_t offset, uint32_t value);
// Raise the events that are due by now, but for those that are published; false if none was.
bool rtc_advance(Core *c);
long long rtc_next(const Core *c);
#endif  // HARNESS_SIMULATOR_NATIVE_RTC_H_
