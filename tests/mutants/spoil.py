"""Every way in which a recorded console is spoilt: one :class:`Mutant` each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from replay import Recording, Said

from harness.targets import Fault, Stop

_HUGE = "99999999999999999999"
_INTEGER = re.compile(r"-?\d+")
_WORD = re.compile(r"[0-9a-f]{8}")
_LIST = re.compile(r"\d+(,\d+)+")
_NUMBER_IN_TEXT = re.compile(r"-?\d+(?:\.\d+)?")

#: A processor fault after the last word: the console cannot tell, the target does.
FAULT = Fault("BusFault", "PRECISERR", 0x1234, 0x1235, 0x6000_0000, "spin at main.c:7", "report")


@dataclass(frozen=True)
class Mutant:
    """One spoilt console. ``record`` (a kind), ``field`` and ``change`` say what was spoilt."""

    change: str
    record: str
    field: str
    where: int  # index of the line
    recording: Recording

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"{self.change}: {self.record}{field}, line {self.where}"


def spoil(good: Recording, known: Mapping[str, Sequence[str]]) -> Iterator[Mutant]:
    """All mutants of a recording of records; ``known`` has other values of each text field."""
    return (one for one in _spoil_records(good, known) if one.recording != good)


def _spoil_records(good: Recording, known: Mapping[str, Sequence[str]]) -> Iterator[Mutant]:
    lines = good.lines
    starts = (i for i, line in enumerate(lines) if line.kind in ("input", "ready", "failed"))
    preamble = (replace(lines[0], restart=True), *lines[1 : next(starts)])
    again = (replace(lines[0], restart=True), *lines[1:])
    for i, line in enumerate(lines):
        if not line.kind:
            continue
        before, after = lines[:i], lines[i + 1 :]

        def mutant(change, *middle, rest=after, i=i, line=line, before=before):
            made = good.saying([*before, *middle, *rest])
            return Mutant(change, line.kind, "", i, made)

        def late(one: Said, **changes):
            return replace(one, answers=lines[-1].answers, **changes)

        yield mutant("dropped")
        if after:
            yield mutant("lost", replace(after[0], skipped=1), rest=after[1:])
            yield mutant("cut off here", rest=())
        yield mutant("garbled", replace(line, garbled=True))
        yield mutant("said twice", line, line)
        yield mutant("sent twice", line, replace(line, number=i - _texts(before)))
        if after and after[0].kind and _apart(line, after[0]):
            yield mutant("swapped with the next", *_exchanged(line, after[0]), rest=after[1:])
        yield mutant("replayed after the end", line, *after, late(line), rest=())
        yield mutant(
            "sent again after the end",
            line,
            *after,
            late(line, number=i - _texts(before)),
            rest=(),
        )
        yield mutant("an unknown record before it", _like(line, "surprise"), line)
        yield mutant("a boot record before it", _at(lines[0], line, restart=True), line)
        yield mutant("a boot in between", *(_at(one, line) for one in preamble), line)
        if i:
            yield mutant("a reset, then all again", *(late(one) for one in again), rest=())
        yield from _fields(good, i, known)
    yield from _whole(good)


def _texts(lines: Sequence[Said]) -> int:
    return sum(not line.kind for line in lines)


def _apart(one: Said, other: Said) -> bool:
    return (one.kind, one.fields) != (other.kind, other.fields)


def _exchanged(one: Said, other: Said) -> tuple[Said, Said]:
    """The two in the other order; each is said when the one in its place was said."""
    return replace(other, answers=one.answers), replace(one, answers=other.answers)


def _like(line: Said, kind: str) -> Said:
    return replace(line, kind=kind, fields=(("value", "1"),))


def _at(line: Said, place: Said, **changes) -> Said:
    return replace(line, answers=place.answers, **changes)


def _whole(good: Recording) -> Iterator[Mutant]:
    """What is wrong with the run as a whole."""
    lines, last = good.lines, len(good.lines) - 1

    def mutant(change: str, recording: Recording) -> Mutant:
        return Mutant(change, "run", "", last, recording)

    yield mutant("nothing is said", good.saying(()))
    yield mutant("a fault that only the target saw", replace(good, faults=(FAULT,)))
    yield mutant("a lockup at the end", replace(good, stop=Stop.LOCKUP))
    yield mutant("a reset loop at the end", replace(good, stop=Stop.RESET_LOOP))
    wrong = _wrong_outputs(lines)
    if all(line.answers is None for line in lines):
        restart = (replace(lines[0], restart=True), *lines[1:])
        yield mutant("a wrong boot, then a right one", good.saying([*wrong, *restart]))
        yield mutant("a right boot, then a wrong one", good.saying([*lines, *_restarted(wrong)]))
        yield mutant("two right boots", good.saying([*lines, *restart]))
    yield from _output_twice(good)
    yield mutant("all outputs are wrong", good.saying(wrong))
    for kind in sorted({line.kind for line in lines} - {""}):
        none = [line for line in lines if line.kind != kind]
        yield Mutant("all are dropped", kind, "", 0, good.saying(none))


def _restarted(lines: Sequence[Said]) -> list[Said]:
    return [replace(lines[0], restart=True), *lines[1:]]


def _wrong_outputs(lines: Sequence[Said]) -> list[Said]:
    return [_wrong(line) if line.kind == "output" else line for line in lines]


def _wrong(line: Said) -> Said:
    data = bytes.fromhex(line.get("hex"))
    return _with(line, "hex", bytes([data[0] ^ 0x40, *data[1:]]).hex())


def _output_twice(good: Recording) -> Iterator[Mutant]:
    """A wrong output before, after or instead of the right one; outputs nobody asked for."""
    lines = good.lines
    for i, line in enumerate(lines):
        if line.kind != "output":
            continue
        wrong, number = _wrong(line), int(line.get("inference"))
        pairs = {
            "a wrong output, then the right one": (wrong, line),
            "the right output, then a wrong one": (line, wrong),
            "a wrong output of inference 100 + n": (
                line,
                _with(wrong, "inference", str(100 + number)),
            ),
            "a wrong output of inference 900 + n": (
                line,
                _with(wrong, "inference", str(900 + number)),
            ),
            "a wrong output of index 1": (line, _with(wrong, "index", "1")),
        }
        for change, both in pairs.items():
            made = good.saying([*lines[:i], *both, *lines[i + 1 :]])
            yield Mutant(change, "output", "", i, made)


def _with(line: Said, name: str, value: str) -> Said:
    return replace(line, fields=tuple((n, value if n == name else v) for n, v in line.fields))


def _fields(good: Recording, i: int, known: Mapping[str, Sequence[str]]) -> Iterator[Mutant]:
    line = good.lines[i]

    def mutant(change: str, name: str, fields: Sequence[tuple[str, str]]) -> Mutant:
        spoilt = replace(line, fields=tuple(fields))
        made = good.saying([*good.lines[:i], spoilt, *good.lines[i + 1 :]])
        return Mutant(change, line.kind, name, i, made)

    for name, value in line.fields:
        others = [one for one in known.get(f"{line.kind}.{name}", ()) if one != value]
        changes = _once(_values(name, value, others))
        for change, new in changes.items():
            yield mutant(change, name, _with(line, name, new).fields)
        yield mutant("left out", name, [pair for pair in line.fields if pair[0] != name])
        other = next(iter(changes.values()))
        yield mutant("told twice", name, [(name, other), *line.fields])
    yield mutant("a field too many", "", [*line.fields, ("surprise", "1")])


def _once(changes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Changes by their names; of two that come to the same the first: 1 minus one is zero."""
    names: dict[str, str] = {}
    for change, value in changes:
        names.setdefault(value, change)
    return {change: value for value, change in names.items()}


