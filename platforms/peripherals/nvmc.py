# ruff: noqa: F821 - Renode gives `request` and `self`
"""NVMC of the nRF9160 for Renode (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "NVMC". Writes take no time (READY is always 1).
A page is erased as on the chip: CONFIG = EEN, then 0xFFFFFFFF to its first word. The store goes to
plain memory, so the pages are found when CONFIG leaves EEN: those whose first word turned to
0xFFFFFFFF. Lost: a store without WEN is not refused, a store can set bits, and a page whose first
word was erased before keeps the rest of its data.
"""

READY, READYNEXT, CONFIG, ERASEALL = 0x400, 0x408, 0x504, 0x50C
EEN, ERASED, PAGE, FLASH = 2, 0xFFFFFFFF, 0x1000, 0x100000


def first_words(bus):
    """The first word of every page."""
    return [bus.ReadDoubleWord(page) for page in range(0, FLASH, PAGE)]


def erase(bus, page):
    """Fill one page with 0xFF."""
    for address in range(page, page + PAGE, 4):
        bus.WriteDoubleWord(address, ERASED)


if request.IsInit:
    config, words = 0, []
elif request.IsRead:
    if request.Offset in (READY, READYNEXT):
        request.Value = 1
    elif request.Offset == CONFIG:
        request.Value = config
    else:
        request.Value = 0
elif request.Offset == CONFIG:
    bus = self.GetMachine().SystemBus
    if config == EEN:
        for index, after in enumerate(first_words(bus)):
            if words[index] != ERASED and after == ERASED:
                erase(bus, index * PAGE)
    config = request.Value & 7
    words = first_words(bus) if config == EEN else []
elif request.Offset == ERASEALL and request.Value == 1 and config == EEN:
    bus = self.GetMachine().SystemBus
    for page in range(0, FLASH, PAGE):
        erase(bus, page)
