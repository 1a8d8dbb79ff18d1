"""Where the instructions went, and which lines ran: the counters of a machine, by name."""

from __future__ import annotations

from collections import Counter, defaultdict

from harness.firmware.elf import Firmware
from harness.simulator.machine import Machine


def by_function(machine: Machine) -> dict[str, int]:
    """Instructions executed in each function, most first; code without a symbol by address."""
    found: Counter[str] = Counter()
    for address, count in machine.core.profile().items():
        found[machine.firmware.locate(address).function or f"0x{address:08x}"] += count
    return dict(found.most_common())


def covered(machine: Machine) -> list[int]:
    """Addresses of the halfwords that were executed, ascending (flash, then RAM)."""
    stores = machine.engine.stores
    addresses = []
    for index, store in enumerate((stores["flash"], stores["ram"])):
        for at, byte in enumerate(machine.core.coverage(index)):
            if byte:
                origin = store.area.origin + 16 * at
                addresses += [origin + 2 * bit for bit in range(8) if byte >> bit & 1]
    return addresses


def lcov(firmware: Firmware, addresses: list[int]) -> str:
    """Executed addresses as an LCOV trace: per file the lines with code, 1 where one ran."""
    ran = set(addresses)
    starts, places = firmware.lines
    lines: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for index, (file, line) in enumerate(places):
        if not file or not line:
            continue
        end = starts[index + 1] if index + 1 < len(starts) else starts[index] + 2
        hit = any(at in ran for at in range(starts[index] & ~1, end, 2))
        lines[file][line] = lines[file].get(line, 0) | hit
    out = []
    for file, hits in sorted(lines.items()):
        out += [f"SF:{file}", *(f"DA:{line},{int(hit)}" for line, hit in sorted(hits.items()))]
        out += [f"LF:{len(hits)}", f"LH:{sum(hits.values())}", "end_of_record"]
    return "\n".join(out) + "\n" if out else ""
