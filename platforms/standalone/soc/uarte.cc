#include "uarte.h"

#include <string.h>

#include "registers.h"

namespace soc {
namespace {

constexpr uintptr_t kStartRx = 0x000;
constexpr uintptr_t kStartTx = 0x008;
constexpr uintptr_t kEndRx = 0x110;
constexpr uintptr_t kEndTx = 0x120;
constexpr uintptr_t kInterruptSet = 0x304;
constexpr uint32_t kEndRxInterrupt = 1u << 4;
constexpr uintptr_t kEnable = 0x500;
constexpr uint32_t kEnableUarte = 8;
constexpr uintptr_t kPinRts = 0x508;
constexpr uintptr_t kPinTxd = 0x50C;
constexpr uintptr_t kPinCts = 0x510;
constexpr uintptr_t kPinRxd = 0x514;
constexpr uint32_t kNotConnected = 0xFFFFFFFF;
// nRF9160 DK: the interface MCU's first virtual port.
constexpr uint32_t kDkTxd = 29;
constexpr uint32_t kDkRxd = 28;
constexpr uintptr_t kBaudRate = 0x524;
constexpr uint32_t kBaud115200 = 0x01D60000;
constexpr uintptr_t kRxPointer = 0x534;
constexpr uintptr_t kRxCount = 0x538;
constexpr uintptr_t kTxPointer = 0x544;
constexpr uintptr_t kTxCount = 0x548;
constexpr uintptr_t kConfig = 0x56C;
// P0: the transmit pin is driven high before the UARTE takes it.
constexpr uintptr_t kGpioOutSet = 0x50842508;
constexpr uintptr_t kGpioDirSet = 0x50842518;

volatile uint32_t& Uarte(uintptr_t offset) { return Register(kUarte0 + offset); }

// EasyDMA reads RAM only, and texts lie in flash.
uint8_t g_send_buffer[128];

// One byte a transfer, as a polled receiver must: the next transfer starts as soon as the byte is
// taken, and the UARTE's own FIFO holds what comes in between.
volatile uint8_t g_received;

void StartReceiving() {
  Uarte(kEndRx) = 0;
  Register(kNvicIcpr) = 1u << kUarte0Irq;
  Uarte(kStartRx) = 1;
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
  Register(kGpioOutSet) = 1u << kDkTxd;
  Register(kGpioDirSet) = 1u << kDkTxd;
  Uarte(kPinTxd) = kDkTxd;
  Uarte(kPinRxd) = kDkRxd;
  Uarte(kPinRts) = kNotConnected;
  Uarte(kPinCts) = kNotConnected;
  Uarte(kBaudRate) = kBaud115200;
  Uarte(kConfig) = 0;
  Uarte(kEnable) = kEnableUarte;
  Uarte(kRxPointer) = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&g_received));
  Uarte(kRxCount) = 1;
  // Never taken (the NVIC keeps it disabled): pending it ends the sleep of Receive().
  Uarte(kInterruptSet) = kEndRxInterrupt;
  Register(kScr) = Register(kScr) | kSevOnPend;
  StartReceiving();
}

void Send(const uint8_t* data, size_t size) {
  while (size > 0) {
    const size_t part = size < sizeof(g_send_buffer) ? size : sizeof(g_send_buffer);
    memcpy(g_send_buffer, data, part);
    SendBuffer(part);
    data += part;
    size -= part;
  }
}

int Receive() {
  if (Uarte(kEndRx) == 0) {
    // A byte that came since is an event already, so that this cannot sleep over it.
    asm volatile("wfe" ::: "memory");
    if (Uarte(kEndRx) == 0) {
      return -1;
    }
  }
  const int byte = g_received;
  StartReceiving();
  return byte;
}

}  // namespace soc
