#ifndef TFLM_HIL_STANDALONE_FAULT_H_
#define TFLM_HIL_STANDALONE_FAULT_H_

namespace soc {

// Gives MemManage, BusFault and UsageFault handlers of their own instead of HardFault's.
void EnableFaults();

// Handler of every exception that should not happen: says what it was, then stops.
void FaultEntry();

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_FAULT_H_
