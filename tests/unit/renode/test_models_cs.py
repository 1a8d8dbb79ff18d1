"""The models for Renode: what is checked in, and how Python becomes C#."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import pytest
import renode_platforms
from csharp.classes import OMITTED, Functions
from csharp.constants import constant
from csharp.layout import WIDTH, comment, folded
from csharp.models import models
from csharp.sources import Members, Source
from csharp.terms import UntranslatableError, camel, pascal

from harness.base import paths
from harness.simulator.peripherals import MODELS

GENERATED = renode_platforms.peripherals()


def translated(code: str) -> str:
    """The body in C# of the method ``made`` of a Nordic peripheral, without its indentation."""
    source, names = Source("example.py", dedent(code)), {"__name__": "example"}
    exec(source.text, names)
    node = source.definition("made")
    lines = Functions(Members([]), names, "Nordic").body(node, source)  # type: ignore[arg-type]
    return " ".join(line.strip() for line in lines)


# what is checked in


@pytest.mark.parametrize("name", GENERATED)
def test_a_file_is_that_of_todays_models_and_tables(name: str) -> None:
    assert (paths.platforms() / name).read_text() == GENERATED[name]


@pytest.mark.parametrize("name", GENERATED)
def test_no_line_is_too_long(name: str) -> None:
    assert max(map(len, GENERATED[name].splitlines())) <= WIDTH


def test_every_model_of_a_chip_is_a_class() -> None:
    found = set(re.findall(r"public partial class (\w+)", GENERATED["peripherals/models.cs"]))
    assert {one.__name__ for one in MODELS.values()} <= found


def test_a_method_that_is_left_out_exists() -> None:
    methods = {name for one in models() for base in one.python.__mro__ for name in vars(base)}
    assert methods >= OMITTED


# expressions


@pytest.mark.parametrize(
    ("python", "csharp"),
    [
        ("a + b * 2 - (a - b)", "a + b * 2 - (a - b)"),
        ("-a // b % 3", "Py.Mod(Py.Div(-a, b), 3)"),
        ("a & 3 | b << 2 & ~a", "a & 3 | b << 2 & ~a"),
        ("(a & 3) + 1 << b", "(a & 3) + 1 << (int)b"),
        ("1 << a", "1L << (int)a"),
        ("a >> b + 1", "a >> (int)(b + 1)"),
        ("yes + (a == 3)", "Py.Int(yes) + Py.Int(a == 3)"),
        ("a % b or b", "Py.Or(Py.Mod(a, b), b)"),
        ("a if yes else b", "yes ? a : b"),
        ("min(a, b) + max(a, 0)", "Math.Min(a, b) + Math.Max(a, 0)"),
        ("len(name)", "name.Length"),
        ("int(name[1:-1])", "Py.Int(Py.Slice(name, 1, -1))"),
        ("sum(1 << n for n in range(a) if n & 1)",
         "Py.Range(a).Where(n => (n & 1) != 0).Select(n => 1L << (int)n).Sum()"),
        ("self.regs[0x304] & 0xFFFF_FFFF", "Regs[0x304] & 0xFFFF_FFFF"),
        ("self.chip.memory_map.cpu_hz", "Chip.MemoryMap.CpuHz"),
        ("maybe + 1", "maybe.Value + 1"),
        ("round(0.5 * a)", "(long)Math.Round(0.5 * a)"),
    ],
)  # fmt: skip
def test_a_number(python: str, csharp: str) -> None:
    given = "self, a: int, b: int, yes: bool, name: str, maybe: int | None"
    assert translated(f"def made({given}) -> int:\n    return {python}") == f"return {csharp};"


@pytest.mark.parametrize(
    ("python", "csharp"),
    [
        ("bool(a & 3)", "(a & 3) != 0"),
        ("not a & 3", "(a & 3) == 0"),
        ("a & 3 == b", "(a & 3) == b"),
        ("1 <= a & 7 < b", "1 <= (a & 7) && (a & 7) < b"),
        ("not (yes and a)", "!(yes && a != 0)"),
        ("yes or bool(a) and not name", 'yes || a != 0 && name == ""'),
        ("a in (1, b)", "a == 1 || a == b"),
        ("a not in (1, b)", "!(a == 1 || a == b)"),
        ("a in counts", "counts.ContainsKey(a)"),
        ("maybe is None", "maybe == null"),
        ("bool(counts)", "counts.Count != 0"),
        ("yes != (a == 1)", "yes != (a == 1)"),
        ("any(counts[n] for n in range(4))", "Py.Range(4).Any(n => counts[n] != 0)"),
        ("all(n < b for n in counts)", "counts.All(n => n < b)"),
        ('name.endswith("STOP")', 'name.EndsWith("STOP", StringComparison.Ordinal)'),
    ],
)
def test_a_condition(python: str, csharp: str) -> None:
    given = "self, a: int, b: int, yes: bool, name: str, maybe: int | None, counts: dict[int, int]"
    found = translated(f"def made({given}) -> bool:\n    return {python}")
    assert found == f"return {csharp};"


