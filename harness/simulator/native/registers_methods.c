// The registers of a device as a Python object: `harness.simulator._native.Registers`.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "events.h"
#include "rtc.h"
#include "uarte.h"

#define REGISTERS(object) (&((RegistersObject *)(object))->registers)

enum { RTC_BYTES = 0x550 };  // its registers end with CC[3]

static void clear_schedule(Registers *r) {
  for (int i = 0; i < RTC_EVENTS; i++) r->schedule.due[i] = INT64_MAX;
  for (int i = 0; i < RTC_CHANNELS; i++) r->schedule.skipped[i] = -1;
}

static int initialize(PyObject *self, PyObject *arguments, PyObject *keywords) {
  Registers *r = REGISTERS(self);
  unsigned int size;
  if ((keywords && PyDict_Size(keywords)) || r->words) {
    PyErr_SetString(PyExc_TypeError, "Registers takes its size once, by position");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "I", &size)) return -1;
  if (size < 4 || size & 3 || size > 0x10000) {
    PyErr_SetString(PyExc_ValueError, "registers are words, and no more than 64 KB of them");
    return -1;
  }
  r->words = calloc(size / 4, 4);
  r->rules = calloc(size / 4, 1);
  r->size = size;
  r->irq = -1;
  r->ticks = 1;
  clear_schedule(r);
  if (r->words && r->rules) return 0;
  PyErr_NoMemory();
  return -1;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  free(REGISTERS(self)->words);
  free(REGISTERS(self)->rules);
  free(REGISTERS(self)->transfer);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// The index of the word at an offset; -1 with an error set.
static Py_ssize_t index_of(PyObject *self, PyObject *offset) {
  Py_ssize_t at = PyLong_AsSsize_t(offset);
  if (at >= 0 && !(at & 3) && at < (Py_ssize_t)REGISTERS(self)->size) return at / 4;
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no register at this offset");
  return -1;
}

static PyObject *get(PyObject *self, PyObject *offset) {
  Py_ssize_t index = index_of(self, offset);
  return index < 0 ? NULL : PyLong_FromUnsignedLong(REGISTERS(self)->words[index]);
}

static int set(PyObject *self, PyObject *offset, PyObject *value) {
  Py_ssize_t index = index_of(self, offset);
  if (index < 0) return -1;
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "a register cannot be deleted");
    return -1;
  }
  uint32_t word = (uint32_t)PyLong_AsUnsignedLongMask(value);
  if (word == ~0u && PyErr_Occurred()) return -1;
  REGISTERS(self)->words[index] = word;
  return 0;
}

static PyObject *serve(PyObject *self, PyObject *arguments) {
  PyObject *offset;
  int rule;
  if (!PyArg_ParseTuple(arguments, "Oi", &offset, &rule)) return NULL;
  Py_ssize_t index = index_of(self, offset);
  if (index < 0) return NULL;
  REGISTERS(self)->rules[index] = (uint8_t)rule;
  Py_RETURN_NONE;
}

static PyObject *raise_event(PyObject *self, PyObject *offset) {
  Py_ssize_t index = index_of(self, offset);
  if (index < 0) return NULL;
  const Registers *r = REGISTERS(self);
  uint32_t event = (uint32_t)index * 4;
  if (event < FIRST_EVENT || event >= FIRST_EVENT + PUBLISH || r->size <= INTERRUPT_ENABLE) {
    PyErr_SetString(PyExc_IndexError, "no event at this offset");
    return NULL;
  }
  return PyBool_FromLong(registers_raise(REGISTERS(self), event));
}

// The registers of an RTC; NULL with an error set for others.
static Registers *rtc_of(PyObject *self) {
  Registers *r = REGISTERS(self);
  if (r->size >= RTC_BYTES && r->edges > 0 && r->ticks > 0) return r;
  PyErr_SetString(PyExc_ValueError, "no RTC");
  return NULL;
}

static PyObject *count(PyObject *self, PyObject *now) {
  long long tick = PyLong_AsLongLong(now);
  const Registers *r = rtc_of(self);
  if (!r || PyErr_Occurred()) return NULL;
  return PyLong_FromLongLong(registers_count(r, tick));
}

