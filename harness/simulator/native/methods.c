// The methods of the counting core; _native.pyi declares them.
#include <stdlib.h>
#include <string.h>

#define PUT_BACK_PAGE 1024

#include "alignment.h"
#include "attribution.h"
#include "binding.h"
#include "exception.h"
#include "instructions.h"
#include "priority.h"
#include "protection.h"
#include "run.h"
#include "security.h"
#include "stack_watch.h"
#include "state.h"
#include "thumb.h"

// A reason to return as a Python number; NULL if a callback failed.
static PyObject *reason(Core *c, int value) {
  if (c->machine.failed || PyErr_Occurred()) return NULL;
  return PyLong_FromLong(value);
}

static PyObject *run(PyObject *self, PyObject *seconds) {
  double wall = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred()) return NULL;
  return reason(CORE(self), run_core(CORE(self), wall));
}

static PyObject *step(PyObject *self, PyObject *unused) {
  (void)unused;
  return reason(CORE(self), run_step(CORE(self)));
}

static PyObject *read_register(PyObject *self, PyObject *id) {
  return PyLong_FromUnsignedLong(core_reg(CORE(self), (int)PyLong_AsLong(id)));
}

static PyObject *write_register(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "write() takes a register id and a value");
    return NULL;
  }
  int id = (int)PyLong_AsLong(arguments[0]);
  core_set_reg(CORE(self), id, (uint32_t)PyLong_AsUnsignedLongMask(arguments[1]));
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

static PyObject *read_many(PyObject *self, PyObject *ids) {
  Py_ssize_t count = PySequence_Size(ids);
  PyObject *values = count < 0 ? NULL : PyTuple_New(count);
  for (Py_ssize_t i = 0; values && i < count; i++) {
    PyObject *id = PySequence_GetItem(ids, i);
    PyObject *value = id ? read_register(self, id) : NULL;
    Py_XDECREF(id);
    if (binding_fill(values, i, value)) Py_CLEAR(values);
  }
  return values;
}

typedef struct {
  PyObject *core, *ids, *steps;
} Recording;

static bool append_registers(Core *c, void *given) {
  (void)c;
  const Recording *to = given;
  PyObject *values = read_many(to->core, to->ids);
  const bool appended = values && PyList_Append(to->steps, values) == 0;
  Py_XDECREF(values);
  return appended;
}

static PyObject *record(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 3 || !PyList_Check(arguments[2])) {
    PyErr_SetString(PyExc_TypeError, "record() takes seconds, ids and a list");
    return NULL;
  }
  const double wall = PyFloat_AsDouble(arguments[0]);
  if (PyErr_Occurred()) return NULL;
  Recording to = {self, arguments[1], arguments[2]};
  return reason(CORE(self), run_stepwise(CORE(self), wall, append_registers, &to));
}

static PyObject *write_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2 || PySequence_Size(arguments[0]) != PySequence_Size(arguments[1])) {
    PyErr_SetString(PyExc_ValueError, "write_many() takes as many values as ids");
    return NULL;
  }
  Py_ssize_t size = PySequence_Size(arguments[0]);
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *id = PySequence_GetItem(arguments[0], i);
    PyObject *value = PySequence_GetItem(arguments[1], i);
    if (id && value) {
      core_set_reg(CORE(self), (int)PyLong_AsLong(id), (uint32_t)PyLong_AsUnsignedLongMask(value));
    }
    Py_XDECREF(id);
    Py_XDECREF(value);
    if (PyErr_Occurred()) return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject *priority(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(priority_now(CORE(self)));
}