@pytest.mark.parametrize(
    ("python", "csharp"),
    [
        ('f"CC[{a}] is 0x{a:08x}, {b:02}"', '$"CC[{a}] is 0x{a:x8}, {b:D2}"'),
        ('f"{{{name}}} \\"{a + 1}\\""', '$"{{{name}}} \\"{a + 1}\\""'),
        ('f"{part:.1f} ms"', '$"{Py.Tenths(part)} ms"'),
        ('"x" if a else f"{b}"', 'a != 0 ? "x" : $"{b}"'),
        ('f"{name if a else 0:}"', None),
        ('", ".join(f"{n}" for n in range(a))',
         'string.Join(", ", Py.Range(a).Select(n => $"{n}"))'),
    ],
)  # fmt: skip
def test_a_text(python: str, csharp: str | None) -> None:
    code = f"def made(self, a: int, b: int, name: str, part: float) -> str:\n    return {python}"
    if csharp is None:
        with pytest.raises(UntranslatableError):
            translated(code)
    else:
        assert translated(code) == f"return {csharp};"


# statements


@pytest.mark.parametrize(
    ("python", "csharp"),
    [
        ("a, self.irq = 1, b", "a = 1; Irq = b;"),
        ("c = d = 0", "long c = 0; long d = 0;"),
        ("c, d = (1, 2) if b else (3, 4)", "var (c, d) = b != 0 ? (1, 2) : (3, 4);"),
        ("if a:\n    c = 1\nelse:\n    c = 2\nreturn c + b",
         "long c; if(a != 0) { c = 1; } else { c = 2; } return c + b;"),
        ("if c := a & b:\n    return c\nelif b:\n    a = 1",
         "long c; if((c = a & b) != 0) { return c; } else if(b != 0) { a = 1; }"),
        ("while c := self.regs[a]:\n    a += c",
         "long c; while((c = Regs[a]) != 0) { a += c; }"),
        ("for n in range(1, a, 4):\n    if n:\n        continue\n    b |= 1 << n",
         "for(long n = 1; n < a; n += 4) { if(n != 0) { continue; } b |= 1L << (int)n; }"),
        ("for n, m in counts.items():\n    a -= n & m",
         "foreach(var (n, m) in counts) { a -= n & m; }"),
        ('for n, m in ((1, "x"), (a, "y")):\n    self.event(m)',
         'foreach(var (n, m) in new (long, string)[] { (1, "x"), (a, "y") }) { Event(m); }'),
        ("del counts[a]", "counts.Remove(a);"),
        ("counts[a] = counts.get(b, 0) + counts.pop(a, 1)",
         "counts[a] = Py.Get(counts, b, 0) + Py.Pop(counts, a, 1);"),
        ("data += more\ndel data[:a]", "data.AddRange(more); data.RemoveRange(0, (int)a);"),
        ("data.append(a & 0xFF)", "data.Add((byte)(a & 0xFF));"),
        ("self.regs.serve(a, 1)", ""),
        ("base, event = a, b", "long @base = a; long @event = b;"),
        ("# reads\na = 1  # writes", "// reads a = 1;  // writes"),
    ],
)  # fmt: skip
def test_a_statement(python: str, csharp: str) -> None:
    given = "self, a: int, b: int, counts: dict[int, int], data: bytearray, more: bytes"
    body = "\n".join(f"    {line}" for line in python.splitlines())
    returned = "int" if "return" in python else "None"
    assert translated(f"def made({given}) -> {returned}:\n{body}\n") == csharp


def test_an_assertion_tells_the_class_of_a_device() -> None:
    code = """
        def made(self, devices: Mapping[str, Device]) -> None:
            dma = devices["DMA"]
            assert isinstance(dma, Nordic)
            dma.update_line()
    """
    lazy = f"from __future__ import annotations\n{dedent(code)}"
    assert translated(lazy) == 'var dma = (Nordic)devices["DMA"]; dma.UpdateLine();'


# what is refused


