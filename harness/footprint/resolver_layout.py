"""The memory layout of resolver objects, from DWARF or, without it, as in current tflite-micro.

tflite-micro's layout since 2023: a vtable pointer, ``registrations_`` of seven words each (init,
free, prepare, invoke, reset, builtin_code, custom_name), their count, ``builtin_codes_``,
``builtin_parsers_``, and the number of builtins. Older revisions registered TensorFlow Lite's
record of eight to ten words, and some have builtin codes of one byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.elf import Image
from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED, uleb
from harness.model.structures import WORD

_FIELDS = ("init", "free", "prepare", "invoke", "reset", "builtin_code", "custom_name")
_MODERN = {name: WORD * index for index, name in enumerate(_FIELDS)}
#: Fields of TfLiteRegistration (tensorflow/lite/c/common.h); later revisions of TFLM have more.
_OLDER_FIELDS = ("init", "free", "prepare", "invoke", "profiling_string", "builtin_code",
                 "custom_name", "version")  # fmt: skip
_OLDER = {name: WORD * index for index, name in enumerate(_OLDER_FIELDS)}
_OLDER_WORDS = (8, 9, 10)  # words of TfLiteRegistration in older revisions
_CLASSES = frozenset((Tag.CLASS_TYPE, Tag.STRUCTURE_TYPE))
_RECORDS = ("TFLMRegistration", "TfLiteRegistration")
_RESOLVER = re.compile(r"^MicroMutableOpResolver<(\d+)u?>$")
#: Longest chain of types that is followed.
_DEEPEST = 16


@dataclass(frozen=True)
class ClassLayout:
    """Offsets of a resolver class's members, in bytes."""

    registrations: int
    length: int


@dataclass(frozen=True)
class ResolverLayout:
    """Byte offsets in a registration and in resolvers; ``source`` is ``dwarf`` or ``assumed``."""

    source: str = "assumed"
    registration_bytes: int = WORD * len(_FIELDS)
    fields: Mapping[str, int] = field(default_factory=lambda: _MODERN)
    code_bytes: int = WORD
    classes: Mapping[int, ClassLayout] = field(default_factory=dict)  # by number of slots

    @property
    def registrations_at(self) -> int:
        """The offset of the registrations in any resolver: after the vtable pointer."""
        return next((layout.registrations for layout in self.classes.values()), WORD)

    @property
    def slot_bytes(self) -> int:
        """RAM of one slot: registration, builtin code, parser."""
        return self.registration_bytes + self.code_bytes + WORD

    def of(self, slots: int) -> ClassLayout:
        """The members of ``MicroMutableOpResolver<slots>``."""
        return self.classes.get(slots) or ClassLayout(WORD, WORD + slots * self.registration_bytes)

    def bytes_of(self, slots: int) -> int:
        """The size of a resolver object without padding."""
        return 3 * WORD + slots * self.slot_bytes


def known_layouts() -> Iterator[ResolverLayout]:
    """The layouts of all revisions of tflite-micro, the newest first."""
    for code_bytes in (WORD, 1):
        yield ResolverLayout(code_bytes=code_bytes)
        for words in _OLDER_WORDS:
            yield ResolverLayout("assumed", words * WORD, _OLDER, code_bytes)


def find_layout(image: Image) -> ResolverLayout:
    """The layout of an image's resolvers and registrations.

    The type of a registration is that of the elements of ``registrations_``: an image may have both
    TFLM's record and TensorFlow Lite's (28 and 48 bytes in 2026).
    """
    dwarf = image.variables.dwarf
    records: dict[str, tuple[int, dict[str, int]]] = {}
    classes: dict[int, ClassLayout] = {}
    code_bytes, element = WORD, ""
    for entry in _named_classes(dwarf):
        name = entry.value(At.NAME)
        try:
            members = _members(dwarf, entry)
        except GARBLED:
            continue
        if name in _RECORDS:
            offsets = {key: offset for key, (offset, _) in members.items()}
            if {"init", "prepare", "invoke", "builtin_code", "custom_name"} <= offsets.keys():
                records.setdefault(str(name), (entry.number(At.BYTE_SIZE) or 0, offsets))
        elif {"registrations_", "registrations_len_", "builtin_codes_"} <= members.keys():
            at, kind = members["registrations_"]
            classes[slots_of(name)] = ClassLayout(at, members["registrations_len_"][0])
            code_bytes = _element(dwarf, members["builtin_codes_"][1])[1] or code_bytes
            element = _element(dwarf, kind)[0] or element
    record = next((records[name] for name in (element, *_RECORDS) if name in records), None)
    if record is None:
        return ResolverLayout(classes=classes)
    return ResolverLayout("dwarf", record[0], record[1], code_bytes, classes)


def slots_of(name: object) -> int:
    """N of the class name ``MicroMutableOpResolver<N>``; 0 for anything else."""
    match = _RESOLVER.match(name) if isinstance(name, str) else None
    return int(match[1]) if match else 0


def _named_classes(dwarf: Dwarf) -> Iterable[Entry]:
    """The definitions of resolvers and registrations."""
    for unit in dwarf.units:
        for offset in dwarf.scan(unit, _CLASSES, frozenset((Tag.NAMESPACE,))):
            try:
                entry = dwarf.entry(offset, unit)
            except GARBLED:
                continue
            name = entry.value(At.NAME)
            relevant = name in _RECORDS or slots_of(name)
            if relevant and entry.children_at and entry.value(At.DECLARATION) is None:
                yield entry


def _members(dwarf: Dwarf, entry: Entry) -> dict[str, tuple[int, int]]:
    """The offset and the type (the offset of its entry) of each member, by name."""
    members: dict[str, tuple[int, int]] = {}
    for child in dwarf.children(entry):
        name = child.value(At.NAME)
        if child.tag == Tag.MEMBER and isinstance(name, str):
            members[name] = _offset(child), child.number(At.TYPE) or 0
    return members


def _offset(member: Entry) -> int:
    """DW_AT_data_member_location: a number, or the expression DW_OP_plus_uconst in DWARF 2."""
    value = member.value(At.DATA_MEMBER_LOCATION)
    if isinstance(value, bytes) and value[:1] == b"\x23":
        return uleb(value, 1)[0]
    return value if isinstance(value, int) else 0


def _element(dwarf: Dwarf, offset: int) -> tuple[str, int]:
    """Name and size of an array's elements; "" and 0 if DWARF does not have them."""
    name = ""
    try:
        for _ in range(_DEEPEST):
            entry = dwarf.entry(offset)
            named = entry.value(At.NAME)
            if isinstance(named, str) and entry.tag != Tag.ARRAY_TYPE:
                name = name if name in _RECORDS else named
            size = entry.number(At.BYTE_SIZE)
            if size and entry.tag != Tag.ARRAY_TYPE:
                return name, size
            offset = entry.number(At.TYPE) or 0
    except GARBLED:
        return name, 0
    return name, 0
