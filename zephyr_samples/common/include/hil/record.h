// Console records: docs/records.md, device to host.
#ifndef HIL_RECORD_H_
#define HIL_RECORD_H_

#include <cstddef>
#include <cstdint>

namespace hil {

// CRC-32 of IEEE 802.3 (reflected, polynomial 0x04C11DB7), as zlib computes it.
uint32_t Crc32(const void* data, size_t size);

// One record: built field by field, printed with its sequence number and CRC when it goes out of
// scope. A field that does not fit into the line is left out whole, never cut.
class Record {
 public:
  // Tensor bytes that one record carries.
  static constexpr size_t kChunk = 32;

  explicit Record(const char* kind);
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  Record& Text(const char* key, const char* value);
  Record& Number(const char* key, int32_t value);
  Record& Count(const char* key, uint32_t value);
  // Eight hex digits: a CRC, or the bits of a float.
  Record& Word(const char* key, uint32_t value);
  Record& Float(const char* key, float value);
  // Bytes as they lie in memory, two hex digits each.
  Record& Bytes(const char* key, const void* data, size_t size);
  // Numbers with commas between them.
  Record& List(const char* key, const int* values, size_t count);

 private:
  static constexpr size_t kLine = 160;
  static constexpr size_t kTrailer = 10;  // " *" and the CRC

  void Begin(const char* key);
  void End();
  void Put(char byte);
  void Put(const char* text);
  void PutHex(uint32_t value, unsigned digits);
  void PutDecimal(uint32_t value);

  char line_[kLine + 1];
  size_t size_ = 0;
  size_t field_ = 0;  // where the field that is being written began
  bool overflow_ = false;
};

// Records of kind `input` or `output`: one tensor of one inference, kChunk bytes a record.
void PrintTensorBytes(const char* kind, uint32_t inference, uint32_t index, const void* data,
                      size_t size);

}  // namespace hil

#endif  // HIL_RECORD_H_
