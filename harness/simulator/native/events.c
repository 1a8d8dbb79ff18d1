// Events that the core handles without the machine.
#include "events.h"

#include "priority.h"
#include "rtc.h"
#include "uarte.h"

void events_limit(Core *c) {
  c->time.stop_at = c->time.end_at;
  core_stop_by(c, uarte_due(c));
  core_stop_by(c, rtc_next(c));
  core_limit(c);
}

bool events_advance(Core *c) {
  const bool sent = uarte_advance(c), counted = rtc_advance(c);
  events_limit(c);
  return (sent || counted) && !c->machine.failed && c->time.executed < c->time.stop_at;
}

long long events_next(const Core *c) {
  long long byte = uarte_next(c), event = rtc_next(c);
  return byte < event ? byte : event;
}

bool events_sleep(Core *c, long long until) {
  while (!priority_wakes(c)) {
    // The machine decides whether the core sleeps for good.
    if (c->idle.may_stand && uarte_next(c) == INT64_MAX) return false;
    const long long next = events_next(c), ahead = next - core_now(c);
    if (next >= until || core_is_late(c)) return false;
    if (ahead > 0) {
      c->time.slept += ahead;
      c->time.end_at -= ahead;
    }
    events_advance(c);
    if (c->machine.failed || c->stop.after || events_next(c) <= core_now(c)) return false;
  }
  c->cpu.sleeping = AWAKE;
  return true;
}
