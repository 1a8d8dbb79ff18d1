#ifndef TFLM_HIL_SECURE_ATTRIBUTION_H_
#define TFLM_HIL_SECURE_ATTRIBUTION_H_

namespace secure {

// Gives the non-secure state all flash and RAM behind this image's own, the clock and the timer
// that its runtime uses, and their interrupts.
void Attribute();

}  // namespace secure

#endif  // TFLM_HIL_SECURE_ATTRIBUTION_H_
