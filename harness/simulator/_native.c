// Native counting for harness.simulator: runs a Unicorn Cortex-M33 and counts every instruction.
//
// Nothing is linked against Unicorn: the addresses of its functions are passed in. The contract
// (attributes, methods, stop reasons) is that of harness/simulator/counting.py, and python_core.py
// gives the same counts without a compiler.
//
// How a run stops at an exact instruction: Unicorn calls on_block() before each translated block.
// A block that would run past `stop_at`, or holds an instruction that the machine carries out
// itself (WFI, TT, a breakpoint), is not entered; its first part is run alone by asking Unicorn to
// stop "until" the address in its middle, which cuts the translated block there.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

typedef int (*StartFn)(void *uc, uint64_t begin, uint64_t until, uint64_t timeout, size_t count);
typedef int (*StopFn)(void *uc);
typedef int (*RegFn)(void *uc, int id, void *value);
typedef int (*BatchFn)(void *uc, int *ids, void **values, int count);
typedef int (*HookFn)(void *uc, size_t *hook, int type, void *callback, void *user, uint64_t begin,
                      uint64_t end, ...);
typedef int (*CtlFn)(void *uc, int control, ...);
typedef int (*ContextFn)(void *uc, void *context);

// Register ids of Unicorn's public ARM interface.
enum { REG_LR = 10, REG_PC = 11, REG_SP = 12, REG_R0 = 66, REG_S0 = 79, REG_FPSCR = 6 };
enum { REG_MSP = 115, REG_PSP = 116, REG_CONTROL = 117, REG_XPSR = 120, REG_EPSR = 121 };
enum { REG_PRIMASK = 123, REG_BASEPRI = 124, REG_FAULTMASK = 126, REG_APSR_NZCV = 2 };
enum { REG_XPSR_NZCVQG = 138 };
enum { HOOK_INTR = 1, HOOK_BLOCK = 8, HOOK_MEM_INVALID = 1008 };
enum { MEM_WRITE_UNMAPPED = 20, MEM_FETCH_UNMAPPED = 21, MEM_WRITE_PROT = 22, MEM_FETCH_PROT = 24 };
enum { CTL_REMOVE_CACHE = 9 | (2 << 26) | (1 << 30) };

// Why run() returned; the same numbers as counting.Reason.
enum {
  REASON_NONE = 0,
  REASON_BUDGET = 1,     // `stop_at` instructions are executed
  REASON_EXCEPTION = 2,  // Unicorn raised exception number `exception`
  REASON_SPECIAL = 3,    // stands before an instruction that the machine carries out
  REASON_UNMASKED = 4,   // a pending exception can be taken now
  REASON_MEMORY = 5,     // an access was refused: `fault_type`, `fault_address`
  REASON_DEVICE = 6,     // stands after the instruction whose access asked to stop
  REASON_ERROR = 7,      // Unicorn error `error` that none of the above explains
  REASON_CUT = 100,      // internal: the block must be cut
  REASON_REPLAY = 101,   // internal: an access took effect; finish its instruction, then stop
};

#define XPSR_THUMB 0x01000000u
#define XPSR_IT 0x0600FC00u
#define NEVER 0xFFFFFFF0ull
#define NO_SPECIAL 0xFFFFu
#define NO_PRIORITY 256
#define MAX_REGIONS 4
#define TRACE_BLOCKS 256
#define MAX_BLOCK 4096
enum { EXTRA_LIMITS = 1, EXTRA_EXCLUSIVE = 2 };

typedef struct {
  uint16_t size;
  uint16_t count;
  uint16_t special;
  uint16_t generation;
  uint64_t executed;
} Slot;

typedef struct {
  uint32_t base;
  uint32_t size;
  uint8_t *host;
  Slot *slots;       // one a halfword, executable regions only
  uint8_t *covered;  // one bit a halfword
  bool stable;       // code there changes only through invalidate()
} Region;

