"""What is secure, non-secure, or a gateway: SAU and IDAU (Armv8-M ARM, B8; nRF9160 PS, "SPU").

The nRF9160's SAU has no regions: with SAU_CTRL.ALLNS it leaves the decision to the IDAU, which
follows the SPU's regions; otherwise everything is secure. A violation that the processor itself
finds is a SecureFault (AUVIOL, INVEP, INVTRAN). What only the bus refuses (a region's read, write
and execute permissions, a peripheral at the other state's address) is a BusFault and an event of
the SPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from harness.simulator.engine import Engine
from harness.simulator.library import PROT_EXEC, PROT_READ, PROT_WRITE
from harness.simulator.memorymap import Block

ALLNS = 2  # SAU_CTRL, with ENABLE clear
EXECUTE, WRITE, READ, SECURE = 1, 2, 4, 1 << 4
#: Bytes of the smallest region, as in the counting core.
GRANULE = 8192
#: Unicorn's pages.
PAGE = 1024
#: IDAU region numbers, as TT gives them: flash from 0, RAM from 64.
_FIRST_RAM_REGION = 64
_SECURE_ALIAS, _SECURE_ALIAS_END = 0x5000_0000, 0x6000_0000


class Permissions(Protocol):
    """What :class:`Attribution` asks of the SPU."""

    def regions(self, memory: str) -> list[int]:
        """PERM of each region of ``flash`` or ``ram``."""
        ...

    def gateways(self, memory: str) -> list[range]:
        """The addresses of ``flash`` or ``ram`` that are non-secure callable."""
        ...

    def is_secure(self, peripheral: int) -> bool:
        """SECATTR of a peripheral, by its id."""
        ...

    def is_split(self, peripheral: int) -> bool:
        """True for a peripheral whose registers are divided between the states."""
        ...

    def has_secure_dma(self, peripheral: int) -> bool:
        """DMASEC of a peripheral, by its id."""
        ...

    def violation(self, kind: str) -> None:
        """Raise the event RAMACCERR, FLASHACCERR or PERIPHACCERR."""
        ...


@dataclass(frozen=True)
class _Stretch:
    """Memory with the same page rights throughout: those of secure, of non-secure code."""

    origin: int
    size: int
    rights: tuple[int, int]


class Attribution:
    """Tells which state an address belongs to; keeps the page rights and the core's map up to date.

    It costs no time until a region is made non-secure or restricted.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._origins = {name: engine.stores[name].area for name in ("flash", "ram")}
        self._information = [engine.stores[name].area for name in ("ficr", "uicr")]
        self.spu: Permissions
        self._stretches: tuple[_Stretch, ...] = ()
        self._in_force: dict[tuple[int, int], int] = {}
        self.reset()

    @property
    def divided(self) -> bool:
        """True once anything is non-secure; the core asks about every access to a device then."""
        return self._divided

    @divided.setter
    def divided(self, value: bool) -> None:
        self._divided = self._engine.core.divided = value

    def reset(self) -> None:
        """Everything is secure and open, as after a reset."""
        self.divided = False
        #: True once any access to any memory may be refused.
        self.restricted = False
        self.sau_ctrl = 0
        self._given = False
        self._permissions = {name: [7 | SECURE] * 32 for name in self._origins}
        self._gateways: list[range] = []
        self._open()

    def _open(self) -> None:
        self._open_pages()
        self._stretches = ()
        for index in (0, 1):
            self._engine.core.set_rights(index, None)

    def update(self, sau_ctrl: int, *, nonsecure: bool) -> None:
        """Take over changes of SPU or SAU; ``nonsecure``: the state that runs."""
        self.sau_ctrl = sau_ctrl
        self._given = sau_ctrl == ALLNS
        self._permissions = {name: self.spu.regions(name) for name in self._origins}
        self._gateways = [place for name in self._origins for place in self.spu.gateways(name)]
        found = {one for regions in self._permissions.values() for one in regions}
        if not self._given:
            found = {one | SECURE for one in found}
        self.divided = self.divided or nonsecure or any(not one & SECURE for one in found)
        self.restricted = nonsecure or found != {7 | SECURE}
        if not self.restricted:
            if self._stretches:
                self._open()
            return
        self._engine.core.watch_ram()
        for index, name in enumerate(self._origins):
            self._engine.core.set_rights(index, self._granules(name))
        self._open_pages()
        self._stretches = tuple(self._all_stretches())
        self.enforce(nonsecure=nonsecure)

    def _open_pages(self) -> None:
        """Give all pages their full rights again: new stretches may overlap old ones."""
        changed = False
        for (origin, size), rights in self._in_force.items():
            if rights != self._engine.rights_of(origin):
                self._engine.protect(origin, size, self._engine.rights_of(origin))
                changed = True
        self._in_force = {}
        if changed:
            self._engine.flush_pages()

    def _granules(self, name: str) -> bytes:
        """What each state may do in each granule, in the form of Area.rights in core.h."""
        area = self._origins[name]
        found = bytearray()
        for permission in self._permissions[name]:
            secure = bool(permission & SECURE) or not self._given
            runs = 1 if secure else 2
            stacks = (4 if secure else 12) if permission & READ and permission & WRITE else 0
            count = self._region_size(name) // GRANULE
            found += bytes([runs | stacks]) * count
        assert len(found) * GRANULE == area.size
        return bytes(found)

    def _region_size(self, name: str) -> int:
        return self._origins[name].size // 32

    def _all_stretches(self) -> list[_Stretch]:
        found: list[_Stretch] = []
        for name, area in self._origins.items():
            size = self._region_size(name)
            base = self._engine.rights_of(area.origin)
            for region, permission in enumerate(self._permissions[name]):
                rights = base & _page_rights(permission)
                secure = bool(permission & SECURE) or not self._given
                both = (rights, 0 if secure else rights)
                origin = area.origin + region * size
                last = found[-1] if found else None
                if last and last.rights == both and last.origin + last.size == origin:
                    found[-1] = _Stretch(last.origin, last.size + size, both)
                else:
                    found.append(_Stretch(origin, size, both))
        found = [part for one, after in pairwise((*found, None)) for part in _guarded(one, after)]
        for name in ("ficr", "uicr"):
            area = self._engine.stores[name].area
            found.append(_Stretch(area.origin, area.size, (self._engine.rights_of(area.origin), 0)))
        return found

    def enforce(self, *, nonsecure: bool) -> None:
        """Put the page rights of a security state in force."""
        changed = False
        for stretch in self._stretches:
            place, rights = (stretch.origin, stretch.size), stretch.rights[nonsecure]
            if self._in_force.get(place, self._engine.rights_of(stretch.origin)) != rights:
                self._engine.protect(*place, rights)
                changed = True
            self._in_force[place] = rights
        if changed:
            self._engine.flush_pages()

    # questions

    def _region(self, address: int) -> tuple[str, int] | None:
        for name, area in self._origins.items():
            if area.holds(address):
                return name, (address - area.origin) // self._region_size(name)
        return None

    def idau_region(self, address: int) -> int | None:
        """The region number that TT gives, None outside flash and RAM."""
        found = self._region(address)
        if found is None:
            return None
        return found[1] + (_FIRST_RAM_REGION if found[0] == "ram" else 0)

    def is_secure(self, address: int) -> bool:
        """True for a secure (or non-secure callable) address.

        An address without memory or device is not secure: an access to it fails as in secure code.
        """
        if not self._given:
            return True
        found = self._region(address)
        if found is not None:
            return bool(self._permissions[found[0]][found[1]] & SECURE)
        secure_alias = _SECURE_ALIAS <= address < _SECURE_ALIAS_END
        return secure_alias or any(area.holds(address) for area in self._information)

    def is_callable(self, address: int) -> bool:
        """True for secure memory that non-secure code may enter through SG."""
        return any(address in gateway for gateway in self._gateways)

    def refuses_bus(self, address: int, permission: int) -> bool:
        """True if the SPU's permissions refuse an access, which also raises its event."""
        found = self._region(address)
        if found is None or self._permissions[found[0]][found[1]] & permission:
            return False
        self.spu.violation(f"{found[0].upper()}ACCERR")
        return True

    def refuses_transfer(self, peripheral: int, address: int, size: int) -> bool:
        """True if non-secure EasyDMA goes to secure memory, which also raises the SPU's event."""
        if self.spu.has_secure_dma(peripheral):
            return False
        if not self.is_secure(address) and not self.is_secure(address + max(size - 1, 0)):
            return False
        self.spu.violation("RAMACCERR")
        return True

    def refuses_peripheral(self, block: Block, address: int) -> bool:
        """True if a peripheral does not answer at this alias, which also raises the SPU's event.

        A secure one answers at 0x5..., a non-secure one at 0x4..., a split one that is non-secure
        at both (nRF9160 PS, "Peripheral address mapping").
        """
        if not self.divided or len(block.bases) < 2:
            return False
        alias_secure = address >= _SECURE_ALIAS
        secure = self.spu.is_secure(block.number)
        if alias_secure == secure or (alias_secure and self.spu.is_split(block.number)):
            return False
        self.spu.violation("PERIPHACCERR")
        return True


def _guarded(one: _Stretch | None, after: _Stretch | None) -> list[_Stretch]:
    """``one``, whose last page asks before loads if ``after`` may not be read.

    For a load that lies in two pages Unicorn checks the rights of the first page only.
    """
    assert one is not None
    if after is None or one.origin + one.size != after.origin:
        return [one]
    last = [
        mine & ~PROT_READ if mine & ~theirs & PROT_READ else mine
        for mine, theirs in zip(one.rights, after.rights, strict=True)
    ]
    if one.rights == (last[0], last[1]):
        return [one]
    rest = one.size - PAGE
    return [
        _Stretch(one.origin, rest, one.rights),
        _Stretch(one.origin + rest, PAGE, (last[0], last[1])),
    ]


def _page_rights(permission: int) -> int:
    rights = PROT_READ if permission & READ else 0
    rights |= PROT_WRITE if permission & WRITE else 0
    return rights | (PROT_EXEC if permission & EXECUTE else 0)
