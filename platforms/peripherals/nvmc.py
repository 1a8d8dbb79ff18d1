# ruff: noqa: B018, B905, F821 - Renode gives `request` and `self`
"""NVMC for Renode (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "NVMC". Writes take no time (READY is always 1).
A page is erased as on the chip: CONFIG = EEN, then 0xFFFFFFFF to its first word. The store goes to
plain memory, so the pages are found when CONFIG leaves EEN: those whose first word turned to
0xFFFFFFFF. Lost: a store without WEN is not refused, a store can set bits, and a page whose first
word was erased before keeps the rest of its data.

ControlWrite gives the chip's facts: origin and bytes of flash, bytes of a page.
"""

READY, READYNEXT, CONFIG, ERASEALL = 0x400, 0x408, 0x504, 0x50C
EEN, ERASED = 2, 0xFFFFFFFF
ORIGIN, SIZE, PAGE = 0, 1, 2


def pages():
    """The address of every page."""
    return range(facts[ORIGIN], facts[ORIGIN] + facts[SIZE], facts[PAGE])


def first_words(bus):
    """The first word of every page."""
    return [bus.ReadDoubleWord(page) for page in pages()]


def erase(bus, page):
    """Fill one page with 0xFF."""
    for address in range(page, page + facts[PAGE], 4):
        bus.WriteDoubleWord(address, ERASED)


if request.IsInit:
    config, words = 0, []
    try:
        facts  # a reset keeps them
    except NameError:
        facts = {}
elif request.IsUser:
    facts[int(request.Offset)] = int(request.Value)
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
        for page, before, after in zip(pages(), words, first_words(bus)):
            if before != ERASED and after == ERASED:
                erase(bus, page)
    config = request.Value & 7
    words = first_words(bus) if config == EEN else []
elif request.Offset == ERASEALL and request.Value == 1 and config == EEN:
    bus = self.GetMachine().SystemBus
    for page in pages():
        erase(bus, page)