typedef struct {
  PyObject_HEAD void *uc;
  StartFn start;
  StopFn stop;
  RegFn reg_read, reg_write;
  BatchFn batch_read, batch_write;
  CtlFn ctl;
  ContextFn context_save, context_restore;
  void *context;
  Region regions[MAX_REGIONS];  // executable memory: flash first
  int region_count;
  Region windows[MAX_REGIONS];  // device windows and what backs them
  int window_count;
  uint8_t *shadow;  // copy of the writable regions while a block is undone
  PyObject *access;
  uint32_t *breakpoints;
  Py_ssize_t breakpoint_count;

  long long executed, stop_at, here;
  int best_pending, active_priority, group_mask;
  int exception, error, fault_type, fault_size;
  unsigned int fault_address;
  char stop_after, fp_disabled;
  int extras;

  int reason;
  uint32_t block, block_size, block_count, cut;
  Slot *slot;
  uint16_t generation;
  bool partial, single, aborting, failed;
  bool repeatable;  // `slot` needs no second look when its block runs again at once
  long long access_here;
  int access_count, skip;
  uint32_t ignored;  // breakpoint that the next block may start on
  bool ignoring;
  uint32_t trace[TRACE_BLOCKS];
  uint32_t trace_next;
} Core;

static uint32_t reg(Core *c, int id) {
  uint32_t value = 0;
  c->reg_read(c->uc, id, &value);
  return value;
}

static void set_reg(Core *c, int id, uint32_t value) { c->reg_write(c->uc, id, &value); }

static Region *find(Region *regions, int count, uint32_t address) {
  for (int i = 0; i < count; i++) {
    if (address - regions[i].base < regions[i].size) return &regions[i];
  }
  return NULL;
}

static uint16_t halfword(const Region *r, uint32_t address) {
  uint32_t offset = address - r->base;
  if (offset + 2 > r->size) return 0;
  return (uint16_t)(r->host[offset] | r->host[offset + 1] << 8);
}

static uint32_t length(uint16_t first) { return (first >> 11) >= 0x1D ? 4 : 2; }

static bool is_breakpoint(const Core *c, uint32_t address) {
  for (Py_ssize_t i = 0; i < c->breakpoint_count; i++) {
    if (c->breakpoints[i] == address) return true;
  }
  return false;
}

// Instructions that Unicorn's core lacks or answers without the system registers:
// YIELD, WFE, WFI, SEV; TT and its variants; BXNS and BLXNS; FP while CPACR refuses it.
static bool is_special(const Core *c, uint16_t first, uint16_t second) {
  if (length(first) == 2) {
    if ((first & 0xFF0F) == 0xBF00) return first >= 0xBF10 && first <= 0xBF40;
    return (first & 0xFF07) == 0x4704;
  }
  if (first == 0xF3AF) return second >= 0x8001 && second <= 0x8004;
  if ((first & 0xFFF0) == 0xE840) return (second & 0xF03F) == 0xF000;
  if (c->fp_disabled && (first & 0xEC00) == 0xEC00) {
    return (second & 0x0E00) == 0x0A00 && (first & 0xEF00) != 0xEF00;
  }
  return false;
}

// State outside the registers that exception entry must deal with, once firmware uses it:
// stack limits (MSR to MSPLIM, PSPLIM) and the exclusive monitor (LDREX and its kin).
static int extra_state(uint16_t first, uint16_t second) {
  if ((first & 0xFFF0) == 0xF380 && ((second & 0xFF7E) == 0x880A)) return EXTRA_LIMITS;
  if ((first & 0xFFF0) == 0xE850) return EXTRA_EXCLUSIVE;
  if ((first & 0xFFF0) == 0xE8D0 && (second & 0x0040)) return EXTRA_EXCLUSIVE;
  return 0;
}

static void decode(Core *c, const Region *r, Slot *s, uint32_t address, uint32_t size) {
  uint32_t count = 0, special = NO_SPECIAL;
  for (uint32_t at = address; at < address + size && size <= MAX_BLOCK; count++) {
    uint16_t first = halfword(r, at);
    uint32_t step = length(first);
    uint16_t second = step == 4 ? halfword(r, at + 2) : 0;
    if (step == 4) c->extras |= extra_state(first, second);
    if (special == NO_SPECIAL && (is_special(c, first, second) || is_breakpoint(c, at))) {
      special = count;
    }
    at += step;
  }
  s->size = (uint16_t)size;
  s->count = (uint16_t)count;
  s->special = (uint16_t)special;
  s->generation = c->generation;
  for (uint32_t at = address - r->base; at < address - r->base + size; at += 2) {
    r->covered[at >> 4] |= (uint8_t)(1u << ((at >> 1) & 7));
  }
}

// Instructions of the current block that stand before `pc`.
static uint32_t count_before(Core *c, uint32_t pc) {
  Region *r = find(c->regions, c->region_count, c->block);
  uint32_t count = 0;
  if (!r) return 0;
  for (uint32_t at = c->block; at < pc && at < c->block + c->block_size; count++) {
    at += length(halfword(r, at));
  }
  return count;
}

