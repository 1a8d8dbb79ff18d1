// TFLM declares some kernels in a header of their own; here they are all in one.
#include "tensorflow/lite/micro/kernels/micro_ops.h"
