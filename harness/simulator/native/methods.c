// The methods of the counting core; _native.pyi declares them.
#include <stdlib.h>
#include <string.h>

#define PUT_BACK_PAGE 1024

#include "binding.h"

// A reason to return as a Python number; NULL if a callback failed.
static PyObject *reason(Core *c, int value) {
  if (c->failed || PyErr_Occurred()) return NULL;
  return PyLong_FromLong(value);
}

static PyObject *run(PyObject *self, PyObject *seconds) {
  double wall = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred()) return NULL;
  return reason(CORE(self), core_run(CORE(self), wall));
}

static PyObject *step(PyObject *self, PyObject *unused) {
  (void)unused;
  return reason(CORE(self), core_step(CORE(self)));
}

static PyObject *retire(PyObject *self, PyObject *address) {
  core_retire(CORE(self), (uint32_t)PyLong_AsUnsignedLongMask(address));
  Py_RETURN_NONE;
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

static PyObject *deliverable(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(core_deliverable(CORE(self)));
}

static PyObject *priority(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(core_priority(CORE(self)));
}

static PyObject *change_world(PyObject *self, PyObject *unused) {
  (void)unused;
  core_change_world(CORE(self));
  Py_RETURN_NONE;
}

// Set what each security state may do in each granule of an area; None: everything.
static PyObject *set_rights(PyObject *self, PyObject *arguments) {
  int index;
  const char *data;
  Py_ssize_t size;
  Core *c = CORE(self);
  if (!PyArg_ParseTuple(arguments, "iz#", &index, &data, &size)) return NULL;
  if (index < 0 || index >= c->code_count) {
    PyErr_SetString(PyExc_IndexError, "no such area");
    return NULL;
  }
  Area *area = &c->code[index];
  if (data && size != (Py_ssize_t)(area->size >> GRANULE_SHIFT)) {
    PyErr_SetString(PyExc_ValueError, "one byte per granule");
    return NULL;
  }
  free(area->rights);
  area->rights = NULL;
  if (data) {
    area->rights = malloc((size_t)size);
    if (!area->rights) return PyErr_NoMemory();
    memcpy(area->rights, data, (size_t)size);
  }
  core_invalidate(c);
  Py_RETURN_NONE;
}

// Take what was sent since the last call, as three arrays: times in seconds, the offset at which
// each transfer ends (`begin` bytes were sent before), and the bytes.
static PyObject *collect(PyObject *self, PyObject *arguments) {
  Outbox *out = &CORE(self)->outbox;
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
  CORE(self)->heard = listener == Py_None ? NULL : binding_heard;
  CORE(self)->hears_lines = lines;
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

static PyObject *watch_ram(PyObject *self, PyObject *unused) {
  (void)unused;
  if (core_watch_ram(CORE(self))) Py_RETURN_NONE;
  PyErr_SetString(PyExc_RuntimeError, "Unicorn refused a hook");
  return NULL;
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
  c->api.ctl(c->uc, CTL_REMOVE_CACHE, (uint64_t)begin, (uint64_t)end);
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
  free(c->breakpoints);
  c->breakpoints = table;
  c->breakpoint_count = (size_t)count;
  core_invalidate(c);
  Py_RETURN_NONE;
}

static PyObject *is_special(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "is_special() takes two halfwords");
    return NULL;
  }
  uint16_t first = (uint16_t)PyLong_AsUnsignedLongMask(arguments[0]);
  uint16_t second = (uint16_t)PyLong_AsUnsignedLongMask(arguments[1]);
  return PyBool_FromLong(thumb_is_special(first, second, core_context(CORE(self))));
}

static PyObject *ignore_breakpoint(PyObject *self, PyObject *address) {
  CORE(self)->ignored = (uint32_t)PyLong_AsUnsignedLongMask(address);
  CORE(self)->ignoring = true;
  Py_RETURN_NONE;
}

static PyObject *synchronize(PyObject *self, PyObject *unused) {
  (void)unused;
  core_synchronize(CORE(self));
  Py_RETURN_NONE;
}

static PyObject *enter(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 4) {
    PyErr_SetString(PyExc_TypeError, "enter() takes number, pc, vector's address, EXC_RETURN");
    return NULL;
  }
  int number = (int)PyLong_AsLong(arguments[0]);
  uint32_t pc = (uint32_t)PyLong_AsUnsignedLongMask(arguments[1]);
  uint32_t vector = (uint32_t)PyLong_AsUnsignedLongMask(arguments[2]);
  uint32_t exc_return = (uint32_t)PyLong_AsUnsignedLongMask(arguments[3]);
  if (PyErr_Occurred()) return NULL;
  return PyBool_FromLong(frame_enter(CORE(self), number, pc, vector, exc_return));
}

