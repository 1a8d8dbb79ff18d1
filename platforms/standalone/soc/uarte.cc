#include "uarte.h"

#include <string.h>

#include "registers.h"

namespace soc {
namespace {

constexpr uintptr_t kStartRx = 0x000;
constexpr uintptr_t kStopRx = 0x004;
constexpr uintptr_t kStartTx = 0x008;
constexpr uintptr_t kEndRx = 0x110;
constexpr uintptr_t kEndTx = 0x120;
constexpr uintptr_t kRxTimeout = 0x144;
constexpr uintptr_t kInterruptSet = 0x304;
constexpr uint32_t kEndRxInterrupt = 1u << 4;
constexpr uintptr_t kEnable = 0x500;
constexpr uint32_t kEnableUarte = 8;
constexpr uintptr_t kPinRts = 0x508;
constexpr uintptr_t kPinTxd = 0x50C;
constexpr uintptr_t kPinCts = 0x510;
constexpr uintptr_t kPinRxd = 0x514;
constexpr uint32_t kNotConnected = 0xFFFFFFFF;
constexpr uintptr_t kBaudRate = 0x524;
constexpr uint32_t kBaud115200 = 0x01D60000;
constexpr uintptr_t kRxPointer = 0x534;
constexpr uintptr_t kRxCount = 0x538;
constexpr uintptr_t kRxAmount = 0x53C;
constexpr uintptr_t kTxPointer = 0x544;
constexpr uintptr_t kTxCount = 0x548;
constexpr uintptr_t kConfig = 0x56C;
// P0: the transmit pin is driven high before the UARTE takes it.
constexpr uintptr_t kGpioOutSet = kP0 + 0x008;
constexpr uintptr_t kGpioDirSet = kP0 + 0x018;

volatile uint32_t& Uarte(uintptr_t offset) { return Register(kUarte0 + offset); }

// EasyDMA reads RAM only, and texts lie in flash.
uint8_t g_send_buffer[128];

// Input comes in blocks: waking up for each byte would cost more than all the rest of taking it.
// Hosts fill a record up to whole blocks (docs/records.md). Between two blocks the UARTE's own FIFO
// holds what arrives.
volatile uint8_t g_block[kReceiveBlock];

// What has been received and not yet been taken.
class Queue {
 public:
  bool empty() const { return first_ == end_; }
  size_t room() const { return sizeof(bytes_) - (end_ - first_); }
  uint8_t Take() { return bytes_[first_++]; }
  void Add(const volatile uint8_t* data, size_t size) {
    memmove(bytes_, bytes_ + first_, end_ - first_);
    end_ -= first_;
    first_ = 0;
    while (size-- > 0) {
      bytes_[end_++] = *data++;
    }
  }

 private:
  uint8_t bytes_[2 * kReceiveBlock];
  size_t first_;
  size_t end_;
};

Queue g_queue;
bool g_aligned;

void StartReceiving() {
  Uarte(kEndRx) = 0;
  Register(kNvicIcpr) = 1u << kUarte0Irq;
  Uarte(kStartRx) = 1;
}

// Masked, the interrupt ends the sleep (even one that came since the look) and is never taken.
void SleepUntilInterrupt() {
  asm volatile("cpsid i" ::: "memory");
  Register(kNvicIser) = 1u << kUarte0Irq;
  asm volatile("dsb\nwfi" ::: "memory");
  Register(kNvicIcer) = 1u << kUarte0Irq;
  asm volatile("dsb\ncpsie i\nisb" ::: "memory");
}

void Collect() {
  g_queue.Add(g_block, Uarte(kRxAmount));
  StartReceiving();
}

// Lets the host's next record begin with a block. It sends nothing while it waits for an answer,
// so a block that has begun belongs to a record of which bytes were lost.
void Align() {
  if (g_aligned || g_queue.room() < kReceiveBlock) {
    return;
  }
  g_aligned = true;
  Uarte(kRxTimeout) = 0;
  Uarte(kStopRx) = 1;
  while (Uarte(kRxTimeout) == 0) {
  }
  Collect();
}

void SendBuffer(size_t size) {
  Uarte(kTxPointer) = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(g_send_buffer));
  Uarte(kTxCount) = size;
  Uarte(kEndTx) = 0;
  Uarte(kStartTx) = 1;
  while (Uarte(kEndTx) == 0) {
  }
}

}  // namespace

void StartConsole() {
  Register(kGpioOutSet) = 1u << kTxd;
  Register(kGpioDirSet) = 1u << kTxd;
  Uarte(kPinTxd) = kTxd;
  Uarte(kPinRxd) = kRxd;
  Uarte(kPinRts) = kNotConnected;
  Uarte(kPinCts) = kNotConnected;
  Uarte(kBaudRate) = kBaud115200;
  Uarte(kConfig) = 0;
  Uarte(kEnable) = kEnableUarte;
  Uarte(kRxPointer) = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(g_block));
  Uarte(kRxCount) = kReceiveBlock;
  Uarte(kInterruptSet) = kEndRxInterrupt;
  StartReceiving();
}

void Send(const uint8_t* data, size_t size) {
  Align();
  while (size > 0) {
    const size_t part = size < sizeof(g_send_buffer) ? size : sizeof(g_send_buffer);
    memcpy(g_send_buffer, data, part);
    SendBuffer(part);
    data += part;
    size -= part;
  }
}

int Receive() {
  if (g_queue.empty()) {
    if (Uarte(kEndRx) == 0) {
      SleepUntilInterrupt();
      if (Uarte(kEndRx) == 0) {
        return -1;
      }
    }
    Collect();
    g_aligned = false;
  }
  return g_queue.Take();
}

}  // namespace soc