static PyObject *arrange(PyObject *self, PyObject *now) {
  long long tick = PyLong_AsLongLong(now);
  Registers *r = rtc_of(self);
  if (!r || PyErr_Occurred()) return NULL;
  rtc_arrange(r, ~0u, tick);
  Py_RETURN_NONE;
}

static PyObject *set_rtc(PyObject *self, PyObject *arguments) {
  Registers *r = rtc_of(self);
  PyObject *offset;
  unsigned long value;
  long long now;
  if (!r || !PyArg_ParseTuple(arguments, "OkL", &offset, &value, &now)) return NULL;
  Py_ssize_t index = index_of(self, offset);
  if (index < 0) return NULL;
  if (!rtc_schedules((uint32_t)index * 4)) {
    PyErr_SetString(PyExc_IndexError, "no register that moves events at this offset");
    return NULL;
  }
  rtc_set(r, (uint32_t)index * 4, (uint32_t)value, now);
  Py_RETURN_NONE;
}

static PyObject *skip(PyObject *self, PyObject *arguments) {
  Registers *r = rtc_of(self);
  unsigned int channel;
  long long counted;
  if (!r || !PyArg_ParseTuple(arguments, "IL", &channel, &counted)) return NULL;
  if (channel >= RTC_CHANNELS) {
    PyErr_SetString(PyExc_IndexError, "no such channel");
    return NULL;
  }
  r->schedule.skipped[channel] = counted;
  Py_RETURN_NONE;
}

static PyObject *take_due(PyObject *self, PyObject *now) {
  long long tick = PyLong_AsLongLong(now);
  Registers *r = rtc_of(self);
  if (!r || PyErr_Occurred()) return NULL;
  return PyLong_FromUnsignedLong(rtc_take(r, tick));
}

static PyObject *get_due(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(rtc_due(REGISTERS(self)));
}

static PyObject *get_schedule(PyObject *self, void *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((const char *)&REGISTERS(self)->schedule, sizeof(Schedule));
}

static int set_schedule(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  char *data;
  Py_ssize_t size;
  if (!value || PyBytes_AsStringAndSize(value, &data, &size)) return -1;
  if (size && size != sizeof(Schedule)) {
    PyErr_SetString(PyExc_ValueError, "not the schedule of an RTC");
    return -1;
  }
  if (size) memcpy(&REGISTERS(self)->schedule, data, sizeof(Schedule));
  if (!size) clear_schedule(REGISTERS(self));
  return 0;
}

static PyObject *save(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)REGISTERS(self)->words, REGISTERS(self)->size);
}

// The bytes that save() gave; NULL with an error set if they are not of this object.
static const char *saved(PyObject *self, PyObject *bytes) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
  if (size == (Py_ssize_t)REGISTERS(self)->size) return data;
  PyErr_SetString(PyExc_ValueError, "not the contents of these registers");
  return NULL;
}

static PyObject *load(PyObject *self, PyObject *bytes) {
  const char *data = saved(self, bytes);
  if (!data) return NULL;
  memcpy(REGISTERS(self)->words, data, REGISTERS(self)->size);
  Py_RETURN_NONE;
}

static PyObject *holds(PyObject *self, PyObject *bytes) {
  const char *data = saved(self, bytes);
  if (!data) return NULL;
  return PyBool_FromLong(!memcmp(REGISTERS(self)->words, data, REGISTERS(self)->size));
}

// The transfer of a UARTE; NULL with an error set for other registers.
static Transfer *transfer_of(PyObject *self) {
  Transfer *t = REGISTERS(self)->transfer;
  if (!t) PyErr_SetString(PyExc_ValueError, "these registers send nothing");
  return t;
}

static PyObject *set_sender(PyObject *self, PyObject *arguments) {
  Registers *r = REGISTERS(self);
  int heard;
  long long ticks;
  if (!PyArg_ParseTuple(arguments, "pL", &heard, &ticks)) return NULL;
  if (!r->transfer && !(r->transfer = calloc(1, sizeof *r->transfer))) return PyErr_NoMemory();
  r->transfer->heard = heard;
  r->transfer->ticks = ticks;
  Py_RETURN_NONE;
}

