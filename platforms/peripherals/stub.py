# ruff: noqa: F401, F821, I001, UP031 - Renode gives `request` and `self`
"""A block without a model for Renode (Python peripheral, IronPython 2.7).

Reads give 0 and writes are lost; each is logged with the block's name and the register's offset. It
takes the place of a tag where accesses that nothing answers are faults, as they are on the chip.
"""

from Antmicro.Renode.Logging import LogLevel
import Antmicro.Renode.Logging  # makes `Log` a method of every peripheral

if request.IsRead:
    request.Value = 0
if not request.IsInit:
    direction = "read from" if request.IsRead else "write to"
    self.Log(LogLevel.Warning, "Unhandled %s offset 0x%X." % (direction, request.Offset))
