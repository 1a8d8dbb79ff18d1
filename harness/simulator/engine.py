"""One Unicorn Cortex-M33 with its memory: everything that touches the emulator itself."""

from __future__ import annotations

import ctypes
import mmap
from ctypes import byref, c_int, c_void_p

from harness.simulator import library as uc
from harness.simulator.cores import make_core, mmio_callbacks, native_available
from harness.simulator.counting import AccessHandler, CodeRegion, Core
from harness.simulator.memorymap import Area, MemoryMap

#: Device windows and the private peripheral bus: mapped without rights, so that every access asks.
WINDOW_SIZE = 0x90_0000
PPB = Area("ppb", 0xE000_0000, 0x10_0000)
PAGE = 0x400
#: Code of the simulator's own, where the chip has nothing: CLREX; MRS r0, PSPLIM; MRS r1, MSPLIM;
#: SVC #0. Unicorn shows the stack limits and the exclusive monitor to code only. It must lie where
#: the default memory map allows execution (Armv8-M ARM, B8.1: not above 0x9FFF_FFFF).
STUB = Area("stub", 0x1FFF_FC00, PAGE)
_STUB_CODE = bytes.fromhex("bff32f8f eff30b80 eff30a81 00df")

_RIGHTS = {
    "flash": uc.PROT_READ | uc.PROT_EXEC,
    "ram": uc.PROT_READ | uc.PROT_WRITE | uc.PROT_EXEC,
    "ficr": uc.PROT_READ,
    "uicr": uc.PROT_READ,
}


class Store:
    """Host memory behind a stretch of the address space."""

    def __init__(self, area: Area) -> None:
        self.area = area
        self._map = mmap.mmap(-1, area.size)
        self.view = memoryview(self._map)
        self.host = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def slice(self, address: int, size: int) -> memoryview:
        """The bytes of ``size`` from ``address`` (which the area holds), writable."""
        offset = address - self.area.origin
        return self.view[offset : offset + size]


class Engine:
    """Unicorn, its memory and its counting core; a resource that :meth:`close` gives back."""

    def __init__(
        self, memory_map: MemoryMap, access: AccessHandler, *, native: bool | None = None
    ) -> None:
        self._library = uc.load()
        self.native = native_available() if native is None else native
        self._callbacks: list[object] = []  # Unicorn calls them as long as it lives
        handle = c_void_p()
        error = self._library.uc_open(uc.ARCH_ARM, uc.MODE_MCLASS_THUMB, byref(handle))
        uc.check(self._library, error, "opening Unicorn")
        self._handle = handle.value or 0
        self._context = c_void_p()
        try:
            self._control(uc.CTL_CPU_MODEL, c_int(uc.CPU_CORTEX_M33))
            self.stores = {
                area.name: self._map(area, _RIGHTS[area.name]) for area in memory_map.areas
            }
            areas = [Area(f"window{base:x}", base, WINDOW_SIZE) for base in memory_map.windows]
            self._windows = [self._map_window(area) for area in (*areas, PPB)]
            self._stub = self._map(STUB, uc.PROT_EXEC)
            self._stub.view[: len(_STUB_CODE)] = _STUB_CODE
            error = self._library.uc_context_alloc(self._handle, byref(self._context))
            uc.check(self._library, error, "allocating a context")
        except uc.UnicornError:
            self.close()
            raise
        code = [
            CodeRegion(s.area.origin, s.area.size, s.host, s.view, stable)
            for s, stable in ((self.stores["flash"], True), (self.stores["ram"], False))
        ]
        self.core: Core = make_core(
            self._library,
            self._handle,
            self._context.value or 0,
            access,
            code,
            [(s.area.origin, s.area.size, s.host) for s in self._windows],
            native=self.native,
        )
        self._guarded: set[int] = set()

    def _control(self, control: int, *arguments: ctypes._SimpleCData[int]) -> None:
        error = self._library.uc_ctl(c_void_p(self._handle), c_int(control), *arguments)
        uc.check(self._library, error, f"uc_ctl 0x{control:x}")

    def _map(self, area: Area, rights: int) -> Store:
        store = Store(area)
        error = self._library.uc_mem_map_ptr(
            self._handle, area.origin, area.size, rights, store.host
        )
        uc.check(self._library, error, f"mapping {area.name}")
        return store

    def _map_window(self, area: Area) -> Store:
        """Registers: no rights, so that each access asks, and never cached, so that each one does.

        Plain memory without rights asks only until Unicorn's TLB knows the page. The answer to a
        read stands in the window's store by the time Unicorn fetches it from there.
        """
        store = Store(area)
        read, write = mmio_callbacks(store.view, native=self.native)
        self._callbacks += [read, write]
        error = self._library.uc_mmio_map(
            self._handle, area.origin, area.size, read, store.host, write, None
        )
        uc.check(self._library, error, f"mapping {area.name}")
        error = self._library.uc_mem_protect(self._handle, area.origin, area.size, 0)
        uc.check(self._library, error, f"protecting {area.name}")
        return store

    def store_of(self, address: int, size: int = 1) -> Store | None:
        """The memory (not a device window) that holds all of [address, address + size)."""
        for store in self.stores.values():
            if store.area.holds(address, size):
                return store
        return None

    def guard(self, begin: int, end: int) -> None:
        """From now on ask before each write to the RAM pages of [begin, end).

        Everything else asks anyway. Each guarded page costs Unicorn a memory section, of which it
        has fewer than PAGE.
        """
        ram = self.stores["ram"].area
        for page in range(max(begin, ram.origin) & -PAGE, min(end, ram.end), PAGE):
            if page in self._guarded:
                continue
            self._guarded.add(page)
            rights = uc.PROT_READ | uc.PROT_EXEC
            error = self._library.uc_mem_protect(self._handle, page, PAGE, rights)
            uc.check(self._library, error, f"guarding page 0x{page:08x}")

    def code_changed(self, begin: int, end: int) -> None:
        """The host changed code in [begin, end): translate and decode it again."""
        self.core.forget(begin, end)
        self.core.invalidate()

    def flush(self) -> None:
        """Drop every translation."""
        self._control(uc.CTL_FLUSH_TB)
        self.core.invalidate()

    def save_context(self) -> c_void_p:
        """A copy of the processor's whole state, to be given to :meth:`load_context`."""
        context = c_void_p()
        error = self._library.uc_context_alloc(self._handle, byref(context))
        uc.check(self._library, error, "allocating a context")
        uc.check(self._library, self._library.uc_context_save(self._handle, context), "saving")
        return context

    def load_context(self, context: c_void_p) -> None:
        """Take back what :meth:`save_context` gave."""
        uc.check(self._library, self._library.uc_context_restore(self._handle, context), "loading")

    def free_context(self, context: c_void_p) -> None:
        """Give a saved state back."""
        self._library.uc_context_free(context)

    def close(self) -> None:
        """Free Unicorn; safe to call twice."""
        if self._handle:
            if self._context.value:
                self._library.uc_context_free(self._context)
            self._library.uc_close(self._handle)
            self._handle = 0
