// Registers of the system control block as Python objects: `harness.simulator._native.ScbBank` and
// `ScbShared`.
#include <stddef.h>
#include <string.h>

#include "binding.h"

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *load(PyObject *bytes, void *registers, size_t size) {
  char *data;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(bytes, &data, &length)) return NULL;
  if ((size_t)length != size) {
    PyErr_SetString(PyExc_ValueError, "not the contents of these registers");
    return NULL;
  }
  memcpy(registers, data, size);
  Py_RETURN_NONE;
}

#define BANK(object) (&((ScbBankObject *)(object))->bank)
#define SHARED(object) (&((ScbSharedObject *)(object))->shared)

static PyObject *reset_bank(PyObject *self, PyObject *unused) {
  (void)unused;
  scb_reset_bank(BANK(self));
  Py_RETURN_NONE;
}

static PyObject *save_bank(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)BANK(self), sizeof(ScbBank));
}

static PyObject *load_bank(PyObject *self, PyObject *bytes) {
  return load(bytes, BANK(self), sizeof(ScbBank));
}

static PyObject *reset_shared(PyObject *self, PyObject *unused) {
  (void)unused;
  memset(SHARED(self), 0, sizeof(ScbShared));
  Py_RETURN_NONE;
}

static PyObject *save_shared(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)SHARED(self), sizeof(ScbShared));
}

static PyObject *load_shared(PyObject *self, PyObject *bytes) {
  return load(bytes, SHARED(self), sizeof(ScbShared));
}

#define METHODS(name, kind)                                              \
  static PyMethodDef name[] = {                                          \
      {"reset", reset_##kind, METH_NOARGS, "The values after a reset."}, \
      {"state", save_##kind, METH_NOARGS, "The contents, as bytes."},    \
      {"restore", load_##kind, METH_O, "Restore the bytes of state()."}, \
      {NULL, NULL, 0, NULL},                                             \
  }
METHODS(bank_methods, bank);
METHODS(shared_methods, shared);

#define IN_BANK(name) offsetof(ScbBankObject, bank.name)
static PyMemberDef bank_members[] = {
    {"vtor", T_UINT, IN_BANK(vtor), 0, "VTOR."},
    {"ccr", T_UINT, IN_BANK(ccr), 0, "CCR."},
    {"cpacr", T_UINT, IN_BANK(cpacr), 0, "CPACR."},
    {"fpccr", T_UINT, IN_BANK(fpccr), 0, "FPCCR."},
    {"fpcar", T_UINT, IN_BANK(fpcar), 0, "FPCAR."},
    {"fpdscr", T_UINT, IN_BANK(fpdscr), 0, "FPDSCR."},
    {"enables", T_UINT, IN_BANK(enables), 0, "SHCSR: of MemManage and UsageFault."},
    {"cfsr", T_UINT, IN_BANK(cfsr), 0, "CFSR without BFSR."},
    {"mmfar", T_UINT, IN_BANK(mmfar), 0, "MMFAR."},
    {NULL, 0, 0, 0, NULL},
};

#define IN_SHARED(name) offsetof(ScbSharedObject, shared.name)
static PyMemberDef shared_members[] = {
    {"enables", T_UINT, IN_SHARED(enables), 0, "SHCSR: of BusFault and SecureFault."},
    {"bfsr", T_UINT, IN_SHARED(bfsr), 0, "BFSR, at its place in CFSR."},
    {"bfar", T_UINT, IN_SHARED(bfar), 0, "BFAR."},
    {"hfsr", T_UINT, IN_SHARED(hfsr), 0, "HFSR."},
    {"sfsr", T_UINT, IN_SHARED(sfsr), 0, "SFSR."},
    {"sfar", T_UINT, IN_SHARED(sfar), 0, "SFAR."},
    {"nsacr", T_UINT, IN_SHARED(nsacr), 0, "NSACR."},
    {"sau_ctrl", T_UINT, IN_SHARED(sau_ctrl), 0, "SAU_CTRL."},
    {"reset_secure_only", T_BOOL, IN_SHARED(reset_secure_only), 0, "AIRCR.SYSRESETREQS."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot bank_slots[] = {
    {Py_tp_doc, "Registers of the system control block of one security state."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, bank_methods},
    {Py_tp_members, bank_members},
    {0, NULL},
};

static PyType_Slot shared_slots[] = {
    {Py_tp_doc, "Registers of the system control block that both security states share."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, shared_methods},
    {Py_tp_members, shared_members},
    {0, NULL},
};

PyType_Spec scb_bank_spec = {
    "harness.simulator._native.ScbBank", sizeof(ScbBankObject), 0, Py_TPFLAGS_DEFAULT, bank_slots,
};
PyType_Spec scb_shared_spec = {
    "harness.simulator._native.ScbShared",
    sizeof(ScbSharedObject),
    0,
    Py_TPFLAGS_DEFAULT,
    shared_slots,
};

bool scb_is_bank(PyObject *object) {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_methods) == (void *)bank_methods;
}

bool scb_is_shared(PyObject *object) {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_methods) == (void *)shared_methods;
}
