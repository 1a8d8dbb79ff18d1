// The interrupt controller as a Python object: `harness.simulator._native.Nvic`.
#include <stddef.h>
#include <string.h>

#include "binding.h"

#define NVIC(object) (&((NvicObject *)(object))->nvic)

static int initialize(PyObject *self, PyObject *arguments, PyObject *keywords) {
  Nvic *n = NVIC(self);
  int irqs, priority_bits;
  if ((keywords && PyDict_Size(keywords)) || n->irqs) {
    PyErr_SetString(PyExc_TypeError, "Nvic takes its two arguments once, by position");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "ii", &irqs, &priority_bits)) return -1;
  if (irqs < 1 || irqs > MAX_IRQS || priority_bits < 1 || priority_bits > 8) {
    PyErr_Format(PyExc_ValueError, "at most %d interrupts and eight bits of priority", MAX_IRQS);
    return -1;
  }
  n->irqs = irqs;
  n->implemented = (uint8_t)(0xFFu << (8 - priority_bits));
  nvic_reset(n);
  return 0;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

bool nvic_is_one(PyObject *object) {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_init) == (void *)initialize;
}

// Arguments that are all numbers; false with an error set.
static bool numbers(PyObject *const *arguments, Py_ssize_t count, long long *values,
                    Py_ssize_t wanted) {
  if (count != wanted) {
    PyErr_Format(PyExc_TypeError, "takes %zd arguments", wanted);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) values[i] = PyLong_AsLongLong(arguments[i]);
  return !PyErr_Occurred();
}

static PyObject *reset(PyObject *self, PyObject *unused) {
  (void)unused;
  nvic_reset(NVIC(self));
  Py_RETURN_NONE;
}

#define CHANGE(name, function)                              \
  static PyObject *name(PyObject *self, PyObject *number) { \
    function(NVIC(self), (int)PyLong_AsLong(number));       \
    if (PyErr_Occurred()) return NULL;                      \
    Py_RETURN_NONE;                                         \
  }
CHANGE(pend, nvic_pend)
CHANGE(unpend, nvic_unpend)
CHANGE(deactivate, nvic_deactivate)

static PyObject *best(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(NVIC(self)->best);
}

static PyObject *priority(PyObject *self, PyObject *number) {
  return PyLong_FromLong(nvic_priority(NVIC(self), (int)PyLong_AsLong(number)));
}

static PyObject *group_priority(PyObject *self, PyObject *number) {
  return PyLong_FromLong(nvic_group_priority(NVIC(self), (int)PyLong_AsLong(number)));
}

#define QUESTION(name, set)                                                        \
  static PyObject *name(PyObject *self, PyObject *number) {                        \
    return PyBool_FromLong(nvic_has(NVIC(self), set, (int)PyLong_AsLong(number))); \
  }
QUESTION(is_pending, PENDING)
QUESTION(is_active, ACTIVE)
QUESTION(is_nonsecure, TARGETS_NONSECURE)

static PyObject *set_priority(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  nvic_set_priority(NVIC(self), (int)v[0], (uint8_t)v[1]);
  Py_RETURN_NONE;
}

static PyObject *set_active(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  nvic_put(NVIC(self), ACTIVE, (int)v[0], v[1] != 0);
  nvic_update(NVIC(self));
  Py_RETURN_NONE;
}

static PyObject *line(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  nvic_line(NVIC(self), (int)v[0], v[1] != 0);
  Py_RETURN_NONE;
}

static PyObject *group(PyObject *self, PyObject *nonsecure) {
  return PyLong_FromLong(NVIC(self)->state.groups[PyObject_IsTrue(nonsecure) == 1]);
}

static PyObject *set_group(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  nvic_set_group(NVIC(self), v[1] != 0, (unsigned)v[0]);
  Py_RETURN_NONE;
}

static PyObject *scr(PyObject *self, PyObject *nonsecure) {
  return PyLong_FromUnsignedLong(NVIC(self)->state.scr[PyObject_IsTrue(nonsecure) == 1]);
}

static PyObject *set_scr(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  NVIC(self)->state.scr[v[1] != 0] = (uint32_t)v[0];
  Py_RETURN_NONE;
}

static PyObject *active_beside(PyObject *self, PyObject *number) {
  return PyBool_FromLong(nvic_active_beside(NVIC(self), (int)PyLong_AsLong(number)));
}

// How often an exception was entered, and returned with its line still high.
static PyObject *counts(PyObject *self, PyObject *exception) {
  const NvicState *s = &NVIC(self)->state;
  long number = PyLong_AsLong(exception);
  if (number < 0 || number >= FIRST_IRQ + MAX_IRQS) {
    PyErr_SetString(PyExc_ValueError, "no such exception");
    return NULL;
  }
  return Py_BuildValue("(II)", s->entered[number], s->held[number]);
}

static PyObject *read_register(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  return PyLong_FromUnsignedLong(nvic_read(NVIC(self), (uint32_t)v[0], v[1] != 0));
}

