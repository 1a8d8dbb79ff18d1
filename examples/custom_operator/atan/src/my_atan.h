#ifndef MY_ATAN_H_
#define MY_ATAN_H_

#include "tensorflow/lite/micro/micro_common.h"

const TFLMRegistration* Register_MyAtan();

#endif  // MY_ATAN_H_
