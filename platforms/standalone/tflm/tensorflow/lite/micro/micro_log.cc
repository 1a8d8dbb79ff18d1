#include "tensorflow/lite/micro/micro_log.h"

#ifndef TF_LITE_STRIP_ERROR_STRINGS

#include "tensorflow/lite/micro/debug_log.h"

namespace {

// DebugLog() wants a list of values even if a text has none.
void LogLineEnd(const char* text, ...) {
  va_list none;
  va_start(none, text);
  DebugLog(text, none);
  va_end(none);
}

}  // namespace

void VMicroPrintf(const char* text, va_list values) {
  DebugLog(text, values);
  LogLineEnd("\r\n");
}

void MicroPrintf(const char* text, ...) {
  va_list values;
  va_start(values, text);
  VMicroPrintf(text, values);
  va_end(values);
}

#endif  // TF_LITE_STRIP_ERROR_STRINGS
