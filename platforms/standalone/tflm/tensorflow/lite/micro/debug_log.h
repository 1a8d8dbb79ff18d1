// Where TFLM's log goes: the platform prints the text on its console.
#ifndef TFLM_HIL_STANDALONE_DEBUG_LOG_H_
#define TFLM_HIL_STANDALONE_DEBUG_LOG_H_

#include <cstdarg>
#include <cstddef>

extern "C" {
void DebugLog(const char* format, va_list args);
int DebugVsnprintf(char* buffer, size_t buf_size, const char* format, va_list vlist);
}

#endif  // TFLM_HIL_STANDALONE_DEBUG_LOG_H_
