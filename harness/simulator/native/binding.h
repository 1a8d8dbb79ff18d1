// The counting core as a Python object, in Python's stable interface: one library for 3.11 and
// later.
#ifndef HARNESS_SIMULATOR_NATIVE_BINDING_H_
#define HARNESS_SIMULATOR_NATIVE_BINDING_H_
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "core.h"

typedef struct {
  PyObject_HEAD Core core;
  PyObject *access, *fault, *violation;  // of connect()
  PyObject *listener;                    // NULL, or called with the bytes that are sent
  PyObject *served;                      // a list: the Registers that `core.served` points into
  PyObject *nvic;                        // `core.cpu.nvic` points into it
  PyObject *mpus;                        // a tuple: `core.mpu.banks` point into it
  PyObject *scb;                         // a tuple: `core.cpu.scb` and `shared` point into it
} CoreObject;

typedef struct {
  PyObject_HEAD Nvic nvic;
} NvicObject;

typedef struct {
  PyObject_HEAD Mpu mpu;
} MpuObject;

typedef struct {
  PyObject_HEAD Registers registers;
} RegistersObject;

typedef struct {
  PyObject_HEAD ScbBank bank;
} ScbBankObject;

typedef struct {
  PyObject_HEAD ScbShared shared;
} ScbSharedObject;

#define CORE(object) (&((CoreObject *)(object))->core)

extern PyMethodDef core_methods[];
extern PyMemberDef core_members[];
extern PyGetSetDef core_properties[];

// profile.c
PyObject *methods_recent_blocks(PyObject *self, PyObject *unused);
PyObject *methods_profile(PyObject *self, PyObject *unused);
PyObject *methods_has_run(PyObject *self, PyObject *index);
PyObject *methods_coverage(PyObject *self, PyObject *index);
PyObject *methods_clear_profile(PyObject *self, PyObject *unused);
PyObject *methods_profile_calls(PyObject *self, PyObject *arguments);
PyObject *methods_rename_calls(PyObject *self, PyObject *arguments);
PyObject *methods_call_tree(PyObject *self, PyObject *unused);

// registers_methods.c
extern PyType_Spec registers_spec;
PyObject *methods_send(PyObject *self, PyObject *registers);
PyObject *methods_advance(PyObject *self, PyObject *unused);
PyObject *methods_serve(PyObject *self, PyObject *arguments);
PyObject *methods_set_channels(PyObject *self, PyObject *registers);

// nvic_methods.c
extern PyType_Spec nvic_spec;
bool nvic_is_one(PyObject *object);

// mpu_methods.c
extern PyType_Spec mpu_spec;
bool mpu_is_one(PyObject *object);

// scb_methods.c
extern PyType_Spec scb_bank_spec, scb_shared_spec;
bool scb_is_bank(PyObject *object);
bool scb_is_shared(PyObject *object);

void binding_sent(Core *c, const uint8_t *bytes, uint32_t size);
int binding_fill(PyObject *tuple, Py_ssize_t at, PyObject *value);
#endif  // HARNESS_SIMULATOR_NATIVE_BINDING_H_
