// What ran, how often.
#include <string.h>

#include "binding.h"
#include "calls.h"

PyObject *methods_recent_blocks(PyObject *self, PyObject *unused) {
  (void)unused;
  Core *c = CORE(self);
  uint32_t count = c->trace.next < TRACE_BLOCKS ? c->trace.next : TRACE_BLOCKS;
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < count; i++) {
    uint32_t address = c->trace.blocks[(c->trace.next - count + i) % TRACE_BLOCKS];
    PyObject *item = PyLong_FromUnsignedLong(address);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static int put(PyObject *dict, uint32_t address, uint64_t executed) {
  PyObject *key = PyLong_FromUnsignedLong(address);
  PyObject *value = PyLong_FromUnsignedLongLong(executed);
  int result = key && value ? PyDict_SetItem(dict, key, value) : -1;
  Py_XDECREF(key);
  Py_XDECREF(value);
  return result;
}

PyObject *methods_profile(PyObject *self, PyObject *unused) {
  (void)unused;
  Core *c = CORE(self);
  PyObject *result = PyDict_New();
  core_settle_charge(c);
  for (int i = 0; result && i < c->memory.code_count; i++) {
    Area *area = &c->memory.code[i];
    for (uint32_t at = 0; result && at < area->size; at += 2) {
      if (!area->covered[at >> 4]) {
        at = (at | 15) - 1;  // nothing started in these eight halfwords
        continue;
      }
      uint64_t executed = area->slots[at >> 1].executed;
      if (executed && put(result, area->base + at, executed)) Py_CLEAR(result);
    }
  }
  return result;
}

// The code area that `index` means; NULL with an error set.
static Area *area_of(Core *c, PyObject *index) {
  long i = PyLong_AsLong(index);
  if (i >= 0 && i < c->memory.code_count) return &c->memory.code[i];
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such area");
  return NULL;
}

PyObject *methods_has_run(PyObject *self, PyObject *index) {
  Area *area = area_of(CORE(self), index);
  if (!area) return NULL;
  const uint8_t *covered = area->covered;
  return PyBool_FromLong(covered[0] || memcmp(covered, covered + 1, area->size / 16 - 1));
}

PyObject *methods_coverage(PyObject *self, PyObject *index) {
  Area *area = area_of(CORE(self), index);
  return area ? PyBytes_FromStringAndSize((char *)area->covered, area->size / 16) : NULL;
}

static void clear(Core *c) {
  core_settle_charge(c);
  for (int i = 0; i < c->memory.code_count; i++) {
    Area *area = &c->memory.code[i];
    for (uint32_t at = 0; at < area->size; at += 2) {
      if (!area->covered[at >> 4]) {
        at = (at | 15) - 1;  // nothing ran in these eight halfwords
        continue;
      }
      memset(&area->slots[at >> 1], 0, sizeof(Slot));
    }
    memset(area->covered, 0, area->size / 16);
  }
  c->block.again = 1;
  if (c->memory.ram_runs) c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TB);
  c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TLB);  // see code_ran() in protection.c
}

PyObject *methods_clear_profile(PyObject *self, PyObject *unused) {
  (void)unused;
  clear(CORE(self));
  Py_RETURN_NONE;
}

PyObject *methods_profile_calls(PyObject *self, PyObject *arguments) {
  const char *flash, *ram;
  Py_ssize_t sizes[2];
  if (!PyArg_ParseTuple(arguments, "y#y#", &flash, &sizes[0], &ram, &sizes[1])) return NULL;
  const uint32_t *functions[2] = {(const uint32_t *)flash, (const uint32_t *)ram};
  const size_t counts[2] = {(size_t)sizes[0] / 4, (size_t)sizes[1] / 4};
  if (!calls_start(CORE(self), functions, counts)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

PyObject *methods_rename_calls(PyObject *self, PyObject *arguments) {
  unsigned int address, number;
  if (!PyArg_ParseTuple(arguments, "II", &address, &number)) return NULL;
  if (CORE(self)->calls) calls_rename(CORE(self), address, number);
  Py_RETURN_NONE;
}

PyObject *methods_call_tree(PyObject *self, PyObject *unused) {
  (void)unused;
  Core *c = CORE(self);
  PyObject *list = PyList_New(0);
  if (!c->calls) return list;
  calls_settle(c);
  for (uint32_t i = 0; list && i < c->calls->count; i++) {
    const CallNode *node = &c->calls->nodes[i];
    PyObject *item =
        Py_BuildValue("(IIK)", node->parent, node->function, (unsigned long long)node->executed);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}
