// What the build generates from a .tflite file and, for some samples, from a test set.
#ifndef HIL_DATA_H_
#define HIL_DATA_H_

extern "C" {

// The model, a flatbuffer; TFLM_HIL_MODEL_BYTES long, 16-byte aligned.
extern const unsigned char g_model[];

// TFLM_HIL_INPUT_ROWS inputs of TFLM_HIL_INPUT_BYTES each, one behind the other.
extern const unsigned char g_inputs[];
}

#endif  // HIL_DATA_H_
