// The Python type around the counting core, and its module.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "emulate.h"
#include "protection.h"
#include "stack_watch.h"
#include "state.h"

#ifndef CORE_SOURCES
#error "harness/base/sources.py makes the number of the sources that this is built from"
#endif

// Steals the reference to `value`.
int binding_fill(PyObject *tuple, Py_ssize_t at, PyObject *value) {
  return value ? PyTuple_SetItem(tuple, at, value) : -1;
}

// Call a part of the machine; NULL with an error set, also if nothing is connected. Steals the
// reference to `arguments`, which is NULL if it could not be made.
static PyObject *call(PyObject *part, PyObject *arguments) {
  if (!part) PyErr_SetString(PyExc_RuntimeError, "the core is not connected");
  PyObject *result = part && arguments ? PyObject_CallObject(part, arguments) : NULL;
  Py_XDECREF(arguments);
  return result;
}

static bool call_access(Core *c, bool write, uint32_t address, int size, uint64_t value,
                        uint32_t *answer) {
  CoreObject *self = c->machine.owner;
  PyObject *where = PyLong_FromUnsignedLong(address), *width = PyLong_FromLong(size);
  PyObject *written = PyLong_FromUnsignedLongLong(value), *result = NULL;
  if (where && width && written && self->access) {
    result = PyObject_CallFunctionObjArgs(self->access, write ? Py_True : Py_False, where, width,
                                          written, NULL);
  }
  Py_XDECREF(where);
  Py_XDECREF(width);
  Py_XDECREF(written);
  if (!self->access) PyErr_SetString(PyExc_RuntimeError, "the core is not connected");
  if (!result) {
    c->machine.failed = true;
    return false;
  }
  bool allowed = result != Py_None;
  if (allowed && !write) *answer = (uint32_t)PyLong_AsUnsignedLongMask(result);
  Py_DECREF(result);
  return allowed;
}

static void call_fault(Core *c, const Fault *fault) {
  CoreObject *self = c->machine.owner;
  PyObject *address = fault->address ? PyLong_FromUnsignedLong(*fault->address) : Py_None;
  PyObject *result = NULL;
  if (address) {
    result =
        call(self->fault, Py_BuildValue("iiIIOO", fault->cause, fault->taken, fault->status,
                                        fault->pc, address, fault->stacking ? Py_True : Py_False));
  }
  if (fault->address) Py_XDECREF(address);
  c->machine.failed |= !result;
  Py_XDECREF(result);
}

static void call_violation(Core *c, int area) {
  PyObject *result = call(((CoreObject *)c->machine.owner)->violation, Py_BuildValue("(i)", area));
  c->machine.failed |= !result;
  Py_XDECREF(result);
}

void binding_sent(Core *c, const uint8_t *bytes, uint32_t size) {
  CoreObject *self = c->machine.owner;
  PyObject *data = PyBytes_FromStringAndSize((const char *)bytes, size);
  PyObject *result = data ? PyObject_CallFunctionObjArgs(self->listener, data, NULL) : NULL;
  c->machine.failed |= !result;
  Py_XDECREF(data);
  Py_XDECREF(result);
}

// Areas from a list of (base, size, host, stable, page rights, regions of the SPU); -1 with an
// error set.
static int add_areas(Area *table, int *count, PyObject *list, bool executable) {
  Py_ssize_t length = PySequence_Size(list);
  if (length < 0 || length > MAX_AREAS) {
    PyErr_SetString(PyExc_ValueError, "too many areas");
    return -1;
  }
  for (Py_ssize_t i = 0; i < length; i++) {
    unsigned int base, size, rights;
    unsigned long long host;
    int stable, regions;
    PyObject *row = PySequence_GetItem(list, i);
    bool parsed =
        row && PyArg_ParseTuple(row, "IIKpIi", &base, &size, &host, &stable, &rights, &regions);
    Py_XDECREF(row);
    if (!parsed) return -1;
    Area *area = &table[(*count)++];
    area->base = base;
    area->size = size;
    area->host = (uint8_t *)(uintptr_t)host;
    area->stable = stable != 0;
    area->rights = rights;
    area->regions = regions;
    if (!executable) continue;
    if (regions < 1 || regions > MAX_SPU_REGIONS || size % (uint32_t)regions) {
      PyErr_Format(PyExc_ValueError, "%d regions of the SPU in %u bytes", regions, size);
      return -1;
    }
    area->slots = calloc(size / 2, sizeof(Slot));
    area->covered = calloc(size / 16 + 1, 1);
    area->hooked = calloc(size / 16 + 1, 1);
    area->checks = calloc(size / 2, sizeof *area->checks);
    if (!area->slots || !area->covered || !area->hooked || !area->checks) {
      PyErr_NoMemory();
      return -1;
    }
  }
  return 0;
}

