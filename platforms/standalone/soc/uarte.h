// The console: UARTE0 at 115200 baud, 8N1, no flow control, on the DK's virtual serial port.
#ifndef TFLM_HIL_STANDALONE_UARTE_H_
#define TFLM_HIL_STANDALONE_UARTE_H_

#include <stddef.h>
#include <stdint.h>

namespace soc {

// Bytes that arrive together: see Receive().
inline constexpr size_t kReceiveBlock = 16;

void StartConsole();

// Sends `size` bytes and waits until they have left the buffer.
void Send(const uint8_t* data, size_t size);

// The next received byte. Sleeps until a block of kReceiveBlock is there; -1 where something else
// ended the sleep.
int Receive();

}  // namespace soc

#endif  // TFLM_HIL_STANDALONE_UARTE_H_
