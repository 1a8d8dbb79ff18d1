// The MPU of one security state as a Python object: `harness.simulator._native.Mpu`.
#include <stddef.h>
#include <string.h>

#include "binding.h"

#define MPU(object) (&((MpuObject *)(object))->mpu)

static int initialize(PyObject *self, PyObject *arguments, PyObject *keywords) {
  Mpu *m = MPU(self);
  int count, nonsecure;
  if ((keywords && PyDict_Size(keywords)) || m->count) {
    PyErr_SetString(PyExc_TypeError, "Mpu takes its two arguments once, by position");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "ip", &count, &nonsecure)) return -1;
  if (count < 1 || count > MPU_REGIONS) {
    PyErr_Format(PyExc_ValueError, "at most %d regions", MPU_REGIONS);
    return -1;
  }
  m->count = count;
  m->nonsecure = nonsecure;
  return 0;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

bool mpu_is_one(PyObject *object) {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_init) == (void *)initialize;
}

static bool is_offset(unsigned int offset) {
  if (offset >= MPU_FIRST && offset < MPU_END && !(offset & 3)) return true;
  PyErr_SetString(PyExc_IndexError, "no register of the MPU at this offset");
  return false;
}

static PyObject *read_register(PyObject *self, PyObject *arguments) {
  unsigned int offset;
  if (!PyArg_ParseTuple(arguments, "I", &offset) || !is_offset(offset)) return NULL;
  return PyLong_FromUnsignedLong(mpu_read(MPU(self), offset));
}

static PyObject *write_register(PyObject *self, PyObject *arguments) {
  unsigned int offset, value;
  if (!PyArg_ParseTuple(arguments, "II", &offset, &value) || !is_offset(offset)) return NULL;
  mpu_write(MPU(self), offset, value);
  Py_RETURN_NONE;
}

static PyObject *allows(PyObject *self, PyObject *arguments) {
  unsigned int address;
  int write, privileged;
  if (!PyArg_ParseTuple(arguments, "Ipp", &address, &write, &privileged)) return NULL;
  return PyBool_FromLong(mpu_allows(&MPU(self)->state.regions, address, write, privileged));
}

static PyObject *reset(PyObject *self, PyObject *unused) {
  (void)unused;
  memset(&MPU(self)->state, 0, sizeof MPU(self)->state);
  Py_RETURN_NONE;
}

static PyObject *save(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)&MPU(self)->state, sizeof MPU(self)->state);
}

static PyObject *load(PyObject *self, PyObject *bytes) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size)) return NULL;
  if (size != sizeof MPU(self)->state) {
    PyErr_SetString(PyExc_ValueError, "not the registers of this MPU");
    return NULL;
  }
  memcpy(&MPU(self)->state, data, sizeof MPU(self)->state);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"read", read_register, METH_VARARGS, "A register, by offset from 0xE000_ED00."},
    {"write", write_register, METH_VARARGS, "Write a register."},
    {"allows", allows, METH_VARARGS, "May an address be accessed (write, privileged)?"},
    {"reset", reset, METH_NOARGS, "Off, all regions disabled; Core.synchronize() must follow."},
    {"save", save, METH_NOARGS, "The registers, as bytes."},
    {"load", load, METH_O, "Restore the bytes of save(); Core.synchronize() must follow."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"ctrl", T_UINT, offsetof(MpuObject, mpu.state.regions.ctrl), READONLY, "MPU_CTRL."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The MPU's registers of one security state, and what they allow."},
    {Py_tp_init, initialize},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec mpu_spec = {
    "harness.simulator._native.Mpu", sizeof(MpuObject), 0, Py_TPFLAGS_DEFAULT, slots,
};