// The addresses in the order of the struct's members.
static int take_functions(UnicornApi *api, PyObject *addresses) {
  uintptr_t table[UNICORN_FUNCTIONS];
  _Static_assert(sizeof table == sizeof *api, "one address a function");
  if (PySequence_Size(addresses) != UNICORN_FUNCTIONS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not Unicorn's functions");
    return -1;
  }
  for (Py_ssize_t i = 0; i < UNICORN_FUNCTIONS; i++) {
    PyObject *item = PySequence_GetItem(addresses, i);
    table[i] = item ? (uintptr_t)PyLong_AsUnsignedLongLong(item) : 0;
    Py_XDECREF(item);
  }
  if (PyErr_Occurred()) return -1;
  memcpy(api, table, sizeof *api);
  return 0;
}

static void on_change(void *core) { core_limit(core); }

// The interrupt controller is of this core, and of no other one.
static int take_nvic(CoreObject *self, PyObject *object) {
  if (!nvic_is_one(object) || ((NvicObject *)object)->nvic.changed) {
    PyErr_SetString(PyExc_TypeError, "Core takes an Nvic of its own");
    return -1;
  }
  Py_INCREF(object);
  self->nvic = object;
  self->core.cpu.nvic = &((NvicObject *)object)->nvic;
  self->core.cpu.nvic->changed = on_change;
  self->core.cpu.nvic->owner = &self->core;
  return 0;
}

// The MPUs of the secure and of the non-secure state.
static int take_mpus(CoreObject *self, PyObject *tuple) {
  PyObject *secure, *other;
  if (!PyArg_ParseTuple(tuple, "OO", &secure, &other)) return -1;
  if (!mpu_is_one(secure) || !mpu_is_one(other)) {
    PyErr_SetString(PyExc_TypeError, "Core takes two Mpus");
    return -1;
  }
  Py_INCREF(tuple);
  self->mpus = tuple;
  self->core.mpu.banks[0] = &((MpuObject *)secure)->mpu;
  self->core.mpu.banks[1] = &((MpuObject *)other)->mpu;
  for (int i = 0; i < 2; i++) protection_connect(&self->core, self->core.mpu.banks[i]);
  return 0;
}

// The registers of the system control block: of both security states, and those that they share.
static int take_scb(CoreObject *self, PyObject *tuple) {
  PyObject *secure, *other, *shared;
  if (!PyArg_ParseTuple(tuple, "OOO", &secure, &other, &shared)) return -1;
  if (!scb_is_bank(secure) || !scb_is_bank(other) || !scb_is_shared(shared)) {
    PyErr_SetString(PyExc_TypeError, "Core takes two ScbBanks and a ScbShared");
    return -1;
  }
  Py_INCREF(tuple);
  self->scb = tuple;
  self->core.cpu.scb[0] = &((ScbBankObject *)secure)->bank;
  self->core.cpu.scb[1] = &((ScbBankObject *)other)->bank;
  self->core.cpu.shared = &((ScbSharedObject *)shared)->shared;
  return 0;
}

static int prepare(Core *c) {
  size_t writable = 1;
  for (int i = 0; i < c->memory.code_count; i++) {
    if (!c->memory.code[i].stable) writable += c->memory.code[i].size;
  }
  c->memory.shadow = malloc(writable);
  if (!c->memory.shadow) {
    PyErr_NoMemory();
    return -1;
  }
  if (c->unicorn.api.context_alloc(c->unicorn.handle, &c->unicorn.context) ||
      c->unicorn.api.context_alloc(c->unicorn.handle, &c->idle.context) || !emulate_attach(c)) {
    PyErr_SetString(PyExc_RuntimeError, "Unicorn refused a context or a hook");
    return -1;
  }
  c->unicorn.context_bytes = c->unicorn.api.context_size(c->unicorn.handle);
  const char *unexpected = state_find(c);
  if (!unexpected && !protection_works(c)) unexpected = "the MPU";
  if (unexpected) {
    PyErr_Format(PyExc_NotImplementedError, "this Unicorn keeps %s in another place", unexpected);
    return -1;
  }
  return 0;
}

