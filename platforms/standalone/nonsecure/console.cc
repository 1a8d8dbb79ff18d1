// The console of the non-secure image: the secure one owns the UARTE (see ../secure/gateways.h).
#include "gateways.h"
#include "uarte.h"

namespace soc {

void StartConsole() {}  // it runs since before this image was started

void Send(const uint8_t* data, size_t size) { secure_write(data, size); }

int Receive() { return secure_read(); }

}  // namespace soc
