#include "tensorflow/lite/micro/micro_log.h"

#ifndef TF_LITE_STRIP_ERROR_STRINGS

#include "tensorflow/lite/micro/debug_log.h"

namespace {

void LogLineEnd(const char* text, ...) {
  va_list none;
  va_start(none, text);
  DebugLog(text, none);
  va_end(none);
}

}  // namespace

void VMicroPrintf(const char* format, va_list args) {
  DebugLog(format, args);
  LogLineEnd("\r\n");
}

void MicroPrintf(const char* format, ...) {
  va_list args;
  va_start(args, format);
  VMicroPrintf(format, args);
  va_end(args);
}

int MicroVsnprintf(char* buffer, size_t buf_size, const char* format, va_list vlist) {
  return DebugVsnprintf(buffer, buf_size, format, vlist);
}

int MicroSnprintf(char* buffer, size_t buf_size, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int length = MicroVsnprintf(buffer, buf_size, format, args);
  va_end(args);
  return length;
}

#endif  // TF_LITE_STRIP_ERROR_STRINGS
