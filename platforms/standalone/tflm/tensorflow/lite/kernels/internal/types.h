// TFLM declares the shape here as well.
#include "tensorflow/lite/kernels/internal/runtime_shape.h"
