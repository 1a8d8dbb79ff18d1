// Where TFLM's log goes: the platform prints the text on its console.
#ifndef TFLM_HIL_STANDALONE_DEBUG_LOG_H_
#define TFLM_HIL_STANDALONE_DEBUG_LOG_H_

#include <cstdarg>

extern "C" void DebugLog(const char* format, va_list args);

#endif  // TFLM_HIL_STANDALONE_DEBUG_LOG_H_