static uint32_t address_of(Core *c, uint32_t index) {
  Region *r = find(c->regions, c->region_count, c->block);
  uint32_t at = c->block;
  for (uint32_t i = 0; r && i < index; i++) at += length(halfword(r, at));
  return at;
}

static void charge(Core *c, long long instructions) {
  c->executed += instructions;
  if (c->slot) c->slot->executed += (uint64_t)instructions;
}

// Take back what was charged for instructions of the current block from `pc` on.
static void settle(Core *c, uint32_t pc) {
  if (pc - c->block >= c->block_size) return;
  uint32_t before = count_before(c, pc);
  charge(c, -(long long)(c->block_count - before));
  c->block_count = before;
  c->block_size = pc - c->block;
}

static bool deliverable(Core *c) {
  int now = c->active_priority;
  if (c->best_pending >= now) return false;
  if (reg(c, REG_FAULTMASK) & 1) now = now < -1 ? now : -1;
  if (reg(c, REG_PRIMASK) & 1) now = now < 0 ? now : 0;
  int base = (int)(reg(c, REG_BASEPRI) & 0xFF) & c->group_mask;
  if (base && base < now) now = base;
  return c->best_pending < now;
}

static void on_block_slow(Core *c) {
  if (c->partial) return;
  long long before = c->executed - c->block_count;
  uint32_t special = c->slot ? c->slot->special : NO_SPECIAL;
  if (c->ignoring && special == 0 && c->block == c->ignored) {
    Region *r = find(c->regions, c->region_count, c->block);
    uint16_t first = halfword(r, c->block);
    special = is_special(c, first, halfword(r, c->block + 2)) ? 0 : 1;
  }
  c->ignoring = false;
  if (c->best_pending < NO_PRIORITY && deliverable(c)) {
    c->reason = REASON_UNMASKED;
  } else if (special < c->block_count || c->executed > c->stop_at) {
    long long room = c->stop_at - before;
    uint32_t cut = special < c->block_count ? special : c->block_count;
    if (room < (long long)cut) cut = room > 0 ? (uint32_t)room : 0;
    c->cut = cut;
    c->reason = cut ? REASON_CUT : room <= 0 ? REASON_BUDGET : REASON_SPECIAL;
  } else {
    return;
  }
  charge(c, -(long long)c->block_count);
  c->block_count = 0;
  c->stop(c->uc);
}

// The slot of the block at `address`, NULL where no memory can hold code.
static Slot *enter_block(Core *c, uint32_t address, uint32_t size) {
  Region *r = find(c->regions, c->region_count, address);
  c->block = address;
  c->block_size = size;
  if (!r) return NULL;
  Slot *s = &r->slots[(address - r->base) >> 1];
  if (s->size != size || s->generation != c->generation || !r->stable) {
    decode(c, r, s, address, size);
  }
  c->repeatable = r->stable && s->special == NO_SPECIAL;
  if (c->trace[(c->trace_next - 1) % TRACE_BLOCKS] != address) {
    c->trace[c->trace_next++ % TRACE_BLOCKS] = address;
  }
  return s;
}

static void on_block(void *uc, uint64_t address64, uint32_t size, void *user) {
  Core *c = user;
  (void)uc;
  Slot *s = c->slot;
  // A loop of one block, most of the time of most programs, is looked up once.
  if ((uint32_t)address64 != c->block || !s || s->size != size || !c->repeatable ||
      s->generation != c->generation) {
    s = c->slot = enter_block(c, (uint32_t)address64, size);
    if (!s) {  // the fetch fails next, nothing is executed
      c->block_count = 0;
      return;
    }
  }
  c->block_count = s->count;
  c->executed += s->count;
  s->executed += s->count;
  if (c->executed > c->stop_at || s->special != NO_SPECIAL || c->best_pending < NO_PRIORITY) {
    on_block_slow(c);
  }
}

static void on_exception(void *uc, uint32_t number, void *user) {
  Core *c = user;
  if (c->reason == REASON_NONE) {
    c->reason = REASON_EXCEPTION;
    c->exception = (int)number;
  }
  c->stop(uc);
}