// None, or NULL if a callback failed.
static PyObject *done(const Core *c) {
  if (c->machine.failed || PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

static PyObject *connect(PyObject *self, PyObject *arguments) {
  CoreObject *object = (CoreObject *)self;
  PyObject *access, *fault, *violation;
  if (!PyArg_ParseTuple(arguments, "OOO", &access, &fault, &violation)) return NULL;
  if (object->access) {
    PyErr_SetString(PyExc_RuntimeError, "the core is connected already");
    return NULL;
  }
  object->access = Py_NewRef(access);
  object->fault = Py_NewRef(fault);
  object->violation = Py_NewRef(violation);
  Py_RETURN_NONE;
}

static PyObject *change_state(PyObject *self, PyObject *unused) {
  (void)unused;
  security_change_state(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *update_masks(PyObject *self, PyObject *unused) {
  (void)unused;
  priority_update_masks(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *update_traps(PyObject *self, PyObject *unused) {
  (void)unused;
  alignment_update(CORE(self));
  CORE(self)->stop.after = true;  // the rest of the block, which is translated, is not checked
  Py_RETURN_NONE;
}

static PyObject *update_fp_access(PyObject *self, PyObject *unused) {
  (void)unused;
  security_update_fp_access(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *reset(PyObject *self, PyObject *unused) {
  (void)unused;
  security_reset(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *effect_of(PyObject *self, PyObject *number) {
  const long exception = PyLong_AsLong(number);
  if (PyErr_Occurred()) return NULL;
  return PyLong_FromLong(priority_effect(CORE(self), (int)exception));
}

static PyObject *wakes(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(priority_wakes(CORE(self)));
}

static PyObject *carry_out(PyObject *self, PyObject *address) {
  Core *c = CORE(self);
  c->machine.failed = false;
  instruction_carry_out(c, (uint32_t)PyLong_AsUnsignedLongMask(address));
  return done(c);
}

static PyObject *leave(PyObject *self, PyObject *exc_return) {
  Core *c = CORE(self);
  c->machine.failed = false;
  exception_leave(c, (uint32_t)PyLong_AsUnsignedLongMask(exc_return));
  return done(c);
}

static PyObject *is_secure(PyObject *self, PyObject *address) {
  uint32_t at = (uint32_t)PyLong_AsUnsignedLongMask(address);
  return PyBool_FromLong(attribution_is_secure(CORE(self), at));
}

static PyObject *is_callable(PyObject *self, PyObject *address) {
  uint32_t at = (uint32_t)PyLong_AsUnsignedLongMask(address);
  return PyBool_FromLong(attribution_is_callable(CORE(self), at));
}

static PyObject *forbids(PyObject *self, PyObject *arguments) {
  Core *c = CORE(self);
  int write, size;
  unsigned int address;
  if (!PyArg_ParseTuple(arguments, "pIi", &write, &address, &size)) return NULL;
  bool forbidden = c->attribution.restricted && attribution_forbids(c, address, size, write);
  return PyErr_Occurred() ? NULL : PyBool_FromLong(forbidden);
}

// The gateways of a sequence of (begin, end); -1 with an error set.
static int take_gateways(PyObject *sequence, Gateway *gateways) {
  Py_ssize_t count = PySequence_Size(sequence);
  if (count > MAX_GATEWAYS) {
    PyErr_SetString(PyExc_ValueError, "too many gateways");
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *row = PySequence_GetItem(sequence, i);
    bool parsed = row && PyArg_ParseTuple(row, "II", &gateways[i].begin, &gateways[i].end);
    Py_XDECREF(row);
    if (!parsed) return -1;
  }
  return (int)count;
}

// SAU_CTRL, and the SPU's registers: PERM of each region of flash and RAM, the gateways.
static PyObject *attribute(PyObject *self, PyObject *arguments) {
  unsigned int sau_ctrl;
  const char *regions;
  Py_ssize_t size;
  PyObject *rows;
  Gateway gateways[MAX_GATEWAYS];
  if (!PyArg_ParseTuple(arguments, "Iy#O", &sau_ctrl, &regions, &size, &rows)) return NULL;
  Py_ssize_t regions_of_all = 0;
  for (int i = 0; i < CORE(self)->memory.code_count; i++)
    regions_of_all += CORE(self)->memory.code[i].regions;
  if (size != regions_of_all) {
    PyErr_SetString(PyExc_ValueError, "the permissions of all regions of flash and RAM");
    return NULL;
  }
  int count = take_gateways(rows, gateways);
  if (count < 0) return NULL;
  attribution_set(CORE(self), sau_ctrl, (const uint8_t *)regions, gateways, count);
  Py_RETURN_NONE;
}

// Take the bytes sent since the last call, as three arrays: times in seconds, the offset at which
// each transfer ends (`begin` bytes were sent before), and the bytes.
static PyObject *collect(PyObject *self, PyObject *arguments) {
  Outbox *out = &CORE(self)->devices.outbox;
  double hertz;
  unsigned long long end;
  if (!PyArg_ParseTuple(arguments, "dK", &hertz, &end)) return NULL;
  double times[OUTBOX_CHUNKS];
  uint64_t ends[OUTBOX_CHUNKS];
  for (unsigned i = 0; i < out->count; i++) {
    times[i] = (double)out->chunks[i].tick / hertz;
    ends[i] = end += out->chunks[i].size;
  }
  PyObject *packed = Py_BuildValue(
      "y#y#y#", (char *)times, (Py_ssize_t)(out->count * sizeof *times), (char *)ends,
      (Py_ssize_t)(out->count * sizeof *ends), (char *)out->bytes, (Py_ssize_t)out->used);
  if (packed) out->count = out->used = 0;
  return packed;
}

static PyObject *listen(PyObject *self, PyObject *arguments) {
  CoreObject *object = (CoreObject *)self;
  PyObject *listener, *before = object->listener;
  int lines;
  if (!PyArg_ParseTuple(arguments, "Op", &listener, &lines)) return NULL;
  Py_INCREF(listener);
  object->listener = listener;
  CORE(self)->machine.sent = listener == Py_None ? NULL : binding_sent;
  CORE(self)->machine.sends_lines = lines;
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

static PyObject *invalidate(PyObject *self, PyObject *unused) {
  (void)unused;
  core_invalidate(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *forget(PyObject *self, PyObject *arguments) {
  unsigned int begin, end;
  Core *c = CORE(self);
  if (!PyArg_ParseTuple(arguments, "II", &begin, &end)) return NULL;
  c->unicorn.api.ctl(c->unicorn.handle, CTL_REMOVE_CACHE, (uint64_t)begin, (uint64_t)end);
  Py_RETURN_NONE;
}

// The numbers of a sequence, as an array that the caller frees; NULL with an error set.
static uint32_t *numbers(PyObject *sequence, Py_ssize_t *count) {
  *count = PySequence_Size(sequence);
  if (*count < 0) return NULL;
  uint32_t *table = calloc((size_t)*count + 1, sizeof *table);
  if (!table) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < *count; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    table[i] = item ? (uint32_t)PyLong_AsUnsignedLongMask(item) : 0;
    Py_XDECREF(item);
  }
  if (!PyErr_Occurred()) return table;
  free(table);
  return NULL;
}

static PyObject *set_breakpoints(PyObject *self, PyObject *addresses) {
  Core *c = CORE(self);
  Py_ssize_t count;
  uint32_t *table = numbers(addresses, &count);
  if (!table) return NULL;
  free(c->breakpoints.addresses);
  c->breakpoints.addresses = table;
  c->breakpoints.count = (size_t)count;
  core_invalidate(c);
  Py_RETURN_NONE;
}

static PyObject *ignore_breakpoint(PyObject *self, PyObject *address) {
  bool none = address == Py_None;
  if (!none) CORE(self)->breakpoints.ignored = (uint32_t)PyLong_AsUnsignedLongMask(address);
  CORE(self)->breakpoints.ignoring = !none;
  Py_RETURN_NONE;
}

static PyObject *synchronize(PyObject *self, PyObject *unused) {
  (void)unused;
  protection_synchronize(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *set_limits(PyObject *self, PyObject *arguments) {
  unsigned int psplim, msplim;
  if (!PyArg_ParseTuple(arguments, "II", &psplim, &msplim)) return NULL;
  state_set_limits(CORE(self), psplim, msplim);
  CORE(self)->cpu.extras |= EXTRA_LIMITS;
  Py_RETURN_NONE;
}

static PyObject *limits(PyObject *self, PyObject *unused) {
  (void)unused;
  uint32_t psplim, msplim;
  state_limits(CORE(self), &psplim, &msplim);
  if (stack_watch_active(CORE(self))) psplim = msplim = 0;
  return Py_BuildValue("II", (unsigned)psplim, (unsigned)msplim);
}

static PyObject *watch_stacks(PyObject *self, PyObject *arguments) {
  const char *ranges;
  Py_ssize_t size;
  if (!PyArg_ParseTuple(arguments, "y#", &ranges, &size)) return NULL;
  const int count = (int)(size / (Py_ssize_t)sizeof(StackRange));
  if (!stack_watch_start(CORE(self), (const StackRange *)ranges, count)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *overflow(PyObject *self, PyObject *unused) {
  (void)unused;
  const StackWatch *watch = &CORE(self)->stack;
  return Py_BuildValue("IIIIL", (unsigned)watch->over.begin, (unsigned)watch->over.top,
                       (unsigned)watch->lowest, (unsigned)watch->pc, watch->at);
}

static PyObject *clear_overflow(PyObject *self, PyObject *unused) {
  (void)unused;
  CORE(self)->stack.lowest = 0;
  Py_RETURN_NONE;
}

static PyObject *exchange_banks(PyObject *self, PyObject *unused) {
  (void)unused;
  state_exchange_banks(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *save_state(PyObject *self, PyObject *unused) {
  (void)unused;
  Core *c = CORE(self);
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)state_size(c));
  if (bytes) state_save(c, (uint8_t *)PyBytes_AsString(bytes));
  return bytes;
}

static PyObject *load_state(PyObject *self, PyObject *bytes) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
  if ((size_t)size != state_size(CORE(self))) {
    PyErr_SetString(PyExc_ValueError, "not a state of this processor");
    return NULL;
  }
  state_load(CORE(self), (const uint8_t *)data);
  stack_watch_restart(CORE(self));
  Py_RETURN_NONE;
}

// Only pages that differ are written: most of restored memory has not changed.
static PyObject *put_back(PyObject *self, PyObject *arguments) {
  unsigned long long host;
  const char *data;
  Py_ssize_t size;
  bool changed = false;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "Ky#", &host, &data, &size)) return NULL;
  char *memory = (char *)(uintptr_t)host;
  for (Py_ssize_t at = 0; at < size; at += PUT_BACK_PAGE) {
    size_t part = (size_t)(size - at < PUT_BACK_PAGE ? size - at : PUT_BACK_PAGE);
    if (memcmp(memory + at, data + at, part) == 0) continue;
    memcpy(memory + at, data + at, part);
    changed = true;
  }
  return PyBool_FromLong(changed);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
PyMethodDef core_methods[] = {
    {"run", run, METH_O, "Run until stop_at, a reason to return, or a wall time in seconds."},
    {"record", FAST(record), METH_FASTCALL,
     "Run as run() does, and append the registers before each instruction to a list."},
    {"step", step, METH_NOARGS, "Run the one instruction at pc."},
    {"read", read_register, METH_O, "Value of a 32-bit register."},
    {"write", FAST(write_register), METH_FASTCALL, "Set a 32-bit register."},
    {"read_many", read_many, METH_O, "Values of several registers."},
    {"write_many", FAST(write_many), METH_FASTCALL, "Set several registers, in order."},
    {"priority", priority, METH_NOARGS, "What an exception must be below to be taken."},
    {"connect", connect, METH_VARARGS, "The callbacks: access, fault, violation of the SPU."},
    {"reset", reset, METH_NOARGS, "Secure and awake, everything is open."},
    {"effect_of", effect_of, METH_O, "What an exception would do if it became pending now."},
    {"wakes", wakes, METH_NOARGS, "Does an exception or event end the sleep?"},
    {"leave", leave, METH_O, "Branch to an EXC_RETURN."},
    {"carry_out", carry_out, METH_O, "The instruction at an address, if Unicorn cannot run it."},
    {"change_state", change_state, METH_NOARGS, "Go on in the other security state."},
    {"update_masks", update_masks, METH_NOARGS, "AIRCR or masks changed."},
    {"update_traps", update_traps, METH_NOARGS, "CCR changed."},
    {"update_fp_access", update_fp_access, METH_NOARGS, "CPACR, NSACR, FPCCR or FPDSCR changed."},
    {"attribute", attribute, METH_VARARGS, "SPU or SAU changed."},
    {"is_secure", is_secure, METH_O, "Does an address belong to the secure state?"},
    {"is_callable", is_callable, METH_O, "May non-secure code call a gateway at an address?"},
    {"forbids", forbids, METH_VARARGS, "Is an access refused by SAU, IDAU or SPU?"},
    {"set_limits", set_limits, METH_VARARGS, "Set PSPLIM and MSPLIM."},
    {"limits", limits, METH_NOARGS, "PSPLIM and MSPLIM of the running state."},
    {"watch_stacks", watch_stacks, METH_VARARGS, "Watch stacks: begin and top of each, sorted."},
    {"clear_overflow", clear_overflow, METH_NOARGS, "Forget the stack that ran below its end."},
    {"overflow", overflow, METH_NOARGS,
     "Begin, top, lowest, pc and time of the first stack that ran below its end; lowest 0: none."},
    {"exchange_banks", exchange_banks, METH_NOARGS,
     "The registers of the two states change places, the state stays."},
    {"invalidate", invalidate, METH_NOARGS, "Code changed: decode it again."},
    {"forget", forget, METH_VARARGS, "Drop translations in [begin, end)."},
    {"set_breakpoints", set_breakpoints, METH_O, "Stop before these addresses."},
    {"ignore_breakpoint", ignore_breakpoint, METH_O, "Once, at this address; None: at none."},
    {"synchronize", synchronize, METH_NOARGS, "Put the running state's MPU in force."},
    {"save_state", save_state, METH_NOARGS, "The processor's state as bytes."},
    {"load_state", load_state, METH_O, "Restore the bytes of save_state()."},
    {"put_back", put_back, METH_VARARGS, "Make host memory hold bytes again; did that change it?"},
    {"recent_blocks", methods_recent_blocks, METH_NOARGS, "Last blocks, oldest first."},
    {"profile", methods_profile, METH_NOARGS, "Instructions by block start."},
    {"has_run", methods_has_run, METH_O, "Did any code of an area run?"},
    {"coverage", methods_coverage, METH_O, "One bit per halfword of an area: was it executed?"},
    {"serve", methods_serve, METH_VARARGS, "Answer plain accesses to registers at an address."},
    {"set_channels", methods_set_channels, METH_O, "The DPPIC's registers."},
    {"send", methods_send, METH_O, "Begin a transfer of a UARTE."},
    {"advance", methods_advance, METH_NOARGS, "Let happen what is due by now."},
    {"collect", collect, METH_VARARGS, "What was sent; given ticks per second and bytes before."},
    {"listen", listen, METH_VARARGS,
     "Callback for bytes that are sent, or None; only at line ends?"},
    {"profile_calls", methods_profile_calls, METH_VARARGS, "Count instructions by call stack."},
    {"rename_calls", methods_rename_calls, METH_VARARGS, "Another number for a function's calls."},
    {"call_tree", methods_call_tree, METH_NOARGS, "Parent, function, instructions of each node."},
    {"clear_profile", methods_clear_profile, METH_NOARGS, "Forget profile, coverage."},
    {NULL, NULL, 0, NULL},
};