def _values(name: str, value: str, others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Other values of a field, by what they change; which depends on what the value looks like."""
    if name == "hex":
        yield from _data(value)
    elif name in ("scale", "model_crc32"):
        word = int(value, 16)
        yield "lowest bit", f"{word ^ 1:08x}"
        yield "highest bit", f"{word ^ 1 << 31:08x}"
        yield "other bits", f"{word ^ 0x00A5A500:08x}"
        if word:
            yield "zero", "00000000"
    elif _INTEGER.fullmatch(value) and name != "build":
        number = int(value)
        yield "plus one", str(number + 1)
        yield "minus one", str(number - 1)
        if number:
            yield "zero", "0"
        yield "doubled and more", str(2 * number + 7)
        yield "negative", str(-number - 2)
        yield "2^32 more", str(number + (1 << 32))
        yield "huge", _HUGE
        yield "no number", "x"
    elif _LIST.fullmatch(value):
        sizes = value.split(",")
        yield "plus one", ",".join([*sizes[:-1], str(int(sizes[-1]) + 1)])
        yield "a dimension more", value + ",1"
        yield "a dimension less", ",".join(sizes[:-1])
        if sizes[::-1] != sizes:
            yield "reversed", ",".join(sizes[::-1])
        yield "negative", "-" + value
    else:
        for number, other in enumerate(others[:3]):
            yield f"another known one ({number})", other
        yield "unknown", "nobody"
        yield "cut", value[:-1]
    yield "empty", ""


def _data(value: str) -> Iterator[tuple[str, str]]:
    data = bytes.fromhex(value)
    yield "lowest bit of the first byte", bytes([data[0] ^ 1, *data[1:]]).hex()
    yield "highest bit of the last byte", bytes([*data[:-1], data[-1] ^ 0x80]).hex()
    yield "a byte less", data[:-1].hex()
    yield "a byte more", data.hex() + "00"
    yield "half a byte less", value[:-1]
    yield "no hex", "zz" + value[2:]
    if any(data):
        yield "zeros", bytes(len(data)).hex()


def spoil_text(good: Recording, read: re.Pattern[str], fault: Sequence[str]) -> Iterator[Mutant]:
    """All mutants of a recording of text; ``read`` matches the lines that say something.

    ``fault`` is the text of a fault dump. What was spoilt is named after the line's first words.
    """
    lines = good.lines
    dump = [Said(text=text) for text in fault]
    for i, line in enumerate(lines):
        match = read.search(line.text)
        if match is None:
            continue
        name = match.lastgroup or "line"
        before, after = lines[:i], lines[i + 1 :]

        def mutant(change, *middle, rest=after, field="", i=i, name=name, before=before):
            return Mutant(change, name, field, i, good.saying([*before, *middle, *rest]))

        yield mutant("dropped")
        yield mutant("said twice", line, line)
        yield mutant("cut off here", rest=())
        yield mutant("cut off inside", replace(line, text=line.text[: len(line.text) // 2]))
        nearest = next((k for k, one in enumerate(after) if read.search(one.text)), None)
        if nearest is not None and after[nearest].text != line.text:
            other = after[nearest]
            rest = after[nearest + 1 :]
            yield mutant("swapped with the next", other, *after[:nearest], line, rest=rest)
        yield mutant("replayed after the end", line, *after, line, rest=())
        yield mutant("a fault dump before it", *dump, line)
        yield mutant("a reset, then all again", *_restarted(lines), rest=())
        for k, found in enumerate(_NUMBER_IN_TEXT.finditer(line.text)):
            for change, new in _printed(found.group()):
                text = line.text[: found.start()] + new + line.text[found.end() :]
                yield mutant(change, replace(line, text=text), field=f"number {k}")
        for k, found in enumerate(re.finditer(r"[A-Za-z_.]{2,}", line.text)):
            text = line.text[: found.start()] + "nobody" + line.text[found.end() :]
            yield mutant("unknown", replace(line, text=text), field=f"word {k}")
    yield Mutant("a fault dump", "run", "", len(lines), good.saying([*lines, *dump]))
    faulty = replace(good, faults=(FAULT,))
    yield Mutant("a fault that only the target saw", "run", "", len(lines), faulty)
    for stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        yield Mutant(f"{stop} at the end", "run", "", len(lines), replace(good, stop=stop))
    yield Mutant("nothing is said", "run", "", 0, good.saying(()))


def _printed(number: str) -> Iterator[tuple[str, str]]:
    """Other numbers in the same form."""
    digits = len(number.partition(".")[2])
    value, unit = float(number), 10.0**-digits
    yield "larger", f"{value + 20 * unit:.{digits}f}"
    yield "smaller", f"{value - 20 * unit:.{digits}f}"
    yield "zero", f"{0.0 if value else 1.0:.{digits}f}"
    yield "negative", f"{-value - 3:.{digits}f}"
    yield "huge", _HUGE
    yield "no number", ""
