# ruff: noqa: F821 - Renode gives `request` and `self`
"""SPU of the nRF9160 for Renode 1.17 (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "SPU". Regions that are non-secure or callable are
written to the core's SAU, which has no regions on the chip. Lost: read, write and execute
permissions of regions, locks, events, attributes of peripherals, GPIO and DPPI (the window at
0x4000_0000 is non-secure as a whole).
"""

FLASHNSC, RAMNSC, FLASHREGION, RAMREGION = 0x500, 0x540, 0x600, 0x700
PERIPHID, PERIPHERALS = 0x800, 67
OPEN, PRESENT = 0x17, 0x80000012  # after a reset: secure and open; present, secure, either mapping
COUNT, SECATTR, REGIONS = 32, 0x10, 72
NSC, ENABLE = 0x2, 0x1  # of SAU_RLAR
MEMORIES = ((FLASHREGION, FLASHNSC, 0x0, 0x8000), (RAMREGION, RAMNSC, 0x20000000, 0x2000))


def is_secure(first, region):
    """SECATTR of a region of flash or RAM."""
    return bool(words.get(first + 4 * region, 0x17) & SECATTR)


def runs(first, origin, size):
    """Stretches of regions that are non-secure: (first address, last address, flags)."""
    found = []
    for region in range(COUNT):
        start = origin + region * size
        if is_secure(first, region):
            continue
        if found and found[-1][1] == start - 1:
            found[-1] = (found[-1][0], start + size - 1, ENABLE)
        else:
            found.append((start, start + size - 1, ENABLE))
    return found


def gateways(first, nsc, origin, size):
    """The callable ends of secure regions: SIZE 1 is 32 bytes, each step doubles it."""
    found = []
    for at in (nsc, nsc + 8):
        region, steps = words.get(at, 0) & (COUNT - 1), words.get(at + 4, 0) & 0xF
        if steps and is_secure(first, region):
            end = origin + (region + 1) * size
            found.append((end - (16 << steps), end - 1, ENABLE | NSC))
    return found


def attribute(cpu):
    """Write the SAU's regions; unused ones are off."""
    regions = [(0x40000000, 0x4FFFFFFF, ENABLE)]
    for first, nsc, origin, size in MEMORIES:
        regions += runs(first, origin, size) + gateways(first, nsc, origin, size)
    for region in range(REGIONS):
        start, end, flags = regions[region] if region < len(regions) else (0, 0, 0)
        cpu.SAURegionNumber = region
        cpu.SAURegionBaseAddress = start
        cpu.SAURegionLimitAddress = end & ~0x1F | flags


if request.IsInit:
    words = {}
elif request.IsRead:
    is_region = FLASHREGION <= request.Offset < RAMREGION + 4 * COUNT
    is_peripheral = PERIPHID <= request.Offset < PERIPHID + 4 * PERIPHERALS
    usual = OPEN if is_region else PRESENT if is_peripheral else 0
    request.Value = words.get(request.Offset, usual)
else:
    words[request.Offset] = request.Value
    if FLASHNSC <= request.Offset < RAMREGION + 4 * COUNT:
        attribute(self.GetMachine()["sysbus.cpu"])
