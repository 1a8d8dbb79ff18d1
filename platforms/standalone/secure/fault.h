#ifndef TFLM_HIL_SECURE_FAULT_H_
#define TFLM_HIL_SECURE_FAULT_H_

namespace secure {

// Gives every fault a handler of its own instead of HardFault's.
void EnableFaults();

// Handler of every exception of the secure state: says what it was and in which world, then stops.
void FaultEntry();

// Sleeps for good.
[[noreturn]] void Stop();

}  // namespace secure

#endif  // TFLM_HIL_SECURE_FAULT_H_
