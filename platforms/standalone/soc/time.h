// Time since boot from RTC1, as Zephyr takes it on this chip: 32768 Hz, 24 bits, overflows counted
// by interrupt.
#ifndef TFLM_HIL_STANDALONE_TIME_H_
#define TFLM_HIL_STANDALONE_TIME_H_

#include <stdint.h>

namespace soc {

void StartClock();
void Rtc1Handler();

// RTC ticks since StartClock().
uint64_t RtcTicks();

// Sleeps until RtcTicks() has reached `ticks`.
void SleepUntil(uint64_t ticks);

// Sleeps with all wake-up sources off.
[[noreturn]] void StopForGood();

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_TIME_H_
