"""The differences of Renode's releases from the chip."""

from __future__ import annotations

from dataclasses import dataclass

from harness.targets.renode.archives import PINNED as PINNED  # noqa: PLC0414 - for server.py
from harness.targets.renode.archives import Version
from harness.targets.renode.archives import shown as shown  # noqa: PLC0414 - for server.py

MEASURED, BELIEVED = "measured", "believed"


@dataclass(frozen=True)
class RenodeDifference:
    """A difference of some versions from the chip; docs/renode.md lists them."""

    since: Version | None  # the first version with it; None: all earlier ones
    until: Version | None  # the first version without it; None: all later ones have it
    what: str
    done: str  # the harness's remedy
    warn: str = ""  # a note of its own in each result: why output may differ
    passes: str = ""  # why an image may pass wrongly: part of a note in each result
    known: str = MEASURED  # measured on that release, or believed from its sources
    images: tuple[str, ...] = ()  # images of tests/firmware/releases that show it
    worlds: bool = False  # it concerns only images of both worlds

    def holds(self, version: Version) -> bool:
        """Whether ``version`` has the difference."""
        return (self.since is None or version >= self.since) and (
            self.until is None or version < self.until
        )


_938 = "renode#938: an interrupt that is pending while PC holds EXC_RETURN takes a MemManage fault"
_PSPLIM = (
    "no stack limits (PSPLIM, MSPLIM): Zephyr does not print the stack overflows that they find"
)
_SPSEL = "EXC_RETURN.SPSEL set in handlers: Zephyr may print another reason for a fault in one"
_PAIRS = (
    "own_vectors", "secure_pended", "secure_triggered", "traps_apart", "floats_apart",
    "grouping_apart", "secure_registers", "no_gateway", "secure_ram",
)  # fmt: skip
_NOTED = "a note in each result"
_1_16_1: Version = (1, 16, 1)
_AFTER_1_16_1: Version = (1, 16, 2)
_1_17: Version = (1, 17, 0)
DIFFERENCES = (
    RenodeDifference(
        None,
        _1_16_1,
        "VMAXNM, VRINTA and VCVTA on a cortex-m33 silently compute something else",
        "refused",
        images=("rounding",),
    ),
    RenodeDifference(None, _AFTER_1_16_1, _938, _NOTED, warn=_938),
    RenodeDifference(
        None,
        _1_17,
        "a fault that cannot be taken is raised again and again at the same instruction: no lockup",
        "the agent sees that the core stands still while it executes: a lockup",
        images=("fault_in_hardfault", "mpu_guard"),
    ),
    RenodeDifference(
        None,
        _1_17,
        "a fault that SHCSR disables is taken nevertheless, not as a HardFault with FORCED",
        "the fault is reported under Renode's name for it, and noted in each result",
        passes="faults that SHCSR disables reach their own handlers",
        images=("fault_disabled",),
    ),
    RenodeDifference(
        None,
        _1_17,
        "SVC that cannot be taken is not a HardFault",
        _NOTED,
        passes="SVC in a more urgent handler, or while masked, does not fault",
        known=BELIEVED,
        images=("svc_in_handler", "svc_while_masked"),
    ),
    RenodeDifference(
        None,
        None,
        "a branch to an address without memory ends the core for good, and with it the slice",
        "the agent halts the core and reports a BusFault (IBUSERR), or a MemManage fault "
        "(IACCVIOL) where nothing may be executed, with the caller's place; the image's own "
        "handler does not run",
        images=("branch_nowhere", "branch_execute_never", "wildbranch"),
    ),
    RenodeDifference(
        None,
        None,
        "PSPLIM and MSPLIM do not trap, and hold all bits",
        "an overflow is seen through the MPU's guard, or when the stack leaves RAM",
        warn=_PSPLIM,
        images=("stack_limit", "stack_limit_bits"),
    ),
    RenodeDifference(
        None,
        None,
        "words that are pushed below RAM are lost",
        "a stack that has left RAM ends the run as a BusFault (STKERR)",
        images=("stack_leaves_ram",),
    ),
    RenodeDifference(
        _1_17,
        None,
        "a log backend gets the type of the time stamp as a second argument, outside any try",
        "the agent's callbacks take any number of arguments",
    ),
    RenodeDifference(
        _1_17,
        None,
        "EXC_RETURN.SPSEL follows CONTROL.SPSEL, in handlers, too",
        "a frame is looked for on PSP only if EXC_RETURN's bits 2 and 3 are both set; the "
        "standalone runtime's fault handler does the same; at Zephyr's z_arm_svc the bit is put "
        "right",
        warn=_SPSEL,
        images=("exc_return",),
    ),
    RenodeDifference(
        _1_17,
        None,
        "lockup is a state of the core, which looks like sleep from outside; its pc reads "
        "0xEFFFFFFE",
        "the agent reads the state after each slice, and locates a lockup at the last fault",
        images=("fault_in_hardfault",),
    ),
    RenodeDifference(
        _1_17,
        None,
        "with TrustZone off EXC_RETURN.ES is 0, and the fault handler of a secure Zephyr image "
        "finds no frame",
        "enableTrustZone for images that start in flash's secure part",
        images=("exc_return",),
    ),
    RenodeDifference(
        None,
        _1_17,
        "there is no TrustZone-M: neither SG and BXNS nor banked state",
        "images of both worlds are refused, and their cases skipped: `robot --exclude two-worlds`"
        " leaves the suite out",
        images=_PAIRS,
    ),
    RenodeDifference(
        _1_17,
        None,
        "there is no model of the SPU; an IDAU region gives TT.S = 1 where it is NonSecureCallable "
        "over a non-secure SAU region, and else makes nothing secure",
        "for images of both worlds the regions of peripherals/spu.py are those of a SAU, which "
        "SAU_CTRL.ALLNS puts in force; peripherals are not attributed",
    ),
    RenodeDifference(
        _1_17,
        None,
        "CCR.DIV_0_TRP is dropped with a warning",
        "`nvic FilterCcrDiv0Write false` when the machine is made",
        images=("divide_trapped",),
    ),
    RenodeDifference(
        _1_17,
        None,
        "each new core leaves a copy of the translation library in the temporary folder",
        "a folder of its own for each process, and a new process after 50 machines",
    ),
    RenodeDifference(
        _1_17,
        None,
        "halting the core, and letting it go, drop the translated code",
        "the core is halted only when a condition is met, never between slices",
        known=BELIEVED,
    ),
    RenodeDifference(
        None,
        None,
        "the NVIC's copy of BASEPRI outlives a reset; a new machine's NSACR is not that of "
        "one that was reset (1.17)",
        "the agent clears the copies, a new machine is reset once, and one that differs after "
        "its reset is not used again",
        images=("basepri_left", "basepri_found", "basepri_over_reset", "registers_over_reset"),
    ),
    RenodeDifference(
        _1_17,
        None,
        "`b .` is translated as WFI: an image that ends in a loop of itself sleeps",
        "the agent reads the instruction at the pc; the end is told as a branch to itself",
        images=("branch_to_itself", "branch_interrupted"),
    ),
    RenodeDifference(
        _1_17,
        None,
        "the non-secure alias of the system control space is there only if it is registered",
        "nrf9160dk_trustzone.repl registers the NVIC at 0xE002E000, too",
        images=("own_vectors",),
    ),
    RenodeDifference(
        None,
        _1_17,
        "loads and stores that nothing answers are warnings, not BusFaults",
        "a finding (`unmodelled_access`), and a note in each result",
        passes="loads and stores that nothing answers do not fault",
        images=("unmapped_load", "unmapped_store", "gpiote1_secure_alias"),
    ),
    RenodeDifference(
        _1_17,
        None,
        "loads and stores that nothing answers are warnings, unless the bus is told to throw",
        "it is told; blocks without a model are peripherals/stub.py",
        images=("unmapped_load", "unmapped_store", "unmodelled_blocks"),
    ),
    RenodeDifference(
        None,
        None,
        "flash that no segment fills reads 0",
        "flash is filled with 0xFF and RAM with the pattern of the run's seed",
        images=("blank_flash", "ram_at_start"),
    ),
    RenodeDifference(
        None,
        None,
        "UNALIGN_TRP, and alignment of LDM, LDRD, VLDR, LDREX and of Device memory, do not trap",
        _NOTED,
        passes="unaligned accesses (LDM, LDRD, VLDR, LDREX, UNALIGN_TRP, devices) do not fault",
        images=("alignment", "device_region_unaligned"),
    ),
    RenodeDifference(
        None,
        None,
        "NVMC's and EasyDMA's rules are not enforced: stores set bits, DMA reads flash",
        _NOTED,
        passes="stores to flash need no leave of NVMC, and DMA reads flash",
        images=("flash_without_wen", "uarte_buffer_in_flash"),
    ),
    RenodeDifference(
        None,
        None,
        "a UARTE sends at any baud rate, by any pin, disabled or not",
        _NOTED,
        passes="the console is heard however it is set up",
        known=BELIEVED,
        images=("console_disabled", "uarte_9600_baud"),
    ),
    RenodeDifference(
        None,
        None,
        "DPPI links nothing: no model has PUBLISH and SUBSCRIBE",
        "a finding (`unmodelled_access`), and a note in each result",
        passes="DPPI links nothing",
        images=("events_linked",),
    ),
    RenodeDifference(
        None,
        None,
        "FICR holds 0xFF",
        _NOTED,
        passes="FICR is erased",
        known=BELIEVED,
        images=("ficr_words",),
    ),
    RenodeDifference(
        None,
        None,
        "the MPU applies to the PPB, and with the MPU off unprivileged code may write the SCS",
        _NOTED,
        passes="unprivileged code may write the system control space, unless an MPU region forbids",
        images=("stir_unprivileged", "scs_unprivileged"),
    ),
    RenodeDifference(
        None,
        None,
        "SYSRESETREQ acts at the end of the quantum, and RESETREAS is 0 then",
        "a quantum of 1 ms, and a note in each result",
        passes="code behind a request to reset runs on for up to 1 ms, and RESETREAS is 0",
        images=("reset_request", "reset_reason", "resets_for_ever"),
    ),
    RenodeDifference(
        None,
        None,
        "DWT counts without TRCENA",
        _NOTED,
        passes="DWT counts without TRCENA",
        images=("counter_without_trace", "counter_with_trace"),
    ),
    RenodeDifference(
        None,
        None,
        "CCR reads 0 (chip 0x201), ID_* and MVFR* 0, ICTR 7 (chip 2)",
        _NOTED,
        passes="ID_*, MVFR* and CCR read 0 (CMSIS finds no FPU)",
        images=("core_ids", "fpu_type"),
    ),
    RenodeDifference(
        _1_17,
        None,
        "INVEP and INVTRAN set SFARVALID; FNC_RETURN onto a seal lacks INVPC; CONTROL.SFPA is "
        "not cleared on return",
        "a note in each result",
        passes="some SecureFaults lack or have other status bits",
        images=("no_gateway",),
        worlds=True,
    ),
    RenodeDifference(
        _1_17,
        None,
        "non-secure writes of ISER, ICER and ISPR that name a secure interrupt hit the next "
        "one; non-secure STIR and NMIPENDSET act",
        _NOTED,
        passes="non-secure code reaches secure interrupts (ISER, ICER, ISPR, STIR, NMIPENDSET)",
        images=("secure_pended", "secure_triggered"),
        worlds=True,
    ),
    RenodeDifference(
        _1_17,
        None,
        "CPACR_NS and CPACR are one switch; CCR through the non-secure bank clears the secure "
        "traps; PRIGROUP and SLEEPONEXIT are not banked; non-secure code reads the alias and "
        "the SAU",
        _NOTED,
        passes="CPACR, CCR, PRIGROUP and SLEEPONEXIT are shared by both worlds",
        images=("traps_apart", "floats_apart", "grouping_apart", "secure_registers"),
        worlds=True,
    ),
    RenodeDifference(
        None,
        None,
        "unprivileged MSR APSR is dropped; VMSR FPSCR with CPACR off does not fault",
        _NOTED,
        passes="unprivileged MSR APSR is dropped, and VMSR FPSCR needs no CPACR",
        images=("flags_unprivileged", "fpscr_with_cpacr_off"),
    ),
    RenodeDifference(
        _1_17,
        None,
        "a write of HFSR is warned of as unhandled",
        "the warning is not a finding",
        images=("status_cleared",),
    ),
    RenodeDifference(
        None,
        None,
        "RTC: COUNTER is stale within a quantum, there is no overflow, so that Zephyr's time "
        "ends at 512 s",
        "a model of this project, peripherals/counters.cs",
        known=BELIEVED,
        images=("clocks",),
    ),
    RenodeDifference(
        None,
        None,
        "TIMER has no TASKS_SHUTDOWN, SHORTS and BITMODE",
        "a model of this project, peripherals/counters.cs",
        known=BELIEVED,
        images=("clocks",),
    ),
    RenodeDifference(
        None,
        None,
        "System OFF is not modelled: the image runs on",
        "a finding (`unmodelled_access`), and a note in each result",
        passes="System OFF does nothing",
        known=BELIEVED,
        images=("system_off",),
    ),
    RenodeDifference(
        None,
        None,
        "LFCLK starts at once",
        _NOTED,
        passes="LFCLK starts at once",
        images=("clock_start",),
    ),
    RenodeDifference(
        _1_17,
        None,
        "gdb server: it listens on every interface; msp, psp and control are wrong registers, so "
        "that a backtrace ends at an exception",
        "`tflm-hil debug` runs Renode in a network of its own, and gives gdb a description of the "
        "registers without them",
    ),
)


def warnings(version: Version) -> tuple[str, ...]:
    """Return the notes for every result on ``version``."""
    own = [one.warn for one in DIFFERENCES if one.warn and one.holds(version)]
    passes = _passes(version, worlds=False)
    name = f"Renode {shown(version)}"
    return (
        *(f"{name} has {text}" for text in own),
        f"{name} is not the chip, and an image may pass wrongly: {passes}",
    )


def warnings_of_worlds(version: Version) -> str:
    """Return the note for results of images of both worlds; "" if there is none."""
    passes = _passes(version, worlds=True)
    text = f"Renode {shown(version)}, between the worlds, where an image may pass wrongly: {passes}"
    return text if passes else ""


def _passes(version: Version, *, worlds: bool) -> str:
    held = [one for one in DIFFERENCES if one.holds(version) and one.worlds == worlds]
    return "; ".join(one.passes for one in held if one.passes)
