"""The layout of regions: each byte once, in a section, a symbol, padding or a gap.

The parts of a region sum to the linker's figure of used bytes: from the region's origin to the end
of the last section in it, alignment included, also where the section ends behind the region.
``.data`` is counted in RAM, where it is used, and in FLASH, where its initial values are stored. A
section without stored bytes (``.bss``, ``.noinit``) is counted in RAM alone, whatever load address
the linker gave it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.elf.file import ElfFile, Section, Symbol
from harness.elf.regions import MemoryRegion

#: The longest run of filler bytes that counts as padding, in bytes.
LONGEST_PADDING = 64
#: The largest alignment of a section that continues a region behind its end, in bytes.
LARGEST_ALIGNMENT = 4096
#: Kinds of symbols that name bytes.
_NAMED = frozenset({"func", "object", "notype", "common", "tls"})
#: The kind of a part by the kind of its symbol.
_PART_KINDS = {"func": "function", "notype": "label", "strings": "strings"}
#: Precedence of symbols for the same bytes: the first names them, the others are aliases.
_BINDING_ORDER = {"global": 0, "weak": 1, "local": 2}
_NOP = b"\x00\xbf"  # Thumb NOP, little-endian: the assembler's padding of code
#: The least share of printable bytes in string literals.
_PRINTABLE_SHARE = 0.9


@dataclass(frozen=True)
class LayoutPart:
    """A run of bytes in one region: a symbol's, padding, or bytes without a name.

    ``address`` is the run-time address, ``place`` the address in the region: they differ for the
    stored initial values of RAM data (``copy``). ``aliases`` are other names of the same bytes.
    """

    name: str
    kind: str  # "function", "object", "label", "padding", "strings", "unnamed", "gap"
    region: str
    section: str
    address: int
    place: int
    size: int
    copy: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """True for a part with a symbol."""
        return self.kind in ("function", "object", "label")


@dataclass(frozen=True)
class Layout:
    """The regions' parts, sorted by place, and notes on sums that do not add up."""

    parts: tuple[LayoutPart, ...]
    notes: tuple[str, ...]

    def of(self, region: str) -> tuple[LayoutPart, ...]:
        """The parts of one region."""
        return tuple(part for part in self.parts if part.region == region)


@dataclass(frozen=True)
class _Extent:
    """A section, or a segment if the section table is stripped, at one place in a region."""

    section: Section
    place: int
    copy: bool


def extents(image: ElfFile) -> tuple[Section, ...]:
    """The sections that occupy memory, or segments as sections if there is no section table."""
    if image.sections:
        return image.sections
    sections = []
    for number, segment in enumerate(image.segments):
        name, start, data = f"segment {number}", segment.address, segment.data
        stored, zeroed = len(data), segment.size - len(data)
        if stored:
            sections.append(Section(name, start, segment.load_address, stored, True, True, data))
        if zeroed > 0:
            name = f"{name} (zeroed)"
            sections.append(Section(name, start + stored, None, zeroed, True, False, b""))
    return tuple(sections)


#: A section with the symbols in it.
Content = tuple[Section, Sequence[Symbol]]


def of_image(image: ElfFile, memories: Sequence[MemoryRegion]) -> Layout:
    """The layout of an image, with notes on gaps that sections without stored bytes leave."""
    layout = lay_out(_contents(image), memories)
    return replace(layout, notes=(*layout.notes, *_unstored(image, layout.parts)))


def lay_out(contents: Sequence[Content], memories: Sequence[MemoryRegion]) -> Layout:
    """Split every region of ``memories`` into parts; notes name sections outside of them."""
    notes: list[str] = []
    sections = [section for section, _ in contents]
    pieces = {id(section): _pieces(section, spans) for section, spans in _spans(contents, notes)}
    parts: list[LayoutPart] = []
    placed: set[int] = set()
    for memory in memories:
        placed_extents = _placed(sections, memory, memories)
        placed.update(id(extent.section) for extent in placed_extents)
        parts.extend(_parts(memory, placed_extents, pieces))
    for section in sections:
        if id(section) not in placed:
            notes.append(
                f"section {section.name} lies in no region: {section.size} B at "
                f"0x{section.address:08x}"
            )
    return Layout(tuple(parts), tuple(notes))


def _contents(image: ElfFile) -> list[Content]:
    by_name: dict[str, list[Symbol]] = {}
    for symbol in image.symbols:
        if symbol.kind in _NAMED and (symbol.size or symbol.kind == "func"):
            by_name.setdefault(symbol.section, []).append(symbol)
    return [(section, by_name.get(section.name, ())) for section in extents(image)]


def _unstored(image: ElfFile, parts: Iterable[LayoutPart]) -> Iterable[str]:
    """Notes on gaps between stored bytes that sections without stored bytes leave.

    The linker places the next section behind their load addresses (lld always, GNU ld with
    ``ALIGN_WITH_INPUT``), so that the binary has the gap, too.
    """
    segments = sorted(image.segments, key=lambda segment: segment.address)
    starts = [segment.address for segment in segments]
    names: list[tuple[int, str]] = []  # load addresses of sections without stored bytes
    for section in image.sections:
        index = bisect_right(starts, section.address) - 1
        if index >= 0 and not section.loaded:
            segment = segments[index]
            names.append((section.address + segment.load_address - segment.address, section.name))
    names.sort()
    for gap in (part for part in parts if part.kind == "gap"):
        first, end = (bisect_left(names, (at,)) for at in (gap.place, gap.place + gap.size))
        if first < end:
            yield (
                f"{', '.join(name for _, name in names[first:end])}: {gap.size:,} B of {gap.region}"
                f" at 0x{gap.place:08x} are a gap in the binary: a load address (AT>), and no bytes"
                " to store"
            )


