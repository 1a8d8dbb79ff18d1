// The attributes of the counting core; _native.pyi declares them.
#include "binding.h"
#include "events.h"
#include "rtc.h"
#include "security.h"
#include "uarte.h"

static PyObject *get_executed(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(CORE(self)->time.executed);
}

static int set_executed(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  Core *c = CORE(self);
  core_settle_charge(c);
  c->time.executed = c->time.charged = PyLong_AsLongLong(value);
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *get_stop_at(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(CORE(self)->time.end_at);
}

static int set_stop_at(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  CORE(self)->time.end_at = PyLong_AsLongLong(value);
  events_limit(CORE(self));
  return PyErr_Occurred() ? -1 : 0;
}

#define FIELD(name) offsetof(CoreObject, core.name)
PyMemberDef core_members[] = {
    {"has_sent", T_UINT, FIELD(devices.outbox.count), READONLY, "Chunks that wait."},
    {"nonsecure_frames", T_BOOL, FIELD(cpu.nonsecure_frames), 0, "As a non-secure image expects."},
    {"divided", T_BOOL, FIELD(attribution.divided), 0, "Something is non-secure."},
    {"restricted", T_BOOL, FIELD(attribution.restricted), READONLY,
     "Accesses to memory may be refused."},
    {"debugged", T_BOOL, FIELD(cpu.debugged), 0, "BKPT halts."},
    {"interrupts_masked", T_BOOL, FIELD(cpu.interrupts_masked), 0,
     "PendSV, SysTick and interrupts wait."},
    {"locked_up", T_BOOL, FIELD(cpu.locked_up), 0, "Lockup."},
    {"sleeping", T_INT, FIELD(cpu.sleeping), 0, "0 awake, 1 in WFI, 2 in WFE."},
    {"exception", T_INT, FIELD(stop.exception), READONLY, "Unicorn's exception number."},
    {"fault_type", T_INT, FIELD(access.type), READONLY, "Unicorn's access type."},
    {"stop_after", T_BOOL, FIELD(stop.after), 0, "Stop after this instruction."},
    {"extras", T_INT, FIELD(cpu.extras), 0, "EXTRA_LIMITS and EXTRA_EXCLUSIVE, if used."},
    {"branch_ticks", T_BOOL, FIELD(time.branch_ticks), 0, "A taken branch takes one more tick."},
    {"branches", T_LONGLONG, FIELD(time.branches), 0, "The additional ticks of branches."},
    {"slept", T_LONGLONG, FIELD(time.slept), 0, "Ticks slept."},
    {"exception_at", T_LONGLONG, FIELD(time.exception), READONLY,
     "Time of the last entry to, or return from, an exception."},
    {"sequential", T_UINT, FIELD(block.sequential), 0,
     "Where code goes on without a branch, or 0."},
    {"skipped_to", T_LONGLONG, FIELD(idle.skipped_to), READONLY,
     "Instructions executed after the last loop without effect that was skipped."},
    {"polled", T_UINT, FIELD(idle.polled), READONLY, "A register that that loop loads, or 0."},
    {"may_stand", T_BOOL, FIELD(idle.may_stand), 0, "Nothing is to end a branch to itself."},
    {"stands", T_BOOL, FIELD(idle.stands), READONLY, "The run has ended before one."},
    {"skip_idle", T_BOOL, FIELD(idle.skips), 0, "Skip loops that can change nothing."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *get_nonsecure(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(CORE(self)->cpu.nonsecure);
}

static int set_nonsecure(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  security_set_state(CORE(self), PyObject_IsTrue(value) == 1);
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *get_privileged(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(security_is_privileged(CORE(self)));
}

static PyObject *get_next_byte(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(uarte_next(CORE(self)));
}

static PyObject *get_next_rtc(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(rtc_next(CORE(self)));
}

PyGetSetDef core_properties[] = {
    {"next_rtc", get_next_rtc, NULL, "Tick of the next event of an RTC.", NULL},
    {"next_byte", get_next_byte, NULL, "Tick at which a transfer needs more than memory.", NULL},
    {"privileged", get_privileged, NULL, "Is the running code privileged?", NULL},
    {"nonsecure", get_nonsecure, set_nonsecure, "The security state.", NULL},
    {"executed", get_executed, set_executed, "Instructions executed.", NULL},
    {"stop_at", get_stop_at, set_stop_at, "Value of executed to stop at.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
