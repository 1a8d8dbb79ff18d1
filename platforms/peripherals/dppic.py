# ruff: noqa: B018, F821 - Renode gives `request` and `self`
"""DPPIC for Renode (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "DPPI". Channel enables and groups are kept and read
back, TASKS_CHG[n].EN/DIS work. Lost: events published on a channel reach no task, because Renode's
peripherals have no PUBLISH and SUBSCRIBE registers.

ControlWrite gives the chip's fact: the number of channels.
"""

CHEN, CHENSET, CHENCLR, CHG, GROUPS = 0x500, 0x504, 0x508, 0x800, 6

if request.IsInit:
    enabled, groups = 0, [0] * GROUPS
    try:
        channels  # a reset keeps them
    except NameError:
        channels = 0
elif request.IsUser:
    channels = (1 << int(request.Value)) - 1
elif request.IsRead:
    if request.Offset in (CHEN, CHENSET, CHENCLR):
        request.Value = enabled
    elif CHG <= request.Offset < CHG + 4 * GROUPS:
        request.Value = groups[(request.Offset - CHG) // 4]
    else:
        request.Value = 0
elif request.Offset == CHEN:
    enabled = request.Value & channels
elif request.Offset == CHENSET:
    enabled |= request.Value & channels
elif request.Offset == CHENCLR:
    enabled &= ~request.Value & channels
elif CHG <= request.Offset < CHG + 4 * GROUPS:
    groups[(request.Offset - CHG) // 4] = request.Value & channels
elif request.Offset < 8 * GROUPS and request.Value & 1:
    group = groups[request.Offset // 8]
    enabled = enabled & ~group & channels if request.Offset % 8 else enabled | group
