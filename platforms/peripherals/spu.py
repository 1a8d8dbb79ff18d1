# ruff: noqa: B018, F821 - Renode gives `request` and `self`
"""SPU for Renode (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "SPU". Regions that are non-secure or callable are
written to the core's SAU, which has no regions on the chip. Lost: read, write and execute
permissions of regions, locks, events, attributes of peripherals, GPIO and DPPI (the non-secure
window of peripherals is non-secure as a whole). Where nothing is, everything is non-secure.

ControlWrite gives the chip's facts: of flash and then of RAM the origin, bytes of a region and
number of regions; origin and bytes of the non-secure window; number of peripheral ids; number of
the SAU's regions.
"""

FLASHNSC, RAMNSC, FLASHREGION, RAMREGION, PERIPHID = 0x500, 0x540, 0x600, 0x700, 0x800
OPEN, PRESENT = 0x17, 0x80000012  # after a reset: secure and open; present, secure, either mapping
SECATTR = 0x10
NSC, ENABLE = 0x2, 0x1  # of SAU_RLAR
SYSTEM = 0xE0000000  # Armv8-M ARM, B8.1: exempt from here on
ORIGIN, SIZE, COUNT = 0, 1, 2  # of flash; those of RAM follow
WINDOW, WINDOW_SIZE, PERIPHERALS, SAU_REGIONS = 6, 7, 8, 9


def memories():
    """Of flash and RAM: offsets of its regions and its callable ends; origin, size, regions."""
    places = ((FLASHREGION, FLASHNSC), (RAMREGION, RAMNSC))
    return [
        place + tuple(facts[3 * number + fact] for fact in (ORIGIN, SIZE, COUNT))
        for number, place in enumerate(places)
    ]


def is_secure(first, region):
    """SECATTR of a region of flash or RAM."""
    return bool(words.get(first + 4 * region, 0x17) & SECATTR)


def runs(first, origin, size, count):
    """Stretches of regions that are non-secure: (first address, last address, flags)."""
    found = []
    for region in range(count):
        start = origin + region * size
        if is_secure(first, region):
            continue
        if found and found[-1][1] == start - 1:
            found[-1] = (found[-1][0], start + size - 1, ENABLE)
        else:
            found.append((start, start + size - 1, ENABLE))
    return found


def gateways(first, nsc, origin, size, count):
    """The callable ends of secure regions: SIZE 1 is 32 bytes, each step doubles it."""
    found = []
    for at in (nsc, nsc + 8):
        region, steps = words.get(at, 0) & (count - 1), words.get(at + 4, 0) & 0xF
        if steps and is_secure(first, region):
            end = origin + (region + 1) * size
            found.append((end - (16 << steps), end - 1, ENABLE | NSC))
    return found


def attribute(cpu):
    """Write the SAU's regions; unused ones are off."""
    end_of_ram = facts[3 + ORIGIN] + facts[3 + SIZE] * facts[3 + COUNT]
    end_of_windows = facts[WINDOW] + 2 * facts[WINDOW_SIZE]
    regions = [
        (end_of_ram, facts[WINDOW] + facts[WINDOW_SIZE] - 1, ENABLE),
        (end_of_windows, SYSTEM - 1, ENABLE),
    ]
    for first, nsc, origin, size, count in memories():
        regions += runs(first, origin, size, count) + gateways(first, nsc, origin, size, count)
    for region in range(facts[SAU_REGIONS]):
        start, end, flags = regions[region] if region < len(regions) else (0, 0, 0)
        cpu.SAURegionNumber = region
        cpu.SAURegionBaseAddress = start
        cpu.SAURegionLimitAddress = end & ~0x1F | flags


if request.IsInit:
    words = {}
    try:
        facts  # a reset keeps them
    except NameError:
        facts = {}
elif request.IsUser:
    facts[int(request.Offset)] = int(request.Value)
elif request.IsRead:
    is_region = FLASHREGION <= request.Offset < RAMREGION + 4 * facts[3 + COUNT]
    is_peripheral = PERIPHID <= request.Offset < PERIPHID + 4 * facts[PERIPHERALS]
    usual = OPEN if is_region else PRESENT if is_peripheral else 0
    request.Value = words.get(request.Offset, usual)
else:
    words[request.Offset] = request.Value
    if FLASHNSC <= request.Offset < RAMREGION + 4 * facts[3 + COUNT]:
        attribute(self.GetMachine()["sysbus.cpu"])
