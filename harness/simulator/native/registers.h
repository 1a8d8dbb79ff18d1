// The registers of a device, and which accesses to them are just loads and stores.
#ifndef HARNESS_SIMULATOR_NATIVE_REGISTERS_H_
#define HARNESS_SIMULATOR_NATIVE_REGISTERS_H_
#include <stdbool.h>
#include <stdint.h>

#include "nvic.h"
#include "transfer.h"

// Accesses that the core answers itself; all others are the machine's.
enum {
  PLAIN_READ = 1,   // a read gives the word
  PLAIN_WRITE = 2,  // a write stores the word
  EVENT_WRITE = 4,  // a write stores bit 0 of an event; may change the interrupt line
  SEND = 8,         // a write of 1 is the task STARTTX of a UARTE
  COUNT = 16,       // a read gives the counter of an RTC
  SCHEDULE = 32,    // a write moves events of an RTC
};

enum { RTC_CHANNELS = 4, RTC_EVENTS = 2 + RTC_CHANNELS };
// When the events of an RTC come; see rtc.c.
typedef struct {
  long long due[RTC_EVENTS];        // ticks, INT64_MAX for never
  long long skipped[RTC_CHANNELS];  // counts that CC missed when it was written, -1 for none
} Schedule;

typedef struct {
  uint32_t size;  // bytes
  uint32_t *words;
  uint8_t *rules;         // one per word
  int irq;                // of the interrupt line, -1 for none
  bool level;             // its level, as the interrupt controller knows it
  uint32_t stops_itself;  // DPPI channels that only STOPTX of this UARTE is subscribed to
  // Of an RTC: the counter was `base` at edge `since` of its clock, which has `edges` edges per
  // `ticks` ticks of virtual time; 0 edges: no RTC. While it runs, it counts every PRESCALER + 1
  // edges. A CC less than `soonest` counts ahead may miss its count: the device decides.
  bool running;
  long long base, since, edges, ticks, soonest;
  Schedule schedule;
  Transfer *transfer;  // of a UARTE, else NULL
  bool split;          // non-secure code sees a part of them: the machine decides
} Registers;

// Registers that answer at an address.
#define MAX_SERVED 128
typedef struct {
  uint32_t base;
  Registers *registers;
  uint8_t *window;   // where Unicorn fetches what is read at `base`
  bool admitted[2];  // to secure, to non-secure code, since the SPU was changed
} Served;

// Nordic's layout (nRF9160 PS, "Peripheral interface").
enum { PRESCALER = 0x508, PRESCALERS = 0xFFF };
enum { PUBLISH = 0x080, FIRST_EVENT = 0x100, SHORTS = 0x200, INTERRUPT_ENABLE = 0x300 };

// Carry out the access to a word; false if the device must do so.
bool registers_read(const Served *at, uint32_t offset);
bool registers_write(const Served *at, uint32_t offset, uint32_t value);
// Would registers_write() return true?
bool registers_take(const Served *at, uint32_t offset);
// Set an event; must the device act on it?
bool registers_raise(Registers *r, uint32_t event);
// The counter of an RTC at a tick, as if it did not wrap.
long long registers_count(const Registers *r, long long now);
// Drive the interrupt line from events and INTEN.
void registers_drive(Registers *r, Nvic *nvic);
#endif  // HARNESS_SIMULATOR_NATIVE_REGISTERS_H_