static void copy_memory(Core *c, bool save) {
  uint8_t *at = c->shadow;
  for (int i = 0; i < c->region_count; i++) {
    Region *r = &c->regions[i];
    if (r->stable) continue;
    if (save) {
      memcpy(at, r->host, r->size);
    } else {
      memcpy(r->host, at, r->size);
    }
    at += r->size;
  }
}

// Unicorn finishes the block after a refused store; everything from the store on is undone later.
static bool abort_block(Core *c, int reason) {
  c->context_save(c->uc, c->context);
  copy_memory(c, true);
  c->aborting = true;
  c->reason = reason;
  c->stop(c->uc);
  return false;
}

static bool call_access(Core *c, int type, uint32_t address, int size, int64_t value) {
  bool write = type == MEM_WRITE_PROT || type == MEM_WRITE_UNMAPPED;
  unsigned long long mask = size < 8 ? (1ULL << 8 * size) - 1 : ~0ULL;
  PyObject *answer = PyObject_CallFunction(c->access, "iIiK", (int)write, (unsigned)address, size,
                                           (unsigned long long)value & mask);
  if (!answer) {
    c->failed = true;
    return false;
  }
  bool allowed = answer != Py_None;
  if (allowed && !write) {
    uint32_t word = (uint32_t)PyLong_AsUnsignedLongMask(answer);
    Region *w = find(c->windows, c->window_count, address);
    if (w && address - w->base + (uint32_t)size <= w->size) {
      memcpy(w->host + (address - w->base), &word, (size_t)(size < 4 ? size : 4));
    } else {
      allowed = false;
    }
  }
  Py_DECREF(answer);
  return allowed;
}

static bool on_memory(void *uc, int type, uint64_t address64, int size, int64_t value, void *user) {
  Core *c = user;
  (void)uc;
  if (c->aborting || c->failed) return false;
  uint32_t address = (uint32_t)address64;
  bool write = type == MEM_WRITE_PROT || type == MEM_WRITE_UNMAPPED;
  c->fault_type = type;
  c->fault_address = address;
  c->fault_size = size;
  if (type == MEM_FETCH_PROT || type == MEM_FETCH_UNMAPPED) {
    c->reason = REASON_MEMORY;
    return false;
  }
  uint32_t pc = reg(c, REG_PC);
  long long end = c->executed;
  c->here = end - (c->block_count - count_before(c, pc));
  if (c->access_here != c->here) {
    c->access_here = c->here;
    c->access_count = 0;
  }
  c->access_count += write;
  bool allowed = true;
  if (!(write && c->access_count <= c->skip)) {
    c->executed = c->here;  // what the machine reads as "now" during the access
    allowed = call_access(c, type, address, size, value);
    c->executed = end;
  }
  if (c->failed) {
    c->reason = REASON_ERROR;
    if (write) return abort_block(c, REASON_ERROR);
    return false;
  }
  if (!allowed) {
    c->reason = REASON_MEMORY;
    return write ? abort_block(c, REASON_MEMORY) : false;
  }
  if (write && !c->single &&
      (c->stop_after || c->stop_at < end || (c->best_pending < NO_PRIORITY && deliverable(c)))) {
    return abort_block(c, REASON_REPLAY);
  }
  // Unicorn restored the IT state for this callback; the running block does not expect it.
  if (reg(c, REG_XPSR) & XPSR_IT) set_reg(c, REG_EPSR, XPSR_THUMB);
  return true;
}

// One uc_emu_start() from the current pc. False when a Python callback failed.
static bool emulate(Core *c, uint64_t until) {
  uint32_t pc = reg(c, REG_PC), thumb = (reg(c, REG_XPSR) & XPSR_THUMB) != 0;
  c->reason = REASON_NONE;
  c->aborting = false;
  c->block_size = 0;
  c->block_count = 0;
  c->slot = NULL;
  int error = c->start(c->uc, pc | thumb, until, 0, 0);
  if (c->aborting) {
    c->context_restore(c->uc, c->context);
    copy_memory(c, false);
    c->aborting = false;
    settle(c, reg(c, REG_PC));
  } else if (c->reason == REASON_MEMORY && c->fault_type != MEM_FETCH_PROT &&
             c->fault_type != MEM_FETCH_UNMAPPED) {
    settle(c, reg(c, REG_PC));
  } else if (c->reason == REASON_EXCEPTION && c->exception != 2 && c->exception != 8) {
    settle(c, reg(c, REG_PC));
  } else if (c->reason == REASON_NONE && error) {
    c->reason = REASON_ERROR;
    c->error = error;
    settle(c, reg(c, REG_PC));
  }
  return !c->failed;
}

