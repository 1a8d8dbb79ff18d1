# ruff: noqa: F821 - Renode gives `request` and `self`
"""DPPIC of the nRF9160 for Renode (Python peripheral, IronPython 2.7).

Registers: nRF9160 Product Specification v2.1, "DPPI". Channel enables and groups are kept and read
back, TASKS_CHG[n].EN/DIS work. Lost: events published on a channel reach no task, because Renode's
peripherals have no PUBLISH and SUBSCRIBE registers.
"""

CHEN, CHENSET, CHENCLR, CHG, GROUPS = 0x500, 0x504, 0x508, 0x800, 6

if request.IsInit:
    enabled, groups = 0, [0] * GROUPS
elif request.IsRead:
    if request.Offset in (CHEN, CHENSET, CHENCLR):
        request.Value = enabled
    elif CHG <= request.Offset < CHG + 4 * GROUPS:
        request.Value = groups[(request.Offset - CHG) // 4]
    else:
        request.Value = 0
elif request.Offset == CHEN:
    enabled = request.Value & 0xFFFF
elif request.Offset == CHENSET:
    enabled |= request.Value & 0xFFFF
elif request.Offset == CHENCLR:
    enabled &= ~request.Value & 0xFFFF
elif CHG <= request.Offset < CHG + 4 * GROUPS:
    groups[(request.Offset - CHG) // 4] = request.Value & 0xFFFF
elif request.Offset < 8 * GROUPS and request.Value & 1:
    group = groups[request.Offset // 8]
    enabled = enabled & ~group & 0xFFFF if request.Offset % 8 else enabled | group
