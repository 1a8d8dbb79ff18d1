"""Functions in which firmware gives up: abort, a failed assertion, an exit with a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.base.exceptions import IPSR
from harness.base.findings import Finding, Kind
from harness.elf import Image
from harness.elf.demangle import demangle
from harness.elf.main_stack import object_ending_at
from harness.targets.calls import Call
from harness.targets.session import Session

#: Functions that firmware calls when it gives up, by their linker names: of newlib, libstdc++,
#: Zephyr, FreeRTOS, TF-M, Nordic's SDK. An exit with code 0 does not count.
LAST_RESORTS: Mapping[str, Kind] = {
    "abort": Kind.ABORTED,
    "raise": Kind.ABORTED,
    "exit": Kind.ABORTED,
    "_exit": Kind.ABORTED,
    "_Exit": Kind.ABORTED,
    "quick_exit": Kind.ABORTED,
    "__assert": Kind.ASSERTION,
    "__assert_func": Kind.ASSERTION,
    "__assert_fail": Kind.ASSERTION,
    "assert_post_action": Kind.ASSERTION,
    "nrfx_assert_handler": Kind.ASSERTION,
    "assert_nrf_callback": Kind.ASSERTION,
    "app_error_fault_handler": Kind.ASSERTION,
    "vAssertCalled": Kind.ASSERTION,
    "_ZSt9terminatev": Kind.ABORTED,
    "_ZN10__cxxabiv111__terminateEPFvvE": Kind.ABORTED,
    "__cxa_pure_virtual": Kind.ABORTED,
    "__cxa_deleted_virtual": Kind.ABORTED,
    "__cxa_throw_bad_array_new_length": Kind.ABORTED,
    "__stack_chk_fail": Kind.STACK_OVERFLOW,
    "__chk_fail": Kind.STACK_OVERFLOW,
    "vApplicationStackOverflowHook": Kind.STACK_OVERFLOW,
    "vApplicationMallocFailedHook": Kind.ABORTED,
    "z_fatal_error": Kind.KERNEL_PANIC,
    "k_sys_fatal_error_handler": Kind.KERNEL_PANIC,
    "arch_system_halt": Kind.KERNEL_PANIC,
    "tfm_core_panic": Kind.KERNEL_PANIC,
}
#: Functions that end a program with an exit status.
EXITS = ("exit", "_exit", "_Exit", "quick_exit")


def watched_functions(image: Image, names: Iterable[str]) -> dict[int, str]:
    """Address -> name of the functions called ``names`` in all images of the run."""
    found = {}
    for one in (image, *image.beside):
        for name in names:
            symbol = one.symbol(name)
            if symbol is not None and symbol.kind == "func":
                found[symbol.address & ~1] = name
    return found


def last_resort(session: Session, image: Image, functions: Mapping[int, str]) -> Finding | None:
    """A finding for the function of :data:`LAST_RESORTS` that the core has not left."""
    calls = [call for call in session.calls if _failed(call, functions)]
    if not calls:
        return None
    registers = session.registers
    exception, sp = registers["xpsr"] & IPSR, registers["sp"]
    for call in calls:
        # The handler has been left, the function has returned, or this is another thread's stack.
        left = call.exception and not exception
        if left or sp > call.sp or object_ending_at(image, sp) != object_ending_at(image, call.sp):
            continue
        name = functions[call.address]
        shown = f"{name}({call.argument})" if name in EXITS else demangle(name)
        caller = f", called from {image.locate(call.caller - 2)}" if call.caller else ""
        return Finding(LAST_RESORTS[name], f"the image ended in {shown}{caller}", demangle(name))
    return None


def _failed(call: Call, functions: Mapping[int, str]) -> bool:
    """Whether ``call`` is of a function in which firmware gives up, and has not returned."""
    name = functions.get(call.address, "")
    fails = name in LAST_RESORTS and (name not in EXITS or call.argument != 0)
    return fails and call.returned is None
