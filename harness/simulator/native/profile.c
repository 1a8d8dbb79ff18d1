// What ran, how often.
#include <string.h>

#include "core.h"

void profile_clear(Core *c) {
  core_settle_charge(c);
  for (int i = 0; i < c->code_count; i++) {
    Area *area = &c->code[i];
    for (uint32_t at = 0; at < area->size; at += 2) {
      if (!area->covered[at >> 4]) {
        at = (at | 15) - 1;  // nothing ran in these eight halfwords
        continue;
      }
      memset(&area->slots[at >> 1], 0, sizeof(Slot));
    }
    memset(area->covered, 0, area->size / 16);
  }
  c->again = 1;
  if (c->ram_runs) c->api.ctl(c->uc, CTL_FLUSH_TB);
  c->api.ctl(c->uc, CTL_FLUSH_TLB);  // see code_ran() in mpu.c
}
