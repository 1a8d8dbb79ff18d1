#include "hil/record.h"

#include <zephyr/sys/printk.h>

#include <algorithm>
#include <cstring>

namespace hil {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

uint32_t next_sequence = 0;

bool IsPlain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || (byte != '\0' && std::strchr("_.:,+/@-", byte) != nullptr);
}

}  // namespace

uint32_t Crc32(const void* data, size_t size) {
  // Bit by bit: a record is short, and a table would cost more flash than it saves time.
  constexpr uint32_t kReflected = 0xEDB88320u;
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (kReflected & (0u - (crc & 1u)));
  }
  return ~crc;
}

Record::Record(const char* kind) {
  Put("~HIL ");
  PutDecimal(next_sequence++);
  Put(' ');
  Put(kind);
}

Record::~Record() {
  const uint32_t crc = Crc32(line_, size_);
  line_[size_++] = ' ';
  line_[size_++] = '*';
  for (int shift = 28; shift >= 0; shift -= 4) line_[size_++] = kHexDigits[(crc >> shift) & 0xF];
  line_[size_] = '\0';
  printk("%s\n", line_);
}

Record& Record::Text(const char* key, const char* value) {
  Begin(key);
  for (; *value != '\0'; ++value) {
    if (IsPlain(*value)) {
      Put(*value);
    } else {
      Put('%');
      PutHex(static_cast<uint8_t>(*value), 2);
    }
  }
  End();
  return *this;
}

Record& Record::Number(const char* key, int32_t value) {
  Begin(key);
  if (value < 0) Put('-');
  PutDecimal(value < 0 ? 0u - static_cast<uint32_t>(value) : static_cast<uint32_t>(value));
  End();
  return *this;
}

Record& Record::Count(const char* key, uint32_t value) {
  Begin(key);
  PutDecimal(value);
  End();
  return *this;
}

Record& Record::Word(const char* key, uint32_t value) {
  Begin(key);
  PutHex(value, 8);
  End();
  return *this;
}

Record& Record::Float(const char* key, float value) {
  uint32_t bits;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  return Word(key, bits);
}

Record& Record::Bytes(const char* key, const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  Begin(key);
  for (size_t i = 0; i < size; ++i) PutHex(bytes[i], 2);
  End();
  return *this;
}

Record& Record::List(const char* key, const int* values, size_t count) {
  Begin(key);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) Put(',');
    if (values[i] < 0) Put('-');
    PutDecimal(static_cast<uint32_t>(values[i] < 0 ? -values[i] : values[i]));
  }
  End();
  return *this;
}

void Record::Begin(const char* key) {
  field_ = size_;
  overflow_ = false;
  Put(' ');
  Put(key);
  Put('=');
}

void Record::End() {
  if (overflow_) size_ = field_;
}

void Record::Put(char byte) {
  if (size_ < kLine - kTrailer) {
    line_[size_++] = byte;
  } else {
    overflow_ = true;
  }
}

void Record::Put(const char* text) {
  while (*text != '\0') Put(*text++);
}

void Record::PutHex(uint32_t value, unsigned digits) {
  while (digits > 0) Put(kHexDigits[(value >> (4 * --digits)) & 0xF]);
}

void Record::PutDecimal(uint32_t value) {
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) Put(digits[--count]);
}

void PrintTensorBytes(const char* kind, uint32_t inference, uint32_t index, const void* data,
                      size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  for (size_t offset = 0; offset < size; offset += Record::kChunk) {
    Record(kind)
        .Count("inference", inference)
        .Count("index", index)
        .Count("offset", offset)
        .Count("total", size)
        .Bytes("hex", bytes + offset, std::min(size - offset, Record::kChunk));
  }
}

}  // namespace hil
