// TFLM keeps the same declarations under both paths.
#include "tensorflow/lite/c/c_api_types.h"
