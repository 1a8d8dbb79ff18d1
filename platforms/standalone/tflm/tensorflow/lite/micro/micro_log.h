// TFLM's log. Every message ends with CR LF after its own text; TF_LITE_STRIP_ERROR_STRINGS removes
// the calls and their texts.
#ifndef TFLM_HIL_STANDALONE_MICRO_LOG_H_
#define TFLM_HIL_STANDALONE_MICRO_LOG_H_

#include <cstdarg>

#if defined(TF_LITE_STRIP_ERROR_STRINGS)
// Takes the values, so that no variable is left unused; all of it is optimized away.
template <typename... Values>
inline void MicroPrintf(const char*, const Values&...) {}
#else
void MicroPrintf(const char* text, ...) __attribute__((format(printf, 1, 2)));
void VMicroPrintf(const char* text, va_list values);
#endif

#endif  // TFLM_HIL_STANDALONE_MICRO_LOG_H_