static bool emulate_cut(Core *c, uint32_t from, uint32_t until) {
  // The whole block may be in Unicorn's cache: it must be translated again, up to `until`.
  c->ctl(c->uc, CTL_REMOVE_CACHE, (uint64_t)from, (uint64_t)until);
  c->partial = true;
  bool ok = emulate(c, until);
  c->partial = false;
  return ok;
}

static bool replay(Core *c) {
  uint32_t pc = reg(c, REG_PC);
  Region *r = find(c->regions, c->region_count, pc);
  if (!r) return true;
  c->skip = c->access_count;
  c->access_here = -1;
  c->single = true;
  bool ok = emulate_cut(c, pc, pc + length(halfword(r, pc)));
  c->single = false;
  c->skip = 0;
  return ok;
}

static PyObject *core_run(Core *c, PyObject *unused) {
  (void)unused;
  c->failed = false;
  c->stop_after = 0;
  for (;;) {
    if (c->executed >= c->stop_at) return PyLong_FromLong(REASON_BUDGET);
    if (c->best_pending < NO_PRIORITY && deliverable(c)) return PyLong_FromLong(REASON_UNMASKED);
    bool ok = emulate(c, NEVER);
    if (ok && c->reason == REASON_CUT) ok = emulate_cut(c, c->block, address_of(c, c->cut));
    if (ok && c->reason == REASON_REPLAY) ok = replay(c);
    if (!ok) return NULL;
    if (c->stop_after && c->reason == REASON_NONE) return PyLong_FromLong(REASON_DEVICE);
    if (c->reason != REASON_NONE) return PyLong_FromLong(c->reason);
  }
}

static PyObject *core_step(Core *c, PyObject *unused) {
  (void)unused;
  uint32_t pc = reg(c, REG_PC);
  Region *r = find(c->regions, c->region_count, pc);
  if (r) c->block = pc;
  c->failed = false;
  if (!emulate_cut(c, pc, pc + (r ? length(halfword(r, pc)) : 2))) return NULL;
  return PyLong_FromLong(c->reason);
}

// Run uncounted code (a stub outside the firmware's memory) until it raises an exception.
static PyObject *core_call(Core *c, PyObject *address) {
  uint32_t pc = (uint32_t)PyLong_AsUnsignedLongMask(address);
  set_reg(c, REG_PC, pc | 1);
  c->failed = false;
  c->partial = true;
  bool ok = emulate(c, NEVER);
  c->partial = false;
  if (!ok) return NULL;
  return PyLong_FromLong(c->reason);
}

// Count one instruction that the machine carried out itself.
static PyObject *core_retire(Core *c, PyObject *address) {
  uint32_t pc = (uint32_t)PyLong_AsUnsignedLongMask(address);
  Region *r = find(c->regions, c->region_count, pc);
  c->executed++;
  if (r) {
    uint32_t slot = (pc - r->base) >> 1;
    r->slots[slot].executed++;
    r->covered[slot >> 3] |= (uint8_t)(1u << (slot & 7));
  }
  Py_RETURN_NONE;
}

static PyObject *core_read(Core *c, PyObject *id) {
  uint32_t value = 0;
  c->reg_read(c->uc, (int)PyLong_AsLong(id), &value);
  return PyLong_FromUnsignedLong(value);
}

static PyObject *core_write(Core *c, PyObject *args) {
  int id;
  unsigned int value;
  if (!PyArg_ParseTuple(args, "iI", &id, &value)) return NULL;
  c->reg_write(c->uc, id, &value);
  Py_RETURN_NONE;
}

static PyObject *core_read_many(Core *c, PyObject *ids) {
  PyObject *sequence = PySequence_Fast(ids, "read_many() takes register ids");
  if (!sequence) return NULL;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  PyObject *values = PyTuple_New(count);
  for (Py_ssize_t i = 0; values && i < count; i++) {
    uint32_t value = reg(c, (int)PyLong_AsLong(PySequence_Fast_GET_ITEM(sequence, i)));
    PyTuple_SET_ITEM(values, i, PyLong_FromUnsignedLong(value));
  }
  Py_DECREF(sequence);
  return values;
}