static PyObject *take_sent(PyObject *self, PyObject *unused) {
  (void)unused;
  Transfer *t = transfer_of(self);
  if (!t) return NULL;
  PyObject *bytes =
      PyBytes_FromStringAndSize((char *)t->bytes + t->taken, (Py_ssize_t)(t->sent - t->taken));
  t->taken = t->sent;
  t->waits = false;
  return bytes;
}

static PyObject *stop_sending(PyObject *self, PyObject *at_once) {
  Transfer *t = transfer_of(self);
  int now = PyObject_IsTrue(at_once);
  if (!t || now < 0) return NULL;
  if (t->active && now) t->size = t->sent;
  t->stopping |= t->active;
  t->active &= !now;
  Py_RETURN_NONE;
}

static PyObject *get_transfer(PyObject *self, void *unused) {
  (void)unused;
  const Transfer *t = REGISTERS(self)->transfer;
  if (!t || !(t->active || t->waits)) return PyBytes_FromStringAndSize(NULL, 0);
  return PyBytes_FromStringAndSize((const char *)t, sizeof *t);
}

static int set_transfer(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  Transfer *t = transfer_of(self);
  char *data;
  Py_ssize_t size;
  if (!t || !value || PyBytes_AsStringAndSize(value, &data, &size)) return -1;
  if (size && size != sizeof *t) {
    PyErr_SetString(PyExc_ValueError, "not the state of a transfer");
    return -1;
  }
  if (size) memcpy(t, data, sizeof *t);
  if (!size) t->active = t->waits = t->stopping = false;
  return 0;
}

#define TRANSFER_NUMBER(name, expression)                     \
  static PyObject *get_##name(PyObject *self, void *unused) { \
    (void)unused;                                             \
    const Transfer *t = transfer_of(self);                    \
    return t ? PyLong_FromLong((long)(expression)) : NULL;    \
  }
TRANSFER_NUMBER(sending, t->active)
TRANSFER_NUMBER(waits, t->waits)
TRANSFER_NUMBER(stopping, t->stopping)
TRANSFER_NUMBER(sent, t->sent)
TRANSFER_NUMBER(size, t->size)
TRANSFER_NUMBER(changed, t->changed)

static void note_sender(Core *c, Registers *r) {
  for (int i = 0; i < c->devices.senders; i++) {
    if (c->devices.sending[i] == r) return;
  }
  if (r->transfer && c->devices.senders < MAX_SENDERS) c->devices.sending[c->devices.senders++] = r;
}

static void note_rtc(Core *c, Registers *r) {
  for (int i = 0; i < c->devices.rtc_count; i++) {
    if (c->devices.rtcs[i] == r) return;
  }
  if (r->edges > 0 && c->devices.rtc_count < MAX_RTCS) c->devices.rtcs[c->devices.rtc_count++] = r;
}

PyObject *methods_send(PyObject *self, PyObject *registers) {
  if (PyType_GetSlot(Py_TYPE(registers), Py_tp_init) != (void *)initialize ||
      !REGISTERS(registers)->transfer) {
    PyErr_SetString(PyExc_TypeError, "send() takes the Registers of a UARTE");
    return NULL;
  }
  uarte_begin(CORE(self), REGISTERS(registers));
  Py_RETURN_NONE;
}

PyObject *methods_advance(PyObject *self, PyObject *unused) {
  (void)unused;
  events_advance(CORE(self));
  if (CORE(self)->machine.failed) return NULL;
  Py_RETURN_NONE;
}

PyObject *methods_serve(PyObject *self, PyObject *arguments) {
  CoreObject *object = (CoreObject *)self;
  Core *c = CORE(self);
  unsigned int base;
  PyObject *registers;
  if (!PyArg_ParseTuple(arguments, "IO", &base, &registers)) return NULL;
  if (PyType_GetSlot(Py_TYPE(registers), Py_tp_init) != (void *)initialize) {
    PyErr_SetString(PyExc_TypeError, "serve() takes a base address and Registers");
    return NULL;
  }
  Area *window = memory_window(&c->memory, base);
  Registers *r = &((RegistersObject *)registers)->registers;
  if (c->devices.count == MAX_SERVED || !window || r->size > window->size - (base - window->base)) {
    PyErr_SetString(PyExc_ValueError, "no room for registers there");
    return NULL;
  }
  if (PyList_Append(object->served, registers)) return NULL;
  note_sender(c, r);
  note_rtc(c, r);
  c->devices.served[c->devices.count++] =
      (Served){base, r, window->host + (base - window->base), {false, false}};
  Py_RETURN_NONE;
}

