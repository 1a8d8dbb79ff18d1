#include "format.h"

#include <stdint.h>
#include <string.h>

namespace soc {
namespace {

struct Conversion {
  bool left = false;
  bool zeros = false;
  char plus = 0;  // what stands before a number that is not negative
  int width = 0;
  int precision = -1;
  int longs = 0;
};

// Enough for 64 bits in decimal, or for 20 digits, a point and nine decimals.
constexpr int kDigits = 32;

// Writes the digits of `value` backwards, ending before `end`; returns the first.
char* Digits(uint64_t value, unsigned base, bool upper, char* end) {
  const char* const alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  do {
    *--end = alphabet[value % base];
    value /= base;
  } while (value != 0);
  return end;
}

class Printer {
 public:
  Printer(Sink* sink, const Conversion& conversion) : sink_(sink), conversion_(conversion) {}

  // A sign (or none), then the text, filled up to the width.
  void Field(char sign, const char* text, size_t length, bool number) {
    const int used = static_cast<int>(length) + (sign != 0 ? 1 : 0);
    const int fill = conversion_.width > used ? conversion_.width - used : 0;
    const bool zeros = number && conversion_.zeros && !conversion_.left;
    if (!conversion_.left && !zeros) {
      Fill(' ', fill);
    }
    if (sign != 0) {
      sink_->Put(sign);
    }
    if (zeros) {
      Fill('0', fill);
    }
    for (size_t n = 0; n < length; ++n) {
      sink_->Put(text[n]);
    }
    if (conversion_.left) {
      Fill(' ', fill);
    }
  }

  void Integer(uint64_t magnitude, bool negative, unsigned base, bool upper) {
    char digits[kDigits];
    char* const end = digits + kDigits;
    char* first = Digits(magnitude, base, upper, end);
    while (end - first < conversion_.precision && first > digits) {
      *--first = '0';
    }
    Field(negative ? '-' : conversion_.plus, first, static_cast<size_t>(end - first), true);
  }

  void Text(const char* text) {
    if (text == nullptr) {
      text = "(null)";
    }
    const size_t limit =
        conversion_.precision < 0 ? SIZE_MAX : static_cast<size_t>(conversion_.precision);
    size_t length = 0;
    while (length < limit && text[length] != 0) {
      ++length;
    }
    Field(0, text, length, false);
  }

  void Real(double value) {
    const bool negative = __builtin_signbit(value);
    const double magnitude = negative ? -value : value;
    if (magnitude != magnitude || magnitude >= 18446744073709551616.0) {
      const char* const name = magnitude != magnitude ? "nan" : "inf";
      Field(negative ? '-' : conversion_.plus, name, 3, false);
      return;
    }
    const int decimals = conversion_.precision < 0   ? 6
                         : conversion_.precision > 9 ? 9
                                                     : conversion_.precision;
    uint64_t whole = static_cast<uint64_t>(magnitude);
    uint64_t power = 1;
    for (int n = 0; n < decimals; ++n) {
      power *= 10;
    }
    const double scaled = (magnitude - static_cast<double>(whole)) * static_cast<double>(power);
    uint64_t fraction = static_cast<uint64_t>(scaled + 0.5);
    if (fraction >= power) {
      fraction -= power;
      ++whole;
    }
    char digits[kDigits];
    char* const end = digits + kDigits;
    char* first = end;
    if (decimals > 0) {
      first = Digits(fraction, 10, false, end);
      while (end - first < decimals) {
        *--first = '0';
      }
      *--first = '.';
    }
    first = Digits(whole, 10, false, first);
    Field(negative ? '-' : conversion_.plus, first, static_cast<size_t>(end - first), true);
  }

 private:
  void Fill(char c, int count) {
    for (; count > 0; --count) {
      sink_->Put(c);
    }
  }

  Sink* sink_;
  const Conversion& conversion_;
};

int Number(const char** format) {
  int value = 0;
  for (; **format >= '0' && **format <= '9'; ++*format) {
    value = value * 10 + (**format - '0');
  }
  return value;
}

// What stands between % and the conversion's letter, but for a *.
void Flags(const char** format, Conversion* conversion) {
  for (;; ++*format) {
    switch (**format) {
      case '-':
        conversion->left = true;
        break;
      case '0':
        conversion->zeros = true;
        break;
      case '+':
      case ' ':
        conversion->plus = **format;
        break;
      case '#':
        break;
      default:
        return;
    }
  }
}

class BufferSink final : public Sink {
 public:
  BufferSink(char* buffer, size_t size) : buffer_(buffer), size_(size) {}
  void Put(char c) override {
    if (length_ + 1 < size_) {
      buffer_[length_] = c;
    }
    ++length_;
  }
  int Finish() {
    if (size_ > 0) {
      buffer_[length_ < size_ ? length_ : size_ - 1] = 0;
    }
    return static_cast<int>(length_);
  }

 private:
  char* buffer_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace

void Format(Sink* sink, const char* format, va_list args) {
  va_list values;
  va_copy(values, args);
  for (; *format != 0; ++format) {
    if (*format != '%') {
      sink->Put(*format);
      continue;
    }
    ++format;
    Conversion conversion;
    Flags(&format, &conversion);
    if (*format == '*') {
      conversion.width = va_arg(values, int);
      if (conversion.width < 0) {
        conversion.left = true;
        conversion.width = -conversion.width;
      }
      ++format;
    } else {
      conversion.width = Number(&format);
    }
    if (*format == '.') {
      ++format;
      if (*format == '*') {
        conversion.precision = va_arg(values, int);
        ++format;
      } else {
        conversion.precision = Number(&format);
      }
    }
    for (; *format == 'l' || *format == 'h' || *format == 'z'; ++format) {
      conversion.longs += *format == 'l' ? 1 : 0;
    }
    Printer printer(sink, conversion);
    const bool wide = conversion.longs >= 2;
    switch (*format) {
      case 0:
        va_end(values);
        return;
      case 'c': {
        const char c = static_cast<char>(va_arg(values, int));
        printer.Field(0, &c, 1, false);
        break;
      }
      case 's':
        printer.Text(va_arg(values, const char*));
        break;
      case 'd':
      case 'i': {
        const int64_t value = wide ? va_arg(values, int64_t) : va_arg(values, int);
        const uint64_t bits = static_cast<uint64_t>(value);
        printer.Integer(value < 0 ? 0 - bits : bits, value < 0, 10, false);
        break;
      }
      case 'u':
      case 'x':
      case 'X': {
        const uint64_t value = wide ? va_arg(values, uint64_t) : va_arg(values, unsigned);
        conversion.plus = 0;
        printer.Integer(value, false, *format == 'u' ? 10 : 16, *format == 'X');
        break;
      }
      case 'p':
        sink->Put('0');
        sink->Put('x');
        printer.Integer(reinterpret_cast<uintptr_t>(va_arg(values, void*)), false, 16, false);
        break;
      case 'f':
      case 'F':
        printer.Real(va_arg(values, double));
        break;
      default:
        sink->Put(*format);  // %% and what is not known
    }
  }
  va_end(values);
}

int FormatTo(char* buffer, size_t size, const char* format, va_list args) {
  BufferSink sink(buffer, size);
  Format(&sink, format, args);
  return sink.Finish();
}

}  // namespace soc