static PyObject *core_write_many(Core *c, PyObject *args) {
  PyObject *ids, *values;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &ids, &PyTuple_Type, &values)) return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(ids);
  if (count != PyTuple_GET_SIZE(values)) {
    PyErr_SetString(PyExc_ValueError, "write_many() takes as many values as ids");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    set_reg(c, (int)PyLong_AsLong(PyTuple_GET_ITEM(ids, i)),
            (uint32_t)PyLong_AsUnsignedLongMask(PyTuple_GET_ITEM(values, i)));
  }
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

static PyObject *core_deliverable(Core *c, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(c->best_pending < NO_PRIORITY && deliverable(c));
}

static PyObject *core_invalidate(Core *c, PyObject *unused) {
  (void)unused;
  c->generation++;
  if (c->generation == 0) c->generation = 1;
  Py_RETURN_NONE;
}

static PyObject *core_forget(Core *c, PyObject *args) {
  unsigned int begin, end;
  if (!PyArg_ParseTuple(args, "II", &begin, &end)) return NULL;
  c->ctl(c->uc, CTL_REMOVE_CACHE, (uint64_t)begin, (uint64_t)end);
  Py_RETURN_NONE;
}

static PyObject *core_set_breakpoints(Core *c, PyObject *addresses) {
  PyObject *sequence = PySequence_Fast(addresses, "set_breakpoints() takes addresses");
  if (!sequence) return NULL;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  uint32_t *table = malloc(sizeof(uint32_t) * (size_t)(count ? count : 1));
  if (!table) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++) {
    table[i] = (uint32_t)PyLong_AsUnsignedLongMask(PySequence_Fast_GET_ITEM(sequence, i));
  }
  Py_DECREF(sequence);
  free(c->breakpoints);
  c->breakpoints = table;
  c->breakpoint_count = count;
  return core_invalidate(c, NULL);
}

static PyObject *core_ignore_breakpoint(Core *c, PyObject *address) {
  c->ignored = (uint32_t)PyLong_AsUnsignedLongMask(address);
  c->ignoring = true;
  Py_RETURN_NONE;
}

static PyObject *core_recent_blocks(Core *c, PyObject *unused) {
  (void)unused;
  uint32_t count = c->trace_next < TRACE_BLOCKS ? c->trace_next : TRACE_BLOCKS;
  PyObject *list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    uint32_t address = c->trace[(c->trace_next - count + i) % TRACE_BLOCKS];
    PyList_SET_ITEM(list, i, PyLong_FromUnsignedLong(address));
  }
  return list;
}

static PyObject *core_profile(Core *c, PyObject *unused) {
  (void)unused;
  PyObject *result = PyDict_New();
  for (int i = 0; result && i < c->region_count; i++) {
    Region *r = &c->regions[i];
    for (uint32_t at = 0; at < r->size; at += 2) {
      if (!(r->covered[at >> 4])) {
        at = (at | 15) - 1;  // nothing started in these eight halfwords
        continue;
      }
      uint64_t executed = r->slots[at >> 1].executed;
      if (!executed) continue;
      PyObject *key = PyLong_FromUnsignedLong(r->base + at);
      PyObject *value = PyLong_FromUnsignedLongLong(executed);
      if (!key || !value || PyDict_SetItem(result, key, value)) {
        Py_CLEAR(result);
      }
      Py_XDECREF(key);
      Py_XDECREF(value);
      if (!result) break;
    }
  }
  return result;
}

static PyObject *core_coverage(Core *c, PyObject *index) {
  long i = PyLong_AsLong(index);
  if (i < 0 || i >= c->region_count) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such region");
    return NULL;
  }
  return PyBytes_FromStringAndSize((char *)c->regions[i].covered, c->regions[i].size / 16);
}

static PyObject *core_clear_profile(Core *c, PyObject *unused) {
  (void)unused;
  for (int i = 0; i < c->region_count; i++) {
    Region *r = &c->regions[i];
    for (uint32_t at = 0; at < r->size; at += 2) {
      if (!r->covered[at >> 4]) {
        at = (at | 15) - 1;
        continue;
      }
      memset(&r->slots[at >> 1], 0, sizeof(Slot));
    }
    memset(r->covered, 0, r->size / 16);
  }
  Py_RETURN_NONE;
}

