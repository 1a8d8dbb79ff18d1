"""The table of a resolver in the memory of a running image: every layout, every compiler."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

import needs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from little_runs import BOTH, CONV, SECONDS, SOFTMAX, STATIC, audited, seen
from little_tflm import HEADER, older_header

from harness.elf import Image
from harness.elf.interpreter import ALLOCATE
from harness.footprint.resolver_layout import known_layouts
from harness.model.schema import OPERATOR_NAMES
from harness.resolver import AuditVerdict, Resolver
from harness.resolver.table import Tables
from harness.targets import open_target
from harness.targets.base import SymbolReached
from harness.targets.session import Session

Compile = Callable[..., Image]

#: Registered in another order than that of the builtin codes, with a slot to spare.
REGISTER = f"""
  {SOFTMAX} {CONV}
  auto own = tflite::Register_ADD();
  resolver.AddCustom("Atan", &own);
"""
TODAY = HEADER.replace("enum BuiltinOperator : int", "enum BuiltinOperator : CODE")
#: Headers of all revisions of tflite-micro: words of a registration, bytes of a builtin code.
REVISIONS = {
    (words, size): older_header(words, code) if words > 7 else TODAY.replace("CODE", code)
    for words in (7, 8, 9, 10)
    for size, code in ((4, "int"), (1, "unsigned char"))
}


def test_the_revisions_are_all_that_are_known() -> None:
    known = {(one.registration_bytes // 4, one.code_bytes) for one in known_layouts()}
    assert known == REVISIONS.keys()


@pytest.mark.parametrize(
    ("strip", "source"),
    [("", "dwarf"), ("--strip-debug", "assumed"), ("--strip-all", "pattern")],
    ids=["DWARF", "symbols", "stripped"],
)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_table_is_read_in_the_order_of_registration(
    compile_image: Compile, revision: tuple[int, int], strip: str, source: str
) -> None:
    image = compile_image(
        REGISTER, 4, interpret=STATIC, files={"little.h": REVISIONS[revision]}, strip=strip
    )
    found = seen(image).resolver
    assert found is not None
    assert found.operators == ("SOFTMAX", "CONV_2D", "Atan")
    assert (found.slots, found.source) == (4, source)
    assert found.slot_bytes == 4 * revision[0] + revision[1] + 4


@pytest.mark.parametrize("dwarf", ["-gdwarf-2 -gstrict-dwarf", "-gdwarf-4", ""])
def test_other_versions_of_dwarf_tell_the_same(compile_image: Compile, dwarf: str) -> None:
    found = seen(compile_image(REGISTER, 4, dwarf="", extra=tuple(dwarf.split()))).resolver
    assert found is not None
    assert (found.operators, found.slots) == (("SOFTMAX", "CONV_2D", "Atan"), 4)


COMPILERS = {
    **{f"gcc {level}": {"extra": tuple(level.split())}
       for level in ("-O0", "-O1", "-O2", "-O3", "-Os -flto", "-O2 -flto")},
    **{f"clang {level}": {"compiler": "clang", "extra": (level,)}
       for level in ("-O0", "-O2", "-Oz")},
}  # fmt: skip


@pytest.mark.parametrize("strip", ["", "--strip-all"], ids=["", "stripped"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_s_table_is_read(compile_image: Compile, compiler: str, strip: str) -> None:
    if compiler.startswith("clang"):
        needs.require("clang")
    audit = audited(compile_image(BOTH, 3, interpret=STATIC, strip=strip, **COMPILERS[compiler]))
    assert audit.verdicts == (AuditVerdict.TOO_LARGE,), audit.reason
    assert audit.registered == ("CONV_2D", "SOFTMAX")


ABOVE = """
using R = tflite::MicroMutableOpResolver<2>;
struct Filled { int more; R table; Filled() { table.AddConv2D(); table.AddSoftmax(); } };
inline Filled filled;
inline void* operator new(decltype(sizeof 0), void* at) noexcept { return at; }
"""
FILL = "mine.AddConv2D(); mine.AddSoftmax(); interpret(g_model, mine);"
#: Where a resolver may lie: code, and its name.
PLACES = {
    "static": (f"{BOTH} interpret(g_model, resolver);", "resolver"),
    "in a member, filled by a constructor": ("interpret(g_model, filled.table);", "filled+4"),
    "in the arena": (f"auto& mine = *new (tensor_arena + 8) R; {FILL}", "tensor_arena+8"),
    "on the stack": (f"R mine; {FILL}", "(at 0x"),
    "of a function": (f"static R mine; {FILL}", "setup::mine"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_resolver_is_found_wherever_it_lies(compile_image: Compile, place: str) -> None:
    code, name = PLACES[place]
    found = seen(compile_image("", interpret=code, above=ABOVE)).resolver
    assert found is not None
    assert found.operators == ("CONV_2D", "SOFTMAX")
    assert found.name.startswith(name)


@pytest.fixture(scope="module")
def stopped(compile_image: Compile) -> Iterator[tuple[Session, Image]]:
    """An image whose interpreter is about to allocate; its resolver has three slots."""
    image = compile_image(BOTH, 3)
    with open_target("simulator", image) as session:
        session.run(SymbolReached(ALLOCATE), session.deadline(SECONDS))
        yield session, image


@pytest.fixture
def tables(stopped: tuple[Session, Image]) -> Iterator[Tables]:
    """Its tables; memory is set back afterwards."""
    session, image = stopped
    ram = session.memory.read(0x2000_0000, 0x4_0000)
    yield Tables(session.memory, image)
    session.memory.write(0x2000_0000, ram)


def written(session: Session, image: Image, words: dict[int, int], at: int = 0) -> int:
    """A resolver at ``at``, by default the static one, with other ``words``, by their offsets."""
    place = image.symbol("_ZL8resolver")
    assert place is not None
    if at:
        session.memory.write(at, session.memory.read(place.address, place.size))
    for offset, word in words.items():
        session.memory.write((at or place.address) + offset, struct.pack("<I", word))
    return at or place.address


INIT, CODE, NAME, SECOND_INVOKE, LENGTH = 4, 24, 28, 44, 88
STACK, NOWHERE, CUSTOM = 0x2003_0000, 0x5000_0000, OPERATOR_NAMES.index("CUSTOM")


def first_row(found: Resolver | None) -> tuple[str, str]:
    """Operator and init of the first registration."""
    assert found is not None and found.registered
    row = found.registered[0]
    return row.operator, row.init


@pytest.mark.parametrize(
    ("words", "told"),
    [({CODE: 0xFFFF}, ("builtin 65535", "")),
     ({CODE: CUSTOM, NAME: NOWHERE}, ("CUSTOM", "")),
     ({INIT: 0x201}, ("CONV_2D", "0x00000200")),
     ({INIT: NOWHERE}, ("CONV_2D", f"0x{NOWHERE:08x}"))],
    ids=["an unknown builtin", "a name that lies nowhere", "no symbol", "no function"],
)  # fmt: skip
def test_a_static_table_is_told_as_it_stands(
    stopped: tuple[Session, Image], tables: Tables, words: dict[int, int], told: tuple[str, str]
) -> None:
    assert first_row(tables.at(written(*stopped, words))) == told


@pytest.mark.parametrize(
    ("words", "rows"),
    [({}, 2), ({LENGTH: 1}, 1), ({LENGTH: 0}, None), ({LENGTH: 4}, None),
     ({SECOND_INVOKE: 0}, None), ({SECOND_INVOKE: STACK}, None)],
    ids=["whole", "stopped early", "empty", "more than slots", "no invoke", "no function"],
)  # fmt: skip
def test_elsewhere_a_table_is_one_only_if_all_its_rows_are_registrations(
    stopped: tuple[Session, Image], tables: Tables, words: dict[int, int], rows: int | None
) -> None:
    """What dead frames of the stack hold is none, nor a saved pointer to a vtable."""
    at = written(*stopped, words, STACK)
    found = [one for one in tables.found() if one.address == at]
    assert [len(one.operators) for one in found] == ([] if rows is None else [rows])


@pytest.mark.parametrize(
    ("stored", "operator"),
    [("Atan", "Atan"), ("Ata\xf6", "Ata\xf6"), ("x" * 63, "x" * 63), ("x" * 80, "x" * 64)],
)
def test_a_custom_operator_is_told_by_the_first_64_bytes_of_its_name(
    compile_image: Compile, stored: str, operator: str
) -> None:
    add = f'auto own = tflite::Register_ADD(); resolver.AddCustom("{stored}", &own);'
    found = seen(compile_image(add, 1)).resolver
    assert found is not None and found.registered is not None
    (row,) = found.registered
    assert (row.operator, row.custom_name, row.custom) == (operator, operator, True)


def test_a_registration_has_the_names_of_its_functions_and_its_file(
    stopped: tuple[Session, Image], tables: Tables
) -> None:
    (found,) = tables.found()
    assert found.registered is not None
    kernel = "tflite::(anonymous namespace)::Conv"
    row = found.registered[0]
    assert (row.init, row.free, row.prepare, row.invoke, row.reset, row.file) == (
        "", "", f"{kernel}Prepare", f"{kernel}Eval", "", "kernels.cc")  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(data=st.binary(min_size=64, max_size=2000), place=st.integers(0, 400))
def test_random_memory_is_no_resolver(
    stopped: tuple[Session, Image], data: bytes, place: int
) -> None:
    session, image = stopped
    session.memory.write(STACK + 4 * place, data)
    assert [one.name for one in Tables(session.memory, image).found()] == ["resolver"]


def test_memory_full_of_function_pointers_is_no_resolver(
    compile_image: Compile, stopped: tuple[Session, Image], tables: Tables
) -> None:
    """Zephyr's device structures: code addresses, zeroes and small numbers in any order."""
    session, image = stopped
    functions = [s.address | 1 for s in image.symbols if s.kind == "func"]
    vtables = [s.address + 8 for s in image.symbols if s.name.startswith("_ZTV")]
    chosen = random.Random(7)
    words = [chosen.choice([*functions, *vtables, 0, 0, 1, 2, 3, 25]) for _ in range(0x8000)]
    session.memory.write(0x2000_0000, struct.pack(f"<{len(words)}I", *words))
    stripped = compile_image(BOTH, 3, strip="--strip-all")
    assert Tables(session.memory, stripped).found() == ()


@pytest.mark.parametrize(("lacking", "found"), [(0, 1), (4, 0)])
def test_a_table_that_the_end_of_ram_cuts_off_is_none(
    stopped: tuple[Session, Image], tables: Tables, lacking: int, found: int
) -> None:
    session, _ = stopped
    (whole,) = tables.found()
    data = session.memory.read(whole.address, LENGTH + 4 - lacking)
    session.memory.write(0x2004_0000 - len(data), data)
    assert len(tables.found()) == 1 + found
