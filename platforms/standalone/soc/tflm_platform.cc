// What TFLM's interface leaves to the platform's log.
#include "console.h"
#include "format.h"
#include "tensorflow/lite/micro/debug_log.h"

extern "C" void DebugLog(const char* format, va_list args) {
  soc::Print(soc::LineEnd::kLibrary, format, args);
}

extern "C" int DebugVsnprintf(char* buffer, size_t buf_size, const char* format, va_list vlist) {
  return soc::FormatTo(buffer, buf_size, format, vlist);
}
