#ifndef TFLM_HIL_STANDALONE_CONSOLE_H_
#define TFLM_HIL_STANDALONE_CONSOLE_H_

#include <stdarg.h>

namespace soc {

// Which line end a "\n" becomes. Zephyr's printk adds one CR; what goes through its C library
// before reaching the console gets two, and TFLM's log does.
enum class LineEnd { kPrintk = 1, kLibrary = 2 };

void Print(LineEnd line_end, const char* format, va_list args);

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_CONSOLE_H_
