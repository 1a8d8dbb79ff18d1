#include "console.h"

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "uarte.h"

namespace soc {
namespace {

// Gathers text so that the UARTE is started once a line, not once a character. Everything has been
// sent when Print() returns, so nothing is lost in a crash.
class ConsoleSink final : public Sink {
 public:
  explicit ConsoleSink(LineEnd line_end) : returns_(static_cast<int>(line_end)) {}

  void Put(char c) override {
    if (c == '\n') {
      for (int n = 0; n < returns_; ++n) {
        Append('\r');
      }
    }
    Append(c);
  }

  void Flush() {
    Send(buffer_, used_);
    used_ = 0;
  }

 private:
  void Append(char c) {
    buffer_[used_++] = static_cast<uint8_t>(c);
    if (used_ == sizeof(buffer_)) {
      Flush();
    }
  }

  int returns_;
  size_t used_ = 0;
  uint8_t buffer_[128];
};

}  // namespace

void Print(LineEnd line_end, const char* format, va_list args) {
  ConsoleSink sink(line_end);
  Format(&sink, format, args);
  sink.Flush();
}

}  // namespace soc
