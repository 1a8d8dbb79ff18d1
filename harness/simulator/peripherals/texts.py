"""Messages about accesses to peripherals, whichever part of a chip reports them."""

from __future__ import annotations

from harness.base.platforms import ChipTable, Peripheral


def dma_refused(device: str, access: str, address: int, size: int, *, secure: bool) -> str:
    """EasyDMA that may not "read" or "write": non-secure in ``secure`` memory, or no data RAM."""
    why = "secure memory, and it is non-secure" if secure else "outside data RAM"
    return f"EasyDMA of {device} cannot {access} {size} bytes at 0x{address:08x}, {why}"


def part_of_register(register: str, *, is_write: bool, size: int) -> str:
    """An access of ``size`` bytes, one or two, to a register."""
    part, verb = "a byte" if size == 1 else "a halfword", "written" if is_write else "read"
    return f"{part} of {register} was {verb}: registers take words only"


def other_alias(table: ChipTable, block: Peripheral, address: int) -> str:
    """An access at the alias where a peripheral does not answer."""
    other = address ^ table.secure_window ^ table.nonsecure_window
    state = "non-secure" if address >= table.secure_window else "secure"
    return (
        f"nothing answers at 0x{address:08x}: {block.name} is {state}, and its address is"
        f" 0x{other:08x}"
    )


def unmodelled(subject: str, use: str) -> str:
    """A register or block without a model that was "read" or "written"."""
    return f"{subject} has no model and was {use}"


def unmodelled_task(task: str) -> str:
    """A task that the model of its peripheral lacks."""
    return unmodelled(task, "triggered")


def endless(device: str) -> str:
    """A task whose event executes it again, directly or through others."""
    return f"events and tasks of {device} trigger one another without end, which is not modelled"