static int initialize(PyObject *object, PyObject *arguments, PyObject *keywords) {
  CoreObject *self = (CoreObject *)object;
  Core *c = &self->core;
  unsigned long long uc;
  PyObject *functions, *code, *information, *windows, *nvic, *mpus, *scb;
  if ((keywords && PyDict_Size(keywords)) || c->unicorn.handle) {
    PyErr_SetString(PyExc_TypeError, "Core takes its eight arguments once, by position");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "KOOOOOO!O!", &uc, &functions, &code, &information, &windows,
                        &nvic, &PyTuple_Type, &mpus, &PyTuple_Type, &scb)) {
    return -1;
  }
  if (take_functions(&c->unicorn.api, functions) || take_nvic(self, nvic) ||
      take_mpus(self, mpus) || take_scb(self, scb)) {
    return -1;
  }
  c->unicorn.handle = (void *)(uintptr_t)uc;
  c->machine.owner = self;
  c->machine.access = call_access;
  c->machine.fault = call_fault;
  c->machine.violation = call_violation;
  self->served = PyList_New(0);
  if (!self->served) return -1;
  if (add_areas(c->memory.code, &c->memory.code_count, code, true) ||
      add_areas(c->memory.information, &c->memory.information_count, information, false) ||
      add_areas(c->memory.windows, &c->memory.window_count, windows, false)) {
    return -1;
  }
  return prepare(c);
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((CoreObject *)object)->access);
  Py_VISIT(((CoreObject *)object)->fault);
  Py_VISIT(((CoreObject *)object)->violation);
  Py_VISIT(((CoreObject *)object)->scb);
  Py_VISIT(((CoreObject *)object)->listener);
  Py_VISIT(((CoreObject *)object)->served);
  Py_VISIT(((CoreObject *)object)->nvic);
  Py_VISIT(((CoreObject *)object)->mpus);
  return 0;
}

static int clear(PyObject *object) {
  Py_CLEAR(((CoreObject *)object)->access);
  Py_CLEAR(((CoreObject *)object)->fault);
  Py_CLEAR(((CoreObject *)object)->violation);
  Py_CLEAR(((CoreObject *)object)->listener);
  Py_CLEAR(((CoreObject *)object)->served);
  if (CORE(object)->cpu.nvic) CORE(object)->cpu.nvic->changed = NULL;
  CORE(object)->cpu.nvic = NULL;
  Py_CLEAR(((CoreObject *)object)->nvic);
  for (int i = 0; i < 2; i++) {
    if (CORE(object)->mpu.banks[i]) protection_connect(NULL, CORE(object)->mpu.banks[i]);
    CORE(object)->mpu.banks[i] = NULL;
  }
  Py_CLEAR(((CoreObject *)object)->mpus);
  CORE(object)->cpu.scb[0] = CORE(object)->cpu.scb[1] = NULL;
  CORE(object)->cpu.shared = NULL;
  Py_CLEAR(((CoreObject *)object)->scb);
  return 0;
}

static void dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  Core *c = CORE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  for (int i = 0; i < c->memory.code_count; i++) {
    free(c->memory.code[i].slots);
    free(c->memory.code[i].covered);
    free(c->memory.code[i].hooked);
    free(c->memory.code[i].checks);
  }
  free(c->operands.checks);
  free(c->memory.shadow);
  free(c->breakpoints.addresses);
  calls_free(c);
  stack_watch_free(c);
  if (c->unicorn.context) c->unicorn.api.context_free(c->unicorn.context);
  if (c->idle.context) c->unicorn.api.context_free(c->idle.context);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "Runs a Unicorn Cortex-M33 and counts instructions."},
    {Py_tp_init, initialize},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, core_methods},
    {Py_tp_members, core_members},
    {Py_tp_getset, core_properties},
    {0, NULL},
};

static PyType_Spec spec = {
    "harness.simulator._native.Core",
    sizeof(CoreObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", NULL, -1, NULL, NULL, NULL, NULL, NULL};

// What Unicorn reads from a register window after access_hook() put the answer there.
static uint64_t mmio_read(void *uc, uint64_t offset, unsigned size, void *user) {
  uint64_t value = 0;
  (void)uc;
  memcpy(&value, (const char *)user + offset, size <= sizeof value ? size : sizeof value);
  return value;
}

// access_hook() has carried the write out.
static void mmio_write(void *uc, uint64_t offset, unsigned size, uint64_t value, void *user) {
  (void)uc, (void)offset, (void)size, (void)value, (void)user;
}

static int add_address(PyObject *m, const char *name, void (*function)(void)) {
  PyObject *address = PyLong_FromUnsignedLongLong((uintptr_t)function);
  int result = address ? PyModule_AddObjectRef(m, name, address) : -1;
  Py_XDECREF(address);
  return result;
}

static int add_type(PyObject *m, const char *name, PyType_Spec *type_spec) {
  PyObject *type = PyType_FromSpec(type_spec);
  int result = type ? PyModule_AddObjectRef(m, name, type) : -1;
  Py_XDECREF(type);
  return result;
}

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *m = PyModule_Create(&module);
  if (m && (add_type(m, "Core", &spec) || add_type(m, "Registers", &registers_spec) ||
            add_type(m, "Nvic", &nvic_spec) || add_type(m, "Mpu", &mpu_spec) ||
            add_type(m, "ScbBank", &scb_bank_spec) || add_type(m, "ScbShared", &scb_shared_spec) ||
            PyModule_AddStringConstant(m, "SOURCES", CORE_SOURCES) ||
            add_address(m, "MMIO_READ", (void (*)(void))mmio_read) ||
            add_address(m, "MMIO_WRITE", (void (*)(void))mmio_write))) {
    Py_CLEAR(m);
  }
  return m;
}
