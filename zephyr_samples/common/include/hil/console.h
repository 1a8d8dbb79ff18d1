// Records from the host, read from the console: docs/records.md, host to device.
#ifndef HIL_CONSOLE_H_
#define HIL_CONSOLE_H_

#include <cstddef>
#include <cstdint>

namespace hil {

// One record that the host sent; points into the console's line buffer.
class HostRecord {
 public:
  // Bytes of tensor data that one record may carry; its line then stays below 200 bytes.
  static constexpr size_t kChunk = 64;

  HostRecord() = default;
  // `body` is the text between the prefix and the CRC; `body` must outlive the record.
  HostRecord(uint32_t sequence, const char* kind, size_t kind_size, const char* fields)
      : sequence_(sequence), kind_(kind), kind_size_(kind_size), fields_(fields) {}

  uint32_t sequence() const { return sequence_; }
  bool Is(const char* kind) const;

  // The decimal field `key`; false if there is none.
  bool Count(const char* key, uint32_t* value) const;

  // Decodes the hex field `key` into at most `capacity` bytes and stores their number; false if
  // there is none, or it is not hex, or it is too long.
  bool Bytes(const char* key, uint8_t* data, size_t capacity, size_t* size) const;

 private:
  const char* Find(const char* key) const;

  uint32_t sequence_ = 0;
  const char* kind_ = "";
  size_t kind_size_ = 0;
  const char* fields_ = "";
};

// Reads host records one by one, refuses the broken ones with a `nak`, and answers a record that
// comes again with its `ack` again, which seems to have been lost.
class Console {
 public:
  // Enables the console's receiver.
  Console();

  // Waits for the next new record; false if nothing came for `patience_ms` milliseconds.
  bool Next(HostRecord* record, int64_t patience_ms);

  void Acknowledge(const HostRecord& record);
  void Refuse(const HostRecord& record, const char* reason);

 private:
  static constexpr size_t kLine = 200;

  bool ReadLine(int64_t patience_ms);
  // Reads the line in the buffer; false if it holds no record to act on.
  bool Parse(HostRecord* record);

  char line_[kLine + 1];
  uint32_t expected_ = 0;
};

}  // namespace hil

#endif  // HIL_CONSOLE_H_
