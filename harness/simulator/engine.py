"""A Unicorn Cortex-M33 with its memory and its counting core.

The counting core runs Unicorn, takes exceptions and counts instructions (``native/core.h``,
:class:`harness.simulator._native.Core`).
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from enum import IntEnum
from typing import TYPE_CHECKING

from harness.base import native
from harness.base.errors import EnvironmentMissing
from harness.base.platforms import Area, ChipTable
from harness.simulator import unicorn as uc

if TYPE_CHECKING:
    from harness.simulator._native import Core, Mpu, Nvic, Registers, ScbBank, ScbShared

#: The private peripheral bus; every access to it, or to a device window, is a callback.
PPB = Area("ppb", 0xE000_0000, 0x10_0000)

#: (is a write, address, size, value) -> the value read, any number for an accepted write, or None
#: for a refused access.
AccessHandler = Callable[[int, int, int, int], int | None]
#: Called with each fault that is taken: exception number of the fault and of the exception taken
#: (0: lockup), status bits, pc, address of the access, whether stacking failed.
FaultHandler = Callable[[int, int, int, int, int | None, bool], None]


class Reason(IntEnum):
    """Why Core.run() returned."""

    NONE = 0
    BUDGET = 1  # `stop_at` instructions are executed, or the wall time is used up
    EXCEPTION = 2  # Unicorn raised exception number `exception`, unknown to this processor
    DEVICE = 6  # after an instruction whose access ends the run
    BREAKPOINT = 8  # before an instruction with a breakpoint
    HALTED = 9  # asleep, or locked up
    BKPT = 11  # before a BKPT, with a debugger
    STACK = 12  # before the instruction with which a stack runs below its end first


_RIGHTS = {
    "flash": uc.PROT_READ | uc.PROT_EXEC,
    "ram": uc.PROT_READ | uc.PROT_WRITE | uc.PROT_EXEC,
    "ficr": uc.PROT_READ,
    "uicr": uc.PROT_READ,
}


def _window_size(memory_map: ChipTable) -> int:
    """Bytes of each window of peripherals: up to the last one, in whole MiB."""
    return (max(block.offset + block.size for block in memory_map.blocks) - 1 | 0xF_FFFF) + 1


class Store:
    """Host memory behind an area of the address space."""

    def __init__(self, area: Area, *, filled: bool) -> None:
        """``filled``: all of it is written at once, so that its pages are taken at once."""
        self.area = area
        pages = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._map = mmap.mmap(-1, area.size, pages | (mmap.MAP_POPULATE if filled else 0))
        self.view = memoryview(self._map)
        self.host = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def erase(self) -> None:
        """Set every bit."""
        ctypes.memset(self.host, 0xFF, self.area.size)

    def slice(self, address: int, size: int) -> memoryview:
        """A writable view of ``size`` bytes from ``address``, which must be in the area."""
        offset = address - self.area.origin
        return self.view[offset : offset + size]

    def close(self) -> None:
        """Give the memory back. What reads it from then on raises ValueError."""
        self.view.release()
        self._map.close()


class Engine:
    """Unicorn, its memory and its counting core; :meth:`close` frees them.

    Raises :class:`EnvironmentMissing` if the counting core is not built or of another version, or
    does not support this version of Unicorn.
    """

    def __init__(self, memory_map: ChipTable) -> None:
        self._native = native.load()
        self.nvic: Nvic = self._native.Nvic(memory_map.irqs, memory_map.priority_bits)
        regions = memory_map.mpu_regions
        self._regions = {name: memory_map.spu_regions(name) for name in ("flash", "ram")}
        #: The MPU of the secure state, and that of the non-secure one.
        self.mpus: tuple[Mpu, Mpu] = (
            self._native.Mpu(regions, False),
            self._native.Mpu(regions, True),
        )
        #: The registers of the system control block: of both states, and those that they share.
        self.scb: tuple[ScbBank, ScbBank] = (self._native.ScbBank(), self._native.ScbBank())
        self.shared: ScbShared = self._native.ScbShared()
        self._library = uc.load()
        self.version = int(self._library.uc_version(None, None))
        #: Identifies the contents of flash: a new object after each change.
        self.flash_content = object()
        handle = c_void_p()
        error = self._library.uc_open(uc.ARCH_ARM, uc.MODE_MCLASS_THUMB, byref(handle))
        uc.check(self._library, error, "opening Unicorn")
        self._handle = handle.value or 0
        self._all_stores: list[Store] = []  # of memories and of windows
        self._watching: list[object] = []  # callbacks in use by Unicorn, kept alive here
        try:
            self._control(uc.CTL_CPU_MODEL, c_int(uc.CPU_CORTEX_M33))
            self.stores = {
                area.name: self._map(area, _RIGHTS[area.name]) for area in memory_map.areas
            }
            size = _window_size(memory_map)
            areas = [Area(f"window{base:x}", base, size) for base in memory_map.windows]
            self._windows = [self._map_window(area) for area in (*areas, PPB)]
            self.core = self._make_core()
        except BaseException:
            self.close()
            raise

    def _make_core(self) -> Core:
        functions = tuple(uc.function_address(self._library, n) for n in uc.NATIVE_FUNCTIONS)
        rows = {
            name: _row(store, stable=name != "ram", regions=self._regions.get(name, 0))
            for name, store in self.stores.items()
        }
        windows = [_row(window, stable=False) for window in self._windows]
        try:
            core: Core = self._native.Core(
                self._handle, functions,
                [rows["flash"], rows["ram"]], [rows["ficr"], rows["uicr"]], windows,
                self.nvic, self.mpus, (*self.scb, self.shared),
            )  # fmt: skip
        except NotImplementedError as error:
            raise EnvironmentMissing(
                f"the simulator does not support this version of unicorn: {error}",
                hint="install one that it was tested with: pip install unicorn==2.1.4",
            ) from error
        return core

    def _control(self, control: int, *arguments: ctypes._SimpleCData[int]) -> None:
        error = self._library.uc_ctl(c_void_p(self._handle), c_int(control), *arguments)
        uc.check(self._library, error, f"uc_ctl 0x{control:x}")

    def _store(self, area: Area, *, filled: bool) -> Store:
        self._all_stores.append(Store(area, filled=filled))
        return self._all_stores[-1]

    def _map(self, area: Area, rights: int) -> Store:
        store = self._store(area, filled=True)
        error = self._library.uc_mem_map_ptr(
            self._handle, area.origin, area.size, rights, store.host
        )
        uc.check(self._library, error, f"mapping {area.name}")
        return store

    def _map_window(self, area: Area) -> Store:
        """Map a window of registers, without rights, so that each access is a callback.

        Plain memory without rights would call back only until the page is in Unicorn's TLB. The
        callback puts the value of a read into the window's store, where Unicorn fetches it.
        """
        store = self._store(area, filled=False)
        error = self._library.uc_mmio_map(
            self._handle, area.origin, area.size,
            c_void_p(self._native.MMIO_READ), store.host, c_void_p(self._native.MMIO_WRITE), None,
        )  # fmt: skip
        uc.check(self._library, error, f"mapping {area.name}")
        error = self._library.uc_mem_protect(self._handle, area.origin, area.size, 0)
        uc.check(self._library, error, f"protecting {area.name}")
        return store

    def register_file(self, size: int) -> Registers:
        """Storage for a block of device registers, all zero."""
        registers: Registers = self._native.Registers(size)
        return registers

    def store_of(self, address: int, size: int = 1) -> Store | None:
        """The memory (not a window) with all of [address, address + size); None if none."""
        for store in self.stores.values():
            if store.area.holds(address, size):
                return store
        return None

    def code_changed(self, begin: int, end: int) -> None:
        """Drop translations and decoded code in [begin, end), which the host has changed."""
        if self.stores["flash"].area.holds(begin):
            self.flash_content = object()
        self.core.forget(begin, end)
        self.core.invalidate()

    def watch(
        self, address: int, size: int, called: Callable[[], None], loads: bool, stores: bool
    ) -> Callable[[], None]:
        """Call ``called`` after loads or stores there; return a function that ends it.

        The processor goes on to the end of its block of code. All code is slower meanwhile.
        """
        callback = uc.MEMORY_HOOK(lambda *_: called())
        kinds = (uc.HOOK_MEM_READ if loads else 0) | (uc.HOOK_MEM_WRITE if stores else 0)
        hook = c_size_t()
        last = c_uint64(address + size - 1)
        error = self._library.uc_hook_add(
            c_void_p(self._handle), byref(hook), c_int(kinds), callback, None,
            c_uint64(address), last,
        )  # fmt: skip
        uc.check(self._library, error, "watching memory")
        self.flush()

        def end() -> None:
            self._library.uc_hook_del(c_void_p(self._handle), hook)
            self.flush()
            self._watching.remove(callback)

        self._watching.append(callback)
        return end

    def flush(self) -> None:
        """Drop every translation."""
        self._control(uc.CTL_FLUSH_TB)
        self.core.invalidate()

    def close(self) -> None:
        """Free Unicorn and the memory; safe to call twice.

        An engine is part of circles of references, in which it would keep its memory until the
        garbage collector comes by.
        """
        if self._handle:
            self._library.uc_close(self._handle)
            self._handle = 0
            for store in self._all_stores:
                store.close()


def _row(store: Store, *, stable: bool, regions: int = 0) -> tuple[int, int, int, bool, int, int]:
    area = store.area
    return area.origin, area.size, store.host, stable, _RIGHTS.get(area.name, 0), regions
