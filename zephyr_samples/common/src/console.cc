#include "hil/console.h"

#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>

#include <cstring>

#include "hil/record.h"

namespace hil {
namespace {

constexpr char kPrefix[] = "~HIL ";
constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;
constexpr size_t kTrailer = 10;  // " *" and eight hex digits

const device* ConsoleDevice() { return DEVICE_DT_GET(DT_CHOSEN(zephyr_console)); }

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

// Reads a decimal number of at most nine digits and moves `text` behind it.
bool ReadDecimal(const char** text, uint32_t* value) {
  constexpr int kMaxDigits = 9;
  uint32_t number = 0;
  int digits = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) {
    if (++digits > kMaxDigits) return false;
    number = number * 10 + static_cast<uint32_t>(**text - '0');
  }
  *value = number;
  return digits > 0;
}

void Answer(const char* kind, uint32_t of, const char* reason) {
  Record record(kind);
  record.Count("of", of);
  if (reason != nullptr) record.Text("reason", reason);
}

}  // namespace

bool HostRecord::Is(const char* kind) const {
  return std::strlen(kind) == kind_size_ && std::memcmp(kind, kind_, kind_size_) == 0;
}

const char* HostRecord::Find(const char* key) const {
  const size_t size = std::strlen(key);
  for (const char* at = fields_; (at = std::strchr(at, ' ')) != nullptr;) {
    ++at;
    if (std::strncmp(at, key, size) == 0 && at[size] == '=') return at + size + 1;
  }
  return nullptr;
}

bool HostRecord::Count(const char* key, uint32_t* value) const {
  const char* at = Find(key);
  return at != nullptr && ReadDecimal(&at, value) && (*at == ' ' || *at == '\0');
}

bool HostRecord::Bytes(const char* key, uint8_t* data, size_t capacity, size_t* size) const {
  const char* at = Find(key);
  if (at == nullptr) return false;
  size_t count = 0;
  for (; *at != ' ' && *at != '\0'; at += 2) {
    const int high = HexDigit(at[0]);
    const int low = high < 0 ? -1 : HexDigit(at[1]);
    if (low < 0 || count == capacity) return false;
    data[count++] = static_cast<uint8_t>(high << 4 | low);
  }
  *size = count;
  return count > 0;
}

Console::Console() { line_[0] = '\0'; }

bool Console::Next(HostRecord* record, int64_t patience_ms) {
  while (ReadLine(patience_ms)) {
    if (!Parse(record)) continue;
    if (expected_ > 0 && record->sequence() == expected_ - 1) {
      Answer("ack", record->sequence(), nullptr);  // carried out already; its ack was lost
    } else if (record->sequence() != expected_) {
      Refuse(*record, "sequence");
    } else {
      return true;
    }
  }
  return false;
}

void Console::Acknowledge(const HostRecord& record) {
  expected_ = record.sequence() + 1;
  Answer("ack", record.sequence(), nullptr);
}

void Console::Refuse(const HostRecord& record, const char* reason) {
  Answer("nak", record.sequence(), reason);
}

bool Console::ReadLine(int64_t patience_ms) {
  // The clock is read rarely: there is little time between two bytes of a burst.
  constexpr uint32_t kPollsPerLook = 1024;
  int64_t quiet_since = k_uptime_get();
  size_t size = 0;
  uint32_t polls = 0;
  for (;;) {
    unsigned char byte;
    if (uart_poll_in(ConsoleDevice(), &byte) != 0) {
      if (++polls % kPollsPerLook == 0 && k_uptime_get() - quiet_since > patience_ms) return false;
      continue;
    }
    if (polls > kPollsPerLook) quiet_since = k_uptime_get();
    polls = 0;
    if (byte == '\r' || byte == '\n') {
      line_[size] = '\0';
      if (size > 0) return true;
    } else if (size < kLine) {
      line_[size++] = static_cast<char>(byte);
    }
  }
}

bool Console::Parse(HostRecord* record) {
  char* start = std::strstr(line_, kPrefix);
  if (start == nullptr) return false;  // noise on the line, or somebody typing
  const char* at = start + kPrefixSize;
  uint32_t sequence = 0;
  const bool numbered = ReadDecimal(&at, &sequence) && *at == ' ';
  *record = HostRecord(numbered ? sequence : 0, "", 0, "");

  const size_t size = std::strlen(start);
  char* trailer = start + size - kTrailer;
  if (size < kPrefixSize + kTrailer || trailer[0] != ' ' || trailer[1] != '*') {
    Refuse(*record, "format");
    return false;
  }
  uint32_t told = 0;
  for (const char* digit = trailer + 2; *digit != '\0'; ++digit) {
    if (HexDigit(*digit) < 0) {
      Refuse(*record, "format");
      return false;
    }
    told = told << 4 | static_cast<uint32_t>(HexDigit(*digit));
  }
  if (told != Crc32(start, static_cast<size_t>(trailer - start))) {
    Refuse(*record, "crc");
    return false;
  }
  if (!numbered) {
    Refuse(*record, "format");
    return false;
  }
  *trailer = '\0';
  const char* kind = at + 1;
  const size_t kind_size = std::strcspn(kind, " ");
  *record = HostRecord(sequence, kind, kind_size, kind + kind_size);
  return true;
}

}  // namespace hil