static int add_regions(Region *table, int *count, PyObject *list, bool executable) {
  Py_ssize_t length = PyList_Size(list);
  if (length < 0 || length > MAX_REGIONS) {
    PyErr_SetString(PyExc_ValueError, "too many regions");
    return -1;
  }
  for (Py_ssize_t i = 0; i < length; i++) {
    unsigned int base, size;
    unsigned long long host;
    int stable = 0;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "IIK|p", &base, &size, &host, &stable)) {
      return -1;
    }
    Region *r = &table[(*count)++];
    r->base = base;
    r->size = size;
    r->host = (uint8_t *)(uintptr_t)host;
    r->stable = stable != 0;
    if (!executable) continue;
    r->slots = calloc(size / 2, sizeof(Slot));
    r->covered = calloc(size / 16 + 1, 1);
    if (!r->slots || !r->covered) {
      PyErr_NoMemory();
      return -1;
    }
  }
  return 0;
}

static int core_init(Core *c, PyObject *args, PyObject *keywords) {
  (void)keywords;
  unsigned long long uc, context, f[10];
  PyObject *access, *regions, *windows;
  if (!PyArg_ParseTuple(args, "KK(KKKKKKKKKK)OO!O!", &uc, &context, &f[0], &f[1], &f[2], &f[3],
                        &f[4], &f[5], &f[6], &f[7], &f[8], &f[9], &access, &PyList_Type, &regions,
                        &PyList_Type, &windows)) {
    return -1;
  }
  c->uc = (void *)(uintptr_t)uc;
  c->context = (void *)(uintptr_t)context;
  c->start = (StartFn)(uintptr_t)f[0];
  c->stop = (StopFn)(uintptr_t)f[1];
  c->reg_read = (RegFn)(uintptr_t)f[2];
  c->reg_write = (RegFn)(uintptr_t)f[3];
  c->batch_read = (BatchFn)(uintptr_t)f[4];
  c->batch_write = (BatchFn)(uintptr_t)f[5];
  HookFn hook_add = (HookFn)(uintptr_t)f[6];
  c->ctl = (CtlFn)(uintptr_t)f[7];
  c->context_save = (ContextFn)(uintptr_t)f[8];
  c->context_restore = (ContextFn)(uintptr_t)f[9];
  Py_INCREF(access);
  Py_XSETREF(c->access, access);
  if (add_regions(c->regions, &c->region_count, regions, true) ||
      add_regions(c->windows, &c->window_count, windows, false)) {
    return -1;
  }
  size_t writable = 0;
  for (int i = 0; i < c->region_count; i++) {
    if (!c->regions[i].stable) writable += c->regions[i].size;
  }
  c->shadow = malloc(writable ? writable : 1);
  if (!c->shadow) {
    PyErr_NoMemory();
    return -1;
  }
  c->best_pending = NO_PRIORITY;
  c->active_priority = NO_PRIORITY;
  c->group_mask = 0xFF;
  c->generation = 1;
  c->access_here = -1;
  size_t hook;
  if (hook_add(c->uc, &hook, HOOK_BLOCK, (void *)on_block, c, 1, 0) ||
      hook_add(c->uc, &hook, HOOK_INTR, (void *)on_exception, c, 1, 0) ||
      hook_add(c->uc, &hook, HOOK_MEM_INVALID, (void *)on_memory, c, 1, 0)) {
    PyErr_SetString(PyExc_RuntimeError, "Unicorn refused a hook");
    return -1;
  }
  return 0;
}

static int core_traverse(Core *c, visitproc visit, void *arg) {
  Py_VISIT(c->access);
  return 0;
}

static int core_clear(Core *c) {
  Py_CLEAR(c->access);
  return 0;
}

static void core_dealloc(Core *c) {
  PyObject_GC_UnTrack(c);
  core_clear(c);
  for (int i = 0; i < c->region_count; i++) {
    free(c->regions[i].slots);
    free(c->regions[i].covered);
  }
  free(c->shadow);
  free(c->breakpoints);
  Py_TYPE(c)->tp_free((PyObject *)c);
}

