"""The memory of the abstract interpreter: words in pages, which are copied when written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from harness.elf import Image
from harness.elf.regions import RAM
from harness.model.structures import WORD
from harness.resolver.static.values import MASK, Cause, Unknown, Value, derived

_PAGE = 64  # words
_SHIFT = 8  # log2 of a page's bytes
POWER_ON = Unknown(Cause("memory that nothing has written", 0), external=True)

#: A word: one value, or one for each byte if only some bytes are known.
Cell = Value | tuple[Value, Value, Value, Value]

_versions = count(1)


class WordMemory:
    """RAM as written by a path, and the image's data in flash; peripherals are unknown.

    Two memories with the same ``version`` are equal.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._pages: dict[int, list[Cell]] = {}
        self._own: set[int] = set()
        self.version = 0

    def fork(self) -> WordMemory:
        """A copy; its pages are copied when either is written."""
        other = WordMemory(self._image)
        other._pages = dict(self._pages)
        other.version = self.version
        self._own = set()
        return other

    def word(self, address: int, at: int) -> Value:
        """The word at the aligned ``address``, loaded by the instruction ``at``."""
        if address in RAM:
            cell = self._cell(address)
            if isinstance(cell, tuple):
                return _joined(list(cell))
            return cell.copied() if isinstance(cell, Unknown) and cell.shared else cell
        data = self._image.read(address, WORD)
        if data is None:
            return Unknown(Cause(f"reads 0x{address:08x}", at), external=True)
        return int.from_bytes(data, "little")

    def load(self, address: int, size: int, at: int) -> Value:
        """``size`` bytes (1, 2, 4) as a number."""
        within = address % WORD
        if size == WORD and not within:
            return self.word(address, at)
        if within + size > WORD:
            parts = [self.load(address + i, 1, at) for i in range(size)]
            return _joined(parts)
        if address in RAM:
            cell = self._cell(address - within)
            if isinstance(cell, tuple):
                return _joined(list(cell[within : within + size]))
            if isinstance(cell, int):
                return cell >> 8 * within & (1 << 8 * size) - 1
            return Unknown(cell.cause, external=cell.external)
        data = self._image.read(address, size)
        if data is None:
            return Unknown(Cause(f"reads 0x{address:08x}", at), external=True)
        return int.from_bytes(data, "little")

    def store(self, address: int, size: int, value: Value) -> bool:
        """Store ``size`` bytes of ``value``; False if the word is shared, or not in RAM."""
        within = address % WORD
        if address not in RAM:
            return False
        if size == WORD and not within:
            return self._put(address, value)
        if within + size > WORD:
            done = [self.store(address + i, 1, _byte(value, i)) for i in range(size)]
            return all(done)
        old = self._cell(address - within)
        if isinstance(old, Unknown) and old.shared:
            return False
        if isinstance(old, int) and isinstance(value, int):
            mask = (1 << 8 * size) - 1 << 8 * within
            return self._put(address - within, old & ~mask & MASK | value << 8 * within & mask)
        parts = [_byte(old, i) for i in range(WORD)]
        parts[within : within + size] = [_byte(value, i) for i in range(size)]
        known = _joined(parts)
        if isinstance(known, int):
            return self._put(address - within, known)
        first, second, third, fourth = parts
        return self._put(address - within, (first, second, third, fourth))

    def forget(self, start: int, end: int, unknown: Unknown) -> None:
        """Make the words from ``start`` to ``end`` (exclusive) unknown."""
        for address in range(start & ~3, end, WORD):
            if address in RAM:
                page, index = self._page(address), address >> 2 & _PAGE - 1
                old = page[index]
                if not isinstance(old, Unknown) or not old.shared:
                    page[index] = unknown
        self.version = next(_versions)

    def equals(self, other: WordMemory) -> bool:
        """True if both memories have the same cells."""
        return self.version == other.version or all(
            self._pages.get(number) is other._pages.get(number)
            or self._pages.get(number) == other._pages.get(number)
            for number in self._pages.keys() | other._pages.keys()
        )

    def words(self, start: int, end: int) -> Iterator[Cell]:
        """The cells from ``start`` to ``end`` (exclusive)."""
        return (self._cell(address) for address in range(start & ~3, end, WORD))

    def join(self, other: WordMemory, merge: Callable[[Cell, Cell], Cell]) -> None:
        """Make this memory stand for both itself and ``other``."""
        changed = False
        for number in self._pages.keys() | other._pages.keys():
            mine, theirs = self._pages.get(number), other._pages.get(number)
            if mine is theirs:
                continue
            mine = mine or [POWER_ON] * _PAGE
            theirs = theirs or [POWER_ON] * _PAGE
            for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                if a is b or (isinstance(a, int) and a == b) or (merged := merge(a, b)) is a:
                    continue
                self._page(number << _SHIFT)[index] = merged
                changed = True
        if changed:
            self.version = next(_versions)

    def _cell(self, address: int) -> Cell:
        page = self._pages.get(address >> _SHIFT)
        return POWER_ON if page is None else page[address >> 2 & _PAGE - 1]

    def _page(self, address: int) -> list[Cell]:
        number = address >> _SHIFT
        if number not in self._own:
            page = self._pages.get(number)
            self._pages[number] = [POWER_ON] * _PAGE if page is None else list(page)
            self._own.add(number)
        return self._pages[number]

    def _put(self, address: int, cell: Cell) -> bool:
        index = address >> 2 & _PAGE - 1
        page = self._pages.get(address >> _SHIFT)
        old = POWER_ON if page is None else page[index]
        if isinstance(old, Unknown):
            if old.shared:
                return False
        elif old == cell:
            return True
        self._page(address)[index] = cell
        self.version = next(_versions)
        return True


def _byte(value: Cell, index: int) -> Value:
    if isinstance(value, tuple):
        return value[index]
    if isinstance(value, int):
        return value >> 8 * index & 0xFF
    return Unknown(value.cause, external=value.external)


def _joined(parts: list[Value]) -> Value:
    numbers = [part for part in parts if isinstance(part, int)]
    if len(numbers) < len(parts):
        return derived(*parts)
    return sum(number << 8 * i for i, number in enumerate(numbers))
