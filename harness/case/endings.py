"""How a run ended that did not come to the image's own end: how the core stands, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.base.errors import Unsupported
from harness.base.findings import Finding, Kind
from harness.elf import Image
from harness.elf.demangle import demangle
from harness.targets.base import Session, Stop
from harness.targets.calls import Call

HOW_IT_ENDED = {
    Stop.CONDITION: "it had printed its end",
    Stop.DEADLINE: "it ran on to the deadline",
    Stop.GUARD: "the wall-clock guard stopped it",
    Stop.IDLE: "it sleeps and nothing can wake it",
    Stop.LOCKUP: "the core locked up",
    Stop.RESET_LOOP: "it resets itself again and again",
    Stop.SYSTEM_OFF: "it switched the chip off (System OFF)",
}

#: Functions that firmware calls when it gives up, as the linker names them: of newlib, libstdc++,
#: Zephyr, FreeRTOS, TF-M, Nordic's SDK. An exit counts with a code that is not 0.
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
_EXITS = ("exit", "_exit", "_Exit", "quick_exit")

_EXCEPTIONS = {
    2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault",
    11: "SVCall", 12: "DebugMonitor", 14: "PendSV", 15: "SysTick",
}  # fmt: skip
_TO_ITSELF, _TO_ITSELF_WIDE = b"\xfe\xe7", b"\xff\xf7\xfe\xbf"
_WFE, _WFI = b"\x20\xbf", b"\x30\xbf"
_EXCEPTION_NUMBER = 0x1FF  # of xPSR


@dataclass(frozen=True)
class Standstill:
    """How a core stands that nothing will move, and in which mode.

    It sleeps, or is switched off, or goes round in one place.
    """

    branches: bool  # at a branch to itself, not asleep
    exception: int = 0  # the exception in whose handler it stands, 0 in thread mode
    spins: bool = False  # around a WFI that does not sleep
    off: bool = False  # in System OFF

    def __str__(self) -> str:
        what = HOW_IT_ENDED[Stop.SYSTEM_OFF if self.off else Stop.IDLE]
        if self.branches:
            what = "it branches to itself and nothing can interrupt it"
        if self.spins:
            what = "it spins around a WFI that does not sleep: an interrupt is pending and masked"
        if not self.exception:
            return what
        number = self.exception
        return f"{what}, in the handler of {_EXCEPTIONS.get(number, f'interrupt {number - 16}')}"


def standstill(session: Session, stop: Stop) -> Standstill | None:
    """How the core of ``session`` stands after a run that ended so; None if it does not stand.

    None, too, on a target that cannot look inside.
    """
    if stop not in (Stop.IDLE, Stop.SYSTEM_OFF):
        return None
    if stop is Stop.SYSTEM_OFF:
        return Standstill(branches=False, off=True)
    try:
        registers = session.registers
        pc = registers["pc"] & ~1
        code = session.memory.read(pc, 4)
        before = session.memory.read(max(pc - 2, 0), 2)
    except Unsupported:
        return None
    branches = code[:2] == _TO_ITSELF or code == _TO_ITSELF_WIDE
    # A core that sleeps stands behind the instruction with which it fell asleep.
    spins = code[:2] == _WFI and before not in (_WFI, _WFE)
    return Standstill(branches, registers["xpsr"] & _EXCEPTION_NUMBER, spins)


def watched_functions(image: Image, names: Iterable[str]) -> dict[int, str]:
    """The functions called ``names`` by their addresses, in all images that lie in flash."""
    found = {}
    for one in (image, *image.beside):
        for name in names:
            symbol = one.symbol(name)
            if symbol is not None and symbol.kind == "func":
                found[symbol.address & ~1] = name
    return found


def last_resort(session: Session, image: Image, functions: Mapping[int, str]) -> Finding | None:
    """The function of :data:`LAST_RESORTS` that the core has called and not left."""
    calls = [call for call in session.calls if _failed(call, functions)]
    if not calls:
        return None
    registers = session.registers
    exception, sp = registers["xpsr"] & _EXCEPTION_NUMBER, registers["sp"]
    for call in calls:
        # A handler that has been left is over; another stack is another thread's.
        left = call.exception and not exception
        if left or sp > call.sp or _stack(image, sp) != _stack(image, call.sp):
            continue
        name = functions[call.address]
        shown = f"{name}({call.argument})" if name in _EXITS else demangle(name)
        caller = f", called from {image.locate(call.caller - 2)}" if call.caller else ""
        return Finding(LAST_RESORTS[name], f"the image ended in {shown}{caller}", demangle(name))
    return None


def _failed(call: Call, functions: Mapping[int, str]) -> bool:
    """True for a call that has not returned of a function in which firmware gives up."""
    name = functions.get(call.address, "")
    fails = name in LAST_RESORTS and (name not in _EXITS or call.argument != 0)
    return fails and call.returned is None


def _stack(image: Image, address: int) -> str:
    """The object in RAM in which a stack pointer lies; "" for a stack that no symbol names.

    A stack grows down from the end of its object.
    """
    for symbol in image.symbols:
        if symbol.kind == "object" and symbol.address < address <= symbol.address + symbol.size:
            return symbol.name
    return ""