def _placed(
    sections: Sequence[Section], memory: MemoryRegion, memories: Iterable[MemoryRegion]
) -> list[_Extent]:
    """What lies in ``memory`` by address: the sections that begin in it, and those after its end.

    Of an image that does not fit, the linker places the further sections of a full region one after
    the other behind it.
    """
    found = []
    for section in sections:
        found.append(_Extent(section, section.address, False))
        load = section.load_address
        if load is not None and load != section.address:
            found.append(_Extent(section, load, True))
    following = min((m.origin for m in memories if m.origin >= memory.end), default=1 << 32)
    used = memory.origin
    placed = []
    for extent in sorted(found, key=lambda extent: extent.place):
        overflows = used >= memory.end and extent.place - used < LARGEST_ALIGNMENT
        if memory.origin <= extent.place < (following if overflows else memory.end):
            placed.append(extent)
            used = max(used, extent.place + extent.section.size)
    return placed


def _parts(
    memory: MemoryRegion, placed_extents: Iterable[_Extent], pieces: dict[int, list[_Piece]]
) -> Iterable[LayoutPart]:
    cursor = memory.origin
    for extent in placed_extents:
        section = extent.section
        if extent.place > cursor:
            yield LayoutPart("(gap)", "gap", memory.name, "", cursor, cursor, extent.place - cursor)
        shift = extent.place - section.address
        for piece in pieces[id(section)]:
            start = max(piece.address + shift, cursor)  # overlapping sections count once
            size = piece.address + piece.size + shift - start
            if size > 0:
                yield LayoutPart(
                    piece.name, piece.kind, memory.name, section.name, start - shift, start, size,
                    extent.copy, piece.aliases,
                )  # fmt: skip
                cursor = start + size


@dataclass(frozen=True)
class _Piece:
    name: str
    kind: str
    address: int
    size: int
    aliases: tuple[str, ...] = ()


def _spans(
    contents: Iterable[Content], notes: list[str]
) -> Iterable[tuple[Section, list[tuple[int, int, Symbol]]]]:
    """Each section with its sorted (start, end, symbol); a note counts misplaced symbols."""
    misplaced = 0
    for section, named in contents:
        spans = []
        symbols = sorted(
            named,
            key=lambda s: (s.address, -s.size, _BINDING_ORDER.get(s.binding, 3), s.name),
        )
        starts = [s.address for s in symbols]
        for symbol in symbols:
            size = symbol.size or _until_next(starts, symbol.address, section.end) - symbol.address
            end = symbol.address + size
            if section.address <= symbol.address < section.end:
                misplaced += end > section.end
                spans.append((symbol.address, min(end, section.end), symbol))
            else:
                misplaced += 1
        yield section, spans
    if misplaced:
        notes.append(f"{misplaced} symbols reach outside their section; they are cut at its border")


def _until_next(starts: Sequence[int], address: int, end: int) -> int:
    """The end of a function without a size: the next symbol, or the end of its section."""
    following = bisect_right(starts, address)
    return starts[following] if following < len(starts) else end


def _pieces(section: Section, symbols: list[tuple[int, int, Symbol]]) -> list[_Piece]:
    pieces: list[_Piece] = []
    cursor = section.address
    index = 0
    while index < len(symbols):
        start, end, symbol = symbols[index]
        index += 1
        aliases = []
        while index < len(symbols) and symbols[index][:2] == (start, end):
            aliases.append(symbols[index][2].name)
            index += 1
        if end <= cursor:
            continue  # inside the previous symbol
        if start > cursor:
            pieces.append(_between(section, cursor, start))
        start = max(start, cursor)
        kind = _PART_KINDS.get(symbol.kind, "object")
        pieces.append(_Piece(symbol.name, kind, start, end - start, tuple(aliases)))
        cursor = end
    if cursor < section.end:
        pieces.append(_between(section, cursor, section.end))
    return pieces


def _between(section: Section, start: int, end: int) -> _Piece:
    """The bytes between two symbols: padding, string literals, or bytes without a name."""
    raw = section.data[start - section.address : end - section.address]
    size = end - start
    filler = (
        not raw.strip(b"\0") or not raw.strip(b"\xff") or not raw.replace(_NOP, b"").strip(b"\0")
    )
    if size <= LONGEST_PADDING and filler and (raw or size < 32):
        return _Piece("(padding)", "padding", start, size)
    if raw and not section.executable and _is_text(raw):
        return _Piece("(string literals)", "strings", start, size)
    return _Piece("(no symbol)", "unnamed", start, size)


def _is_text(raw: bytes) -> bool:
    printable = sum(0x20 <= byte < 0x7F or byte in b"\0\t\n\r" for byte in raw)
    return printable >= _PRINTABLE_SHARE * len(raw)
