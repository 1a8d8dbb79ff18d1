// What TFLM's interface leaves to the platform: its log goes to the console.
#include "console.h"
#include "tensorflow/lite/micro/debug_log.h"

extern "C" void DebugLog(const char* text, va_list values) {
  soc::Print(soc::LineEnd::kLibrary, text, values);
}
