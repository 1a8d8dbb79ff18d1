// TFLM's log. Every message ends with CR LF after its own text; TF_LITE_STRIP_ERROR_STRINGS removes
// the calls and their texts.
#ifndef TFLM_HIL_STANDALONE_MICRO_LOG_H_
#define TFLM_HIL_STANDALONE_MICRO_LOG_H_

#ifndef TF_LITE_STRIP_ERROR_STRINGS
#include <cstdarg>
#include <cstddef>

void MicroPrintf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void VMicroPrintf(const char* format, va_list args);
int MicroSnprintf(char* buffer, size_t buf_size, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
int MicroVsnprintf(char* buffer, size_t buf_size, const char* format, va_list vlist);
#else
#define MicroPrintf(...) tflite::Unused(__VA_ARGS__)
#define VMicroPrintf(...) tflite::Unused(__VA_ARGS__)
#define MicroSnprintf(...) tflite::Unused<int>(__VA_ARGS__)
#define MicroVsnprintf(...) tflite::Unused<int>(__VA_ARGS__)
#endif

namespace tflite {

template <typename... Args>
void Unused(Args&&...) {}

template <typename T, typename... Args>
T Unused(Args&&...) {
  return T{};
}

}  // namespace tflite

#endif  // TFLM_HIL_STANDALONE_MICRO_LOG_H_
