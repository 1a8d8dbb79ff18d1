// Console records of tflm-hil (docs/records.md) from C99 or C++11, without a C library.
//
//   static HilRecords records = {PutChar, 0, 0};   // void PutChar(char byte): your console
//
//   HilBoot(&records, "my_app", "my_board", g_model, g_model_len, "v1.2");
//   HilTensor(&records, "input", 0, "int8", dims, 2, scale, zero_point);   // each, inputs first
//   HilArena(&records, kArenaSize, interpreter.arena_used_bytes());
//   HilStartTicks();
//   for (uint32_t i = 0; i < count; i++) {
//     HilBytes(&records, "input", i, 0, input->data.raw, input->bytes);
//     uint32_t start = HilTicks();
//     int status = interpreter.Invoke();
//     uint32_t ticks = HilTicks() - start;
//     HilBytes(&records, "output", i, 0, output->data.raw, output->bytes);
//     HilInference(&records, i, ticks, 64000000, status);
//   }
//   HilEnd(&records, count, 0);
//
// Nothing else may be printed within a record; log lines between records are welcome.
#ifndef HIL_RECORDS_H_
#define HIL_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

typedef struct {
  void (*put)(char byte);
  uint32_t next;  // number of the next record
  uint32_t crc;   // of the record that is being printed
} HilRecords;

enum { kHilChunk = 32, kHilName = 20 };  // bytes of a tensor, characters of a name in one record

static inline void HilPut(HilRecords *records, char byte) {
  uint32_t crc = records->crc ^ (uint8_t)byte;
  for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
  records->crc = crc;
  records->put(byte);
}

static inline void HilText(HilRecords *records, const char *text) {
  while (*text != '\0') HilPut(records, *text++);
}

static inline void HilHex(HilRecords *records, uint32_t value, int digits) {
  while (digits > 0) HilPut(records, "0123456789abcdef"[(value >> (4 * --digits)) & 15u]);
}

static inline void HilCount(HilRecords *records, const char *key, uint32_t value) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10u);
    value /= 10u;
  } while (value > 0u);
  HilText(records, key);
  while (count > 0) HilPut(records, digits[--count]);
}

static inline void HilNumber(HilRecords *records, const char *key, int32_t value) {
  HilText(records, key);
  if (value < 0) HilPut(records, '-');
  HilCount(records, "", value < 0 ? 0u - (uint32_t)value : (uint32_t)value);
}

// A name of at most kHilName characters; what a record cannot hold becomes '_'.
static inline void HilName(HilRecords *records, const char *key, const char *name) {
  HilText(records, key);
  for (int i = 0; name[i] != '\0' && i < kHilName; i++) {
    const char byte = name[i];
    const int plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                      (byte >= '-' && byte <= '9') || byte == ':';
    HilPut(records, plain ? byte : '_');
  }
}

static inline void HilBegin(HilRecords *records, const char *kind) {
  records->crc = ~0u;
  HilText(records, "~HIL ");
  HilCount(records, "", records->next++);
  HilPut(records, ' ');
  HilText(records, kind);
}

static inline void HilFinish(HilRecords *records) {
  const uint32_t crc = ~records->crc;
  HilText(records, " *");
  HilHex(records, crc, 8);
  records->put('\r');
  records->put('\n');
}

// The first record of every boot. `build` names the version of the firmware.
static inline void HilBoot(HilRecords *records, const char *sample, const char *board,
                           const void *model, size_t model_bytes, const char *build) {
  const uint8_t *bytes = (const uint8_t *)model;
  uint32_t crc = ~0u;
  for (size_t i = 0; i < model_bytes; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
  }
  records->next = 0;
  HilBegin(records, "boot");
  HilName(records, " sample=", sample);
  HilName(records, " board=", board);
  HilText(records, " runtime=tflm model_crc32=");
  HilHex(records, ~crc, 8);
  HilCount(records, " model_bytes=", (uint32_t)model_bytes);
  HilName(records, " build=", build);
  HilFinish(records);
}

// One tensor of the model; `role` is "input" or "output", `type` is NumPy's name ("int8").
static inline void HilTensor(HilRecords *records, const char *role, uint32_t index,
                             const char *type, const int *dims, int rank, float scale,
                             int32_t zero_point) {
  union {
    float real;
    uint32_t word;
  } bits;
  bits.real = scale;
  HilBegin(records, "tensor");
  HilName(records, " role=", role);
  HilCount(records, " index=", index);
  HilName(records, " type=", type);
  HilText(records, " shape=");
  for (int i = 0; i < rank; i++) HilCount(records, i > 0 ? "," : "", (uint32_t)dims[i]);
  HilText(records, " scale=");
  HilHex(records, bits.word, 8);
  HilNumber(records, " zero_point=", zero_point);
  HilFinish(records);
}

// Behind the tensors. Without an interpreter: the memory that your kernels work in.
static inline void HilArena(HilRecords *records, size_t declared, size_t used) {
  HilBegin(records, "arena");
  HilCount(records, " declared=", (uint32_t)declared);
  HilCount(records, " used=", (uint32_t)used);
  HilFinish(records);
}

// A tensor of one inference as it lies in memory; `kind` is "input" or "output".
static inline void HilBytes(HilRecords *records, const char *kind, uint32_t inference,
                            uint32_t index, const void *data, size_t total) {
  const uint8_t *bytes = (const uint8_t *)data;
  for (size_t offset = 0; offset < total; offset += kHilChunk) {
    HilBegin(records, kind);
    HilCount(records, " inference=", inference);
    HilCount(records, " index=", index);
    HilCount(records, " offset=", (uint32_t)offset);
    HilCount(records, " total=", (uint32_t)total);
    HilText(records, " hex=");
    for (size_t i = offset; i < total && i < offset + kHilChunk; i++) HilHex(records, bytes[i], 2);
    HilFinish(records);
  }
}

// Behind the outputs; `ticks` of Invoke() alone, `status` 0 is kTfLiteOk.
static inline void HilInference(HilRecords *records, uint32_t index, uint32_t ticks, uint32_t hz,
                                int32_t status) {
  HilBegin(records, "inference");
  HilCount(records, " index=", index);
  HilCount(records, " ticks=", ticks);
  HilCount(records, " source=dwt hz=", hz);
  HilNumber(records, " status=", status);
  HilFinish(records);
}

// The last record.
static inline void HilEnd(HilRecords *records, uint32_t inferences, int32_t status) {
  HilBegin(records, "end");
  HilCount(records, " inferences=", inferences);
  HilNumber(records, " status=", status);
  HilFinish(records);
}

// DWT's cycle counter (Armv8-M Architecture Reference Manual, DWT_CYCCNT), once after reset.
static inline void HilStartTicks(void) {
  *(volatile uint32_t *)0xE000EDFCu |= 1u << 24;  // DEMCR.TRCENA
  *(volatile uint32_t *)0xE0001000u |= 1u;        // DWT_CTRL.CYCCNTENA
}

static inline uint32_t HilTicks(void) { return *(volatile uint32_t *)0xE0001004u; }

#endif  // HIL_RECORDS_H_