@pytest.mark.parametrize(
    ("python", "why"),
    [
        ("try:\n    a = 1\nfinally:\n    a = 2", "unknown construct: try:"),
        ("a = lambda: 1", "unknown construct: lambda: 1"),
        ("return a ** 2", "unknown construct: a ** 2"),
        ("return a + b", "no operation of long and string"),
        ("return a == b", "no comparison of long and string"),
        ("return a and b", "neither all bool nor a choice of numbers"),
        ("a = missing", "unknown name: missing"),
        ("a = print(b)", "unknown function: print(b)"),
        ("a = len(b, b)", "unknown arguments of a function"),
        ("a = b.upper()", "unknown method of string"),
        ("a = self.regs.nothing", "Registers has no nothing"),
        ("self.regs.skip(1, 2, 3)", "too many arguments"),
        ('self.regs.skip("x", 2)', "string where long is expected"),
        ("a = b", "string where long is expected"),
        ("a, c = c, a", "a value that is assigned as well"),
        ("c = []", "no list of one type"),
        ('c = [1, "x"]', "no list of one type"),
        ("c = [n + m for n in range(2) for m in range(2)]", "no loop over one variable"),
        ("c = self.regs[1:2]", "unknown construct: self.regs[1:2]"),
        ("for n in a:\n    pass", "no iteration over long"),
        ("while a:\n    pass\nelse:\n    pass", "unknown construct: while a:"),
        ("assert a", "unknown construct: assert a"),
        ("raise ValueError(b)", "unknown construct: raise ValueError(b)"),
    ],
)
def test_an_unknown_construct_is_refused_with_its_line(python: str, why: str) -> None:
    body = "\n".join(f"    {line}" for line in python.splitlines())
    with pytest.raises(UntranslatableError, match=rf"^example\.py:2: {re.escape(why)}"):
        translated(f"def made(self, a: int, b: str) -> int:\n{body}\n")


# names, constants, layout


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("_start_arrival", "StartArrival", "startArrival"),
        ("PSEL_TXD", "PselTxd", "pselTxd"),
        ("task_hfclk192mstart", "TaskHfclk192mstart", "taskHfclk192mstart"),
        ("event", "Event", "@event"),
        ("_", "_", "_"),
    ],
)
def test_a_name_has_the_case_of_its_kind(name: str, one: str, other: str) -> None:
    assert (pascal(name), camel(name)) == (one, other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (9, "9"),
        (0x500, "0x500"),
        ('a"b', '"a\\"b"'),
        ((1, 2), "new long[] { 1, 2 }"),
        ({1: "x"}, 'new Dictionary<long, string> { [1] = "x" }'),
        (frozenset((8, 4)), "new HashSet<long> { 4, 8 }"),
        (range(0x200, 0x210, 4), "Py.Range(0x200, 0x210, 4)"),
        ((1, "x"), ""),
        (object(), ""),
    ],
)
def test_a_constant(value: Any, text: str) -> None:
    assert constant(value)[0] == text


def test_a_comment_is_the_first_sentence() -> None:
    text = "Calls ``changed(runs)``,\nsee :meth:`Chip.stop`; PS v2.1. More.\n\nAnd more."
    assert comment(text) == ["// Calls changed(runs), see Chip.stop; PS v2.1."]


A_TEXT, WORDS = '"an argument that is rather long"', "word " * 16


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            f"Report({A_TEXT}, {A_TEXT}, {A_TEXT});",
            [f"Report({A_TEXT}, {A_TEXT},", f"    {A_TEXT});"],
        ),
        (
            f"if(one == {A_TEXT} || two == {A_TEXT} && three == {A_TEXT})",
            [f"if(one == {A_TEXT}", f"    || two == {A_TEXT} && three == {A_TEXT})"],
        ),
        (
            f'return $"{WORDS}{{one}} {{two + 2}} {{Call("a b", 12345)}} word";',
            [f'return $"{WORDS}{{one}} {{two + 2}} " +', '    $"{Call("a b", 12345)} word";'],
        ),
        (
            f'return $"{WORDS}word word word {{one}}";',
            [f'return "{WORDS}word word word " +', '    $"{one}";'],
        ),
        (f"Call();  // {WORDS}{WORDS}", [f"// {WORDS}{WORDS}", "Call();"]),
        (f"Call({'x' * 120});", [f"Call({'x' * 120});"]),
    ],
)
def test_a_long_line_goes_on_one_level_deeper(line: str, parts: list[str]) -> None:
    assert folded([line]) == parts