static PyObject *write_register(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[3];
  if (!numbers(arguments, count, v, 3)) return NULL;
  nvic_write(NVIC(self), (uint32_t)v[0], (uint32_t)v[1], v[2] != 0);
  Py_RETURN_NONE;
}

static PyObject *read_control(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  return PyLong_FromUnsignedLong(nvic_read_control(NVIC(self), (int)v[0], v[1] != 0));
}

static PyObject *write_control(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  long long v[2];
  if (!numbers(arguments, count, v, 2)) return NULL;
  nvic_write_control(NVIC(self), (uint32_t)v[0], v[1] != 0);
  Py_RETURN_NONE;
}

static PyObject *state(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)&NVIC(self)->state, sizeof(NvicState));
}

static PyObject *restore(PyObject *self, PyObject *bytes) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
  if (size != sizeof(NvicState)) {
    PyErr_SetString(PyExc_ValueError, "not a state of this interrupt controller");
    return NULL;
  }
  memcpy(&NVIC(self)->state, data, sizeof(NvicState));
  nvic_update(NVIC(self));
  Py_RETURN_NONE;
}

static PyObject *get_faults_nonsecure(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(NVIC(self)->state.faults_nonsecure);
}

static int set_faults_nonsecure(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  nvic_set_faults_nonsecure(NVIC(self), PyObject_IsTrue(value) == 1);
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *get_squashed(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(NVIC(self)->state.squashed);
}

static int set_squashed(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  NVIC(self)->state.squashed = PyObject_IsTrue(value) == 1;
  nvic_update(NVIC(self));
  return PyErr_Occurred() ? -1 : 0;
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
static PyMethodDef methods[] = {
    {"reset", reset, METH_NOARGS, "Nothing enabled, pending or active; all secure."},
    {"best", best, METH_NOARGS, "The pending, enabled exception to be taken first, or 0."},
    {"priority", priority, METH_O, "The whole priority; lower is more urgent."},
    {"group_priority", group_priority, METH_O, "The part of the priority that preempts."},
    {"set_priority", FAST(set_priority), METH_FASTCALL, "Unimplemented bits are zero."},
    {"pend", pend, METH_O, "Make an exception pending."},
    {"unpend", unpend, METH_O, "Take a pending state back."},
    {"deactivate", deactivate, METH_O, "An exception returns."},
    {"set_active", FAST(set_active), METH_FASTCALL, "SHCSR makes an exception active, or not."},
    {"is_pending", is_pending, METH_O, "Is an exception pending?"},
    {"is_active", is_active, METH_O, "Is an exception active?"},
    {"is_nonsecure", is_nonsecure, METH_O, "Is an exception taken to the non-secure state?"},
    {"active_beside", active_beside, METH_O, "Is any other exception active?"},
    {"counts", counts, METH_O, "Entries, and returns with the line still high since it rose."},
    {"line", FAST(line), METH_FASTCALL, "A peripheral drives its interrupt line."},
    {"group", group, METH_O, "AIRCR.PRIGROUP of a security state."},
    {"set_group", FAST(set_group), METH_FASTCALL, "Set PRIGROUP of a security state."},
    {"scr", scr, METH_O, "SCR of a security state."},
    {"set_scr", FAST(set_scr), METH_FASTCALL, "Set SCR of a security state."},
    {"read", FAST(read_register), METH_FASTCALL, "NVIC_ISER to NVIC_IPR by offset in the SCS."},
    {"write", FAST(write_register), METH_FASTCALL, "Write such a register."},
    {"read_control", FAST(read_control), METH_FASTCALL, "ICSR; given IPSR and the state."},
    {"write_control", FAST(write_control), METH_FASTCALL, "Write ICSR."},
    {"state", state, METH_NOARGS, "The contents, as bytes."},
    {"restore", restore, METH_O, "Restore the bytes of state()."},
    {NULL, NULL, 0, NULL},
};

#define FIELD(name) offsetof(NvicObject, nvic.name)
static PyMemberDef members[] = {
    {"irqs", T_INT, FIELD(irqs), READONLY, "How many interrupts there are."},
    {"last", T_INT, FIELD(state.last), READONLY, "The last entry's exception; 0 after its return."},
    {"in_row", T_UINT, FIELD(state.in_row), READONLY, "Its entries, each from its own return."},
    {"event", T_BOOL, FIELD(state.event), 0, "The event register that WFE waits for."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"faults_nonsecure", get_faults_nonsecure, set_faults_nonsecure, "AIRCR.BFHFNMINS.", NULL},
    {"squashed", get_squashed, set_squashed, "AIRCR.PRIS.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Exceptions that are pending and active, and their priorities."},
    {Py_tp_init, initialize},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec nvic_spec = {
    "harness.simulator._native.Nvic", sizeof(NvicObject), 0, Py_TPFLAGS_DEFAULT, slots,
};