static PyObject *leave(PyObject *self, PyObject *exc_return) {
  return PyBool_FromLong(frame_leave(CORE(self), (uint32_t)PyLong_AsUnsignedLongMask(exc_return)));
}

static PyObject *limits(PyObject *self, PyObject *unused) {
  uint32_t psplim, msplim;
  (void)unused;
  state_limits(CORE(self), &psplim, &msplim);
  return Py_BuildValue("II", psplim, msplim);
}

static PyObject *set_limits(PyObject *self, PyObject *arguments) {
  unsigned int psplim, msplim;
  if (!PyArg_ParseTuple(arguments, "II", &psplim, &msplim)) return NULL;
  state_set_limits(CORE(self), psplim, msplim);
  Py_RETURN_NONE;
}

static PyObject *other(PyObject *self, PyObject *unused) {
  uint32_t values[4];
  (void)unused;
  state_other(CORE(self), values);
  return Py_BuildValue("IIII", values[0], values[1], values[2], values[3]);
}

static PyObject *clear_monitor(PyObject *self, PyObject *unused) {
  (void)unused;
  state_clear_monitor(CORE(self));
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
    {"step", step, METH_NOARGS, "Run the one instruction at pc."},
    {"retire", retire, METH_O, "Count one instruction at an address."},
    {"read", read_register, METH_O, "Value of a 32-bit register."},
    {"write", FAST(write_register), METH_FASTCALL, "Set a 32-bit register."},
    {"read_many", read_many, METH_O, "Values of several registers."},
    {"write_many", FAST(write_many), METH_FASTCALL, "Set several registers, in order."},
    {"deliverable", deliverable, METH_NOARGS, "Can best_pending be taken?"},
    {"priority", priority, METH_NOARGS, "What an exception must be below to be taken."},
    {"change_world", change_world, METH_NOARGS, "Exchange the registers of the security states."},
    {"set_rights", set_rights, METH_VARARGS, "What the security states may do in each granule."},
    {"watch_ram", watch_ram, METH_NOARGS, "Accesses to RAM may be refused from now on."},
    {"other", other, METH_NOARGS, "PRIMASK, FAULTMASK, BASEPRI, CONTROL of the other state."},
    {"set_limits", set_limits, METH_VARARGS, "Set PSPLIM and MSPLIM."},
    {"invalidate", invalidate, METH_NOARGS, "Code changed: decode it again."},
    {"forget", forget, METH_VARARGS, "Drop translations in [begin, end)."},
    {"set_breakpoints", set_breakpoints, METH_O, "Stop before these addresses."},
    {"ignore_breakpoint", ignore_breakpoint, METH_O, "Once, at this address."},
    {"is_special", FAST(is_special), METH_FASTCALL, "Does the machine carry this one out?"},
    {"synchronize", synchronize, METH_NOARGS, "Put the running state's MPU in force."},
    {"enter", FAST(enter), METH_FASTCALL, "Take an exception; False if Python must do so."},
    {"leave", leave, METH_O, "Return from one; False if Python must do so."},
    {"limits", limits, METH_NOARGS, "PSPLIM and MSPLIM."},
    {"clear_monitor", clear_monitor, METH_NOARGS, "Clear the exclusive monitor."},
    {"save_state", save_state, METH_NOARGS, "The processor's state as bytes."},
    {"load_state", load_state, METH_O, "Take back what save_state() gave."},
    {"put_back", put_back, METH_VARARGS, "Make host memory hold bytes again; did that change it?"},
    {"recent_blocks", methods_recent_blocks, METH_NOARGS, "Last blocks, oldest first."},
    {"profile", methods_profile, METH_NOARGS, "Instructions by block start."},
    {"has_run", methods_has_run, METH_O, "Did any code of an area run?"},
    {"coverage", methods_coverage, METH_O, "One bit per halfword of an area: was it executed?"},
    {"serve", methods_serve, METH_VARARGS, "Answer plain accesses to registers at an address."},
    {"set_channels", methods_set_channels, METH_O, "The DPPIC's registers."},
    {"collect", collect, METH_VARARGS, "What was sent; given ticks per second and bytes before."},
    {"listen", listen, METH_VARARGS, "Who hears what is sent at once, or None; only line ends?"},
    {"clear_profile", methods_clear_profile, METH_NOARGS, "Forget profile, coverage."},
    {NULL, NULL, 0, NULL},
};