static PyMethodDef core_methods[] = {
    {"run", (PyCFunction)core_run, METH_NOARGS, "Run until stop_at or a reason to return."},
    {"step", (PyCFunction)core_step, METH_NOARGS, "Run the one instruction at pc."},
    {"call", (PyCFunction)core_call, METH_O, "Run uncounted code until it raises an exception."},
    {"retire", (PyCFunction)core_retire, METH_O, "Count one instruction at an address."},
    {"read", (PyCFunction)core_read, METH_O, "Value of a 32-bit register."},
    {"write", (PyCFunction)core_write, METH_VARARGS, "Set a 32-bit register."},
    {"read_many", (PyCFunction)core_read_many, METH_O, "Values of several registers."},
    {"write_many", (PyCFunction)core_write_many, METH_VARARGS, "Set several registers, in order."},
    {"deliverable", (PyCFunction)core_deliverable, METH_NOARGS, "Can best_pending be taken?"},
    {"invalidate", (PyCFunction)core_invalidate, METH_NOARGS, "Code changed: decode it again."},
    {"forget", (PyCFunction)core_forget, METH_VARARGS, "Drop translations in [begin, end)."},
    {"set_breakpoints", (PyCFunction)core_set_breakpoints, METH_O, "Stop before these addresses."},
    {"ignore_breakpoint", (PyCFunction)core_ignore_breakpoint, METH_O, "Once, at this address."},
    {"recent_blocks", (PyCFunction)core_recent_blocks, METH_NOARGS, "Last blocks, oldest first."},
    {"profile", (PyCFunction)core_profile, METH_NOARGS, "Instructions by block start."},
    {"coverage", (PyCFunction)core_coverage, METH_O, "Bit a halfword of a region: executed."},
    {"clear_profile", (PyCFunction)core_clear_profile, METH_NOARGS, "Forget profile, coverage."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef core_members[] = {
    {"executed", T_LONGLONG, offsetof(Core, executed), 0, "Instructions executed."},
    {"stop_at", T_LONGLONG, offsetof(Core, stop_at), 0, "Value of executed to stop at."},
    {"best_pending", T_INT, offsetof(Core, best_pending), 0, "Group priority pending, or 256."},
    {"active_priority", T_INT, offsetof(Core, active_priority), 0, "Group priority active."},
    {"group_mask", T_INT, offsetof(Core, group_mask), 0, "Group priority bits."},
    {"exception", T_INT, offsetof(Core, exception), READONLY, "Unicorn's exception number."},
    {"error", T_INT, offsetof(Core, error), READONLY, "Unicorn's error number."},
    {"fault_type", T_INT, offsetof(Core, fault_type), READONLY, "Unicorn's access type."},
    {"fault_size", T_INT, offsetof(Core, fault_size), READONLY, "Bytes of the refused access."},
    {"fault_address", T_UINT, offsetof(Core, fault_address), READONLY, "Its address."},
    {"stop_after", T_BOOL, offsetof(Core, stop_after), 0, "Stop after this instruction."},
    {"extras", T_INT, offsetof(Core, extras), 0, "EXTRA_LIMITS and EXTRA_EXCLUSIVE, if used."},
    {"fp_disabled", T_BOOL, offsetof(Core, fp_disabled), 0, "CPACR refuses FP instructions."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject CoreType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "harness.simulator._native.Core",
    .tp_basicsize = sizeof(Core),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Runs a Unicorn Cortex-M33 and counts instructions.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)core_init,
    .tp_dealloc = (destructor)core_dealloc,
    .tp_traverse = (traverseproc)core_traverse,
    .tp_clear = (inquiry)core_clear,
    .tp_methods = core_methods,
    .tp_members = core_members,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", NULL, -1, NULL, NULL, NULL, NULL, NULL};

// What Unicorn reads from a register window after on_memory() put the answer there.
static uint64_t mmio_read(void *uc, uint64_t offset, unsigned size, void *user) {
  uint64_t value = 0;
  (void)uc;
  memcpy(&value, (const char *)user + offset, size <= sizeof value ? size : sizeof value);
  return value;
}

// on_memory() has carried the write out.
static void mmio_write(void *uc, uint64_t offset, unsigned size, uint64_t value, void *user) {
  (void)uc, (void)offset, (void)size, (void)value, (void)user;
}

static int add_address(PyObject *m, const char *name, void (*function)(void)) {
  PyObject *address = PyLong_FromUnsignedLongLong((uintptr_t)function);
  int result = address ? PyModule_AddObjectRef(m, name, address) : -1;
  Py_XDECREF(address);
  return result;
}

PyMODINIT_FUNC PyInit__native(void) {
  if (PyType_Ready(&CoreType)) return NULL;
  PyObject *m = PyModule_Create(&module);
  if (m && (PyModule_AddObjectRef(m, "Core", (PyObject *)&CoreType) ||
            add_address(m, "MMIO_READ", (void (*)(void))mmio_read) ||
            add_address(m, "MMIO_WRITE", (void (*)(void))mmio_write))) {
    Py_CLEAR(m);
  }
  return m;
}
