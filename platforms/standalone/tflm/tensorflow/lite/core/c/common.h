// TFLM keeps the same declarations under both paths.
#include "tensorflow/lite/c/common.h"