PyObject *methods_set_channels(PyObject *self, PyObject *registers) {
  if (PyType_GetSlot(Py_TYPE(registers), Py_tp_init) != (void *)initialize) {
    PyErr_SetString(PyExc_TypeError, "set_channels() takes Registers");
    return NULL;
  }
  if (PyList_Append(((CoreObject *)self)->served, registers)) return NULL;
  CORE(self)->devices.channels = REGISTERS(registers);
  Py_RETURN_NONE;
}

#define FIELD(name) offsetof(RegistersObject, registers.name)
static PyMemberDef members[] = {
    {"split", T_BOOL, FIELD(split), 0, "Non-secure code sees a part of them."},
    {"irq", T_INT, FIELD(irq), 0, "The interrupt line, -1 for none."},
    {"level", T_BOOL, FIELD(level), 0, "Its level, as the interrupt controller knows it."},
    {"running", T_BOOL, FIELD(running), 0, "Does the counter run?"},
    {"base", T_LONGLONG, FIELD(base), 0, "Its value at edge `since`."},
    {"since", T_LONGLONG, FIELD(since), 0, "See `base`."},
    {"edges", T_LONGLONG, FIELD(edges), 0, "Edges of its clock in `ticks`."},
    {"soonest", T_LONGLONG, FIELD(soonest), 0, "A CC less far ahead may miss its count."},
    {"ticks", T_LONGLONG, FIELD(ticks), 0, "See `edges`."},
    {"stops_itself", T_UINT, FIELD(stops_itself), 0, "Channels that only trigger its STOPTX."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"due", get_due, NULL, "The tick of an RTC's next event.", NULL},
    {"schedule", get_schedule, set_schedule, "Its events as bytes; none if none is to come.", NULL},
    {"transfer", get_transfer, set_transfer, "A transfer as bytes; none if nothing is sent.", NULL},
    {"sending", get_sending, NULL, "Is a byte leaving?", NULL},
    {"waits", get_waits, NULL, "Must the device take bytes, or raise events?", NULL},
    {"stopping", get_stopping, NULL, "Was the transfer stopped?", NULL},
    {"sent", get_sent, NULL, "Bytes that have left.", NULL},
    {"to_send", get_size, NULL, "Bytes of the transfer.", NULL},
    {"changed", get_changed, NULL, "The first byte that was overwritten; to_send for none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"serve", serve, METH_VARARGS, "Set what the core answers itself at an offset."},
    {"raise_event", raise_event, METH_O, "Set an event; must the device act on it?"},
    {"count", count, METH_O, "The counter of an RTC at a tick, as if it did not wrap."},
    {"arrange", arrange, METH_O, "Schedule all events of an RTC at a tick."},
    {"set_rtc", set_rtc, METH_VARARGS, "Write CC, EVTEN or INTEN of an RTC at a tick."},
    {"skip", skip, METH_VARARGS, "The count that a channel's CC missed, -1 for none."},
    {"take_due", take_due, METH_O, "The offset of an event that is due, 0 if none is."},
    {"set_sender", set_sender, METH_VARARGS, "Does the console listen? Ticks per byte, or 0."},
    {"take_sent", take_sent, METH_NOARGS, "Bytes that have left and were not taken yet."},
    {"stop_sending", stop_sending, METH_O, "After the byte that leaves; True: at once."},
    {"save", save, METH_NOARGS, "The contents, as bytes."},
    {"load", load, METH_O, "Restore the bytes of save()."},
    {"holds", holds, METH_O, "Are these the bytes of save()?"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Words by their offset, a multiple of four; all zero at first."},
    {Py_tp_init, initialize},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_mp_subscript, get},
    {Py_mp_ass_subscript, set},
    {0, NULL},
};

PyType_Spec registers_spec = {
    "harness.simulator._native.Registers", sizeof(RegistersObject), 0, Py_TPFLAGS_DEFAULT, slots,
};
