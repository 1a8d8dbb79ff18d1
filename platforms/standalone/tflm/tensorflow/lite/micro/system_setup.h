#ifndef TFLM_HIL_STANDALONE_SYSTEM_SETUP_H_
#define TFLM_HIL_STANDALONE_SYSTEM_SETUP_H_

namespace tflite {

// Applications call this first. The standalone start-up code has done everything by then.
void InitializeTarget();

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_SYSTEM_SETUP_H_
