// Runs Unicorn, again and again, until there is something that the machine must do.
#include <time.h>

#include "core.h"

// Instructions before the first look at the clock.
#define FIRST_LOOK 2048
#define NO_LOOK INT64_MAX
// Exceptions between two looks, which may be few instructions apart.
#define TAKEN_BETWEEN_LOOKS 256

static uint64_t monotonic_ns(void) {
  struct timespec now;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool core_is_late(const Core *c) { return c->wall && monotonic_ns() >= c->wall; }

static uint32_t address_of(Core *c, uint32_t index) {
  Area *area = core_area(c->code, c->code_count, c->block);
  uint32_t at = c->block;
  for (uint32_t i = 0; area && i < index; i++) at += thumb_length(core_halfword(area, at));
  return at;
}

// Subtract what was counted for the instructions of the current block from `pc` on.
static void settle(Core *c, uint32_t pc) {
  if (pc - c->block >= c->block_size) return;
  uint32_t before = core_count_before(c, pc);
  c->executed -= (long long)(c->block_count - before);
  c->block_count = before;
  c->block_size = pc - c->block;
  c->sequential = pc;
}

// One uc_emu_start() from the current pc.
static void emulate(Core *c, uint64_t until) {
  uint32_t pc = core_reg(c, REG_PC), thumb = (core_reg(c, REG_XPSR) & XPSR_THUMB) != 0;
  core_settle_charge(c);
  c->reason = REASON_NONE;
  c->until = (uint32_t)until;
  c->aborting = false;
  c->block_size = 0;
  c->block_count = 0;
  c->slot = NULL;
  c->again = 1;
  c->idle.watching = false;
  core_limit(c);
  int error = c->api.start(c->uc, pc | thumb, until, 0, 0);
  bool fetch = c->fault_type == MEM_FETCH_PROT || c->fault_type == MEM_FETCH_UNMAPPED;
  bool whole = c->exception == RAISED_SVC || c->exception == RAISED_RETURN;
  if (c->aborting) {
    access_undo(c);
    settle(c, core_reg(c, REG_PC));
  } else if ((c->reason == REASON_MEMORY && !fetch) || (c->reason == REASON_EXCEPTION && !whole)) {
    settle(c, core_reg(c, REG_PC));
  } else if (c->reason == REASON_NONE && error) {
    c->reason = REASON_ERROR;
    c->error = error;
    settle(c, core_reg(c, REG_PC));
  }
}

static void emulate_cut(Core *c, uint32_t from, uint32_t until) {
  // The whole block may be in Unicorn's cache: it must be translated again, up to `until`.
  c->api.ctl(c->uc, CTL_REMOVE_CACHE, (uint64_t)from, (uint64_t)until);
  c->partial = true;
  emulate(c, until);
  c->partial = false;
}

// The store at pc took effect: go on behind it, if the instruction does nothing else.
static bool step_over(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  if (!area || core_reg(c, REG_XPSR) & XPSR_IT) return false;
  uint16_t first = core_halfword(area, pc), second = core_halfword(area, pc + 2);
  if (thumb_plain_store(first, second) != c->fault_size) return false;
  core_retire(c, pc);
  core_set_reg(c, REG_PC, (pc + thumb_length(first)) | 1);
  c->sequential = pc + thumb_length(first);
  c->reason = REASON_NONE;
  return true;
}

static void replay(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  if (!area) return;
  c->skip = c->access_count;
  c->access_count = 0;
  c->access_here = -1;
  c->single = true;
  emulate_cut(c, pc, pc + thumb_length(core_halfword(area, pc)));
  c->single = false;
  c->skip = 0;
}

static void look_soon(Core *c) {
  c->step = FIRST_LOOK;
  if (c->look_at > c->executed + c->step) c->look_at = c->executed + c->step;
}

static void begin(Core *c) {
  c->failed = false;
  c->stop_after = false;
  c->look_at = NO_LOOK;
  look_soon(c);
}

static void run_on(Core *c) {
  emulate(c, NEVER);
  if (!c->failed && c->reason == REASON_CUT) emulate_cut(c, c->block, address_of(c, c->cut));
  if (!c->failed && c->reason == REASON_REPLAY && !step_over(c)) replay(c);
}

// True if the core has dealt with the reason itself, and the run goes on.
static bool goes_on(Core *c) {
  if (c->reason == REASON_SYNC) return true;
  if (c->reason == REASON_EXCEPTION && c->exception == RAISED_FETCH && state_admit_code(c)) {
    return true;
  }
  if (!exception_take(c)) return false;
  look_soon(c);
  return ++c->taken % TAKEN_BETWEEN_LOOKS || !core_is_late(c);
}

// Run until a reason to return, for at most about `seconds` of wall time (0: no bound).
int core_run(Core *c, double seconds) {
  begin(c);
  c->wall = seconds > 0 ? monotonic_ns() + (uint64_t)(seconds * 1e9) : 0;
  for (;;) {
    if (c->executed >= c->stop_at) return REASON_BUDGET;
    if (core_deliverable(c)) {
      c->reason = REASON_UNMASKED;
    } else if (c->stale) {
      core_synchronize(c);
      continue;
    } else {
      run_on(c);
    }
    if (c->failed) return REASON_ERROR;
    if (c->stop_after && c->reason == REASON_NONE) return REASON_DEVICE;
    if (goes_on(c)) continue;
    if (c->reason != REASON_NONE) return c->reason;
    if (core_is_late(c)) return REASON_BUDGET;
  }
}

// Run the one instruction at pc.
int core_step(Core *c) {
  uint32_t pc = core_reg(c, REG_PC);
  Area *area = core_area(c->code, c->code_count, pc);
  begin(c);
  emulate_cut(c, pc, pc + (area ? thumb_length(core_halfword(area, pc)) : 2));
  return c->reason;
}
