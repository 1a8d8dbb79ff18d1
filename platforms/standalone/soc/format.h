// printf without a C library's printf: no heap, no locale, 1 KB of code.
#ifndef TFLM_HIL_STANDALONE_FORMAT_H_
#define TFLM_HIL_STANDALONE_FORMAT_H_

#include <stdarg.h>
#include <stddef.h>

namespace soc {

// Takes the formatted text, one character at a time.
class Sink {
 public:
  virtual void Put(char c) = 0;

 protected:
  ~Sink() = default;
};

// Conversions: c s d i u x X p f %; flags - 0 + and space; width and precision, also as *; sizes
// h hh l ll z. %f takes up to nine decimals and magnitudes below 2^64, larger ones print as "inf".
void Format(Sink* sink, const char* format, va_list args);

// The same into a buffer, always terminated; returns the whole text's length.
int FormatTo(char* buffer, size_t size, const char* format, va_list args);

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_FORMAT_H_
