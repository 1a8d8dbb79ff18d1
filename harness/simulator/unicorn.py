"""Unicorn's C interface through ctypes.

The shared library is that of the Python package ``unicorn``, whose binding is not imported: it
costs 30 ms at start-up, and register accesses go through several layers. Functions, numbers and
types are those of Unicorn's public header ``unicorn/unicorn.h``, version 2.1.
"""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from enum import IntEnum
from functools import cache
from pathlib import Path

from harness.base.errors import EnvironmentMissing

ARCH_ARM = 1
MODE_MCLASS_THUMB = 0x10 | 0x20
CPU_CORTEX_M33 = 11
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
CTL_CPU_MODEL = 7 | (1 << 26) | (1 << 30)
HOOK_MEM_READ, HOOK_MEM_WRITE = 1 << 10, 1 << 11
CTL_FLUSH_TB = 10 | (1 << 30)


#: A hook of memory accesses: (engine, access, address, size, value, user data).
MEMORY_HOOK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_uint64, c_int, c_int64, c_void_p)


class Reg(IntEnum):
    """Register numbers of ``unicorn/arm.h``."""

    FPSCR = 6
    LR = 10
    PC = 11
    SP = 12
    R0 = 66
    R12 = 78
    S0 = 79
    MSP = 115
    PSP = 116
    CONTROL = 117
    XPSR = 120
    EPSR = 121
    PRIMASK = 123
    BASEPRI = 124
    FAULTMASK = 126
    XPSR_NZCVQG = 138


#: r0-r12, sp, lr, pc, xpsr, in the order of dumps and frames.
CORE_REGISTERS = (*range(Reg.R0, Reg.R12 + 1), int(Reg.SP), int(Reg.LR), int(Reg.PC), int(Reg.XPSR))


#: Unicorn's numbers of refused stores: to unmapped addresses, and to pages that are not writable.
WRITES = (20, 22)

_SIGNATURES: dict[str, tuple[type | None, list[type]]] = {
    "uc_version": (c_uint32, [c_void_p, c_void_p]),
    "uc_open": (c_int, [c_int, c_int, c_void_p]),
    "uc_close": (c_int, [c_void_p]),
    "uc_strerror": (ctypes.c_char_p, [c_int]),
    "uc_emu_start": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64, c_size_t]),
    "uc_emu_stop": (c_int, [c_void_p]),
    "uc_reg_read": (c_int, [c_void_p, c_int, c_void_p]),
    "uc_reg_write": (c_int, [c_void_p, c_int, c_void_p]),
    "uc_mem_map_ptr": (c_int, [c_void_p, c_uint64, c_size_t, c_uint32, c_void_p]),
    "uc_mmio_map": (
        c_int,
        [c_void_p, c_uint64, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p],
    ),
    "uc_mem_protect": (c_int, [c_void_p, c_uint64, c_size_t, c_uint32]),
}

#: The functions that are passed to the counting core, in the order of ``Unicorn`` in native/core.h.
NATIVE_FUNCTIONS = (
    "uc_emu_start",
    "uc_emu_stop",
    "uc_reg_read",
    "uc_reg_write",
    "uc_hook_add",
    "uc_ctl",
    "uc_context_size",
    "uc_context_alloc",
    "uc_context_save",
    "uc_context_restore",
    "uc_context_free",
    "uc_mem_protect",
)


@cache
def load() -> ctypes.CDLL:
    """Load the shared library of the installed ``unicorn`` package and declare its types.

    Raises :class:`EnvironmentMissing` if the package or its library is missing or too old.
    """
    spec = importlib.util.find_spec("unicorn")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    found = [
        path
        for root in roots
        for pattern in ("libunicorn.so*", "libunicorn*.dylib", "unicorn.dll")
        for path in sorted((Path(root) / "lib").glob(pattern))
    ]
    hint = "install it with: pip install 'unicorn>=2.1.4'"
    if not found:
        raise EnvironmentMissing("the simulator needs the Python package unicorn", hint=hint)
    try:
        library = ctypes.CDLL(str(found[0]))
    except OSError as error:
        raise EnvironmentMissing(f"cannot load {found[0].name}: {error}", hint=hint) from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    version = library.uc_version(None, None)
    if (version >> 24, version >> 16 & 0xFF) < (2, 1):
        raise EnvironmentMissing(
            f"unicorn {version >> 24}.{version >> 16 & 0xFF} is too old", hint=hint
        )
    return library


class UnicornError(RuntimeError):
    """Unicorn refused a call; a defect of the simulator, not of the firmware."""


def check(library: ctypes.CDLL, error: int, call: str) -> None:
    """Raise :class:`UnicornError` for a return value other than zero."""
    if error:
        raise UnicornError(f"{call}: {library.uc_strerror(error).decode()}")


def function_address(library: ctypes.CDLL, name: str) -> int:
    """The address of one of the library's functions."""
    return ctypes.cast(getattr(library, name), c_void_p).value or 0
