"""A live table is held against a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from elf_writer import MadeSection, write_elf
from model_builder import Op, T, build
from operator_chain import operator_chain

from harness.base.errors import CannotTell
from harness.elf import Image
from harness.footprint.resolvers import find
from harness.model import Model
from harness.resolver import Audit, AuditVerdict, LiveRegistration, LiveResolver, check, check_live

Compile = Callable[..., Image]

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
CONV = "resolver.AddConv2D();"


def live(
    *operators: str, slots: int, custom: Sequence[str] = (), name: str = "resolver",
    address: int = 0x2000_0000, slot_bytes: int = 36,
) -> LiveResolver:  # fmt: skip
    rows = [LiveRegistration(one, False, 0, "", "", "Eval", "") for one in operators]
    rows += [LiveRegistration(one, True, 32, "", "", "Eval", one) for one in custom]
    return LiveResolver(name, address, slots, tuple(rows), slot_bytes, "pattern")


Audited = Callable[[LiveResolver, Model], Audit]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """What a live table is worth by itself: the image tells nothing."""
    path = tmp_path_factory.mktemp("silent") / "silent.elf"
    code = MadeSection(".text", 0, bytes(16), load=0, executable=True)
    path.write_bytes(write_elf([code], []))
    silent = Image.from_elf(path)
    return lambda table, model: check_live(silent, model, [table])


@pytest.mark.parametrize(
    ("table", "verdicts"),
    [(live("CONV_2D", "SOFTMAX", slots=2), {AuditVerdict.OK}),
     (live("CONV_2D", slots=1), {AuditVerdict.MISSING}),
     (live(slots=2), {AuditVerdict.EMPTY, AuditVerdict.MISSING, AuditVerdict.TOO_LARGE}),
     (live("CONV_2D", "ADD", "SOFTMAX", slots=5), {AuditVerdict.UNUSED, AuditVerdict.TOO_LARGE})],
)  # fmt: skip
def test_the_live_table_of_a_stripped_image_is_audited_alike(
    audited: Audited, table: LiveResolver, verdicts: set[AuditVerdict]
) -> None:
    audit = audited(table, operator_chain("CONV_2D", "SOFTMAX"))
    assert (set(audit.verdicts), audit.method) == (verdicts, "live")
    assert audit.wasted == 36 * (table.slots - len(table.operators))


def test_verdicts_stand_with_the_gravest_first(audited: Audited) -> None:
    model = operator_chain("CONV_2D", "SOFTMAX")
    many = audited(live("CONV_2D", "CONV_2D", "ADD", slots=1), model)
    assert many.verdicts == (
        AuditVerdict.MISSING, AuditVerdict.TOO_SMALL, AuditVerdict.DUPLICATE, AuditVerdict.UNUSED,
    )  # fmt: skip
    assert (many.verdict, many.passed) == (AuditVerdict.MISSING, False)
    none = audited(live(slots=2), model)
    assert none.verdicts == (AuditVerdict.EMPTY, AuditVerdict.MISSING, AuditVerdict.TOO_LARGE)


@pytest.mark.parametrize(
    ("table", "problem"),
    [(live("CONV_2D", slots=1), "operator SOFTMAX is needed by the model and not registered"),
     (live("CONV_2D", "SOFTMAX", "SOFTMAX", slots=2),
      "SOFTMAX is registered 2 times; one is refused"),
     (live("CONV_2D", "SOFTMAX", "ADD", slots=3), "ADD is registered and not needed"),
     (live("CONV_2D", "SOFTMAX", slots=1),
      "2 operators are registered in 1 slots: 1 of them will be refused"),
     (live("CONV_2D", "SOFTMAX", slots=102),
      "100 of 102 slots stay empty: 3,600 B of RAM wasted")],
)  # fmt: skip
def test_each_problem_is_one_sentence(audited: Audited, table: LiveResolver, problem: str) -> None:
    assert audited(table, operator_chain("CONV_2D", "SOFTMAX")).problems == (problem,)


def test_an_image_that_tells_nothing_tells_no_bytes_of_flash(audited: Audited) -> None:
    audit = audited(live("CONV_2D", "ADD", slots=2), operator_chain("CONV_2D", custom="Atan"))
    assert [one.bytes for one in audit.operators] == [0, 0, 0]


def test_a_duplicate_takes_one_slot(audited: Audited) -> None:
    """Its second registration is refused."""
    audit = audited(live("CONV_2D", "CONV_2D", slots=1), operator_chain("CONV_2D"))
    assert audit.verdicts == (AuditVerdict.DUPLICATE,)
    assert audited(live("ADD", "ADD", slots=1), operator_chain("CONV_2D")).to_json()[
        "duplicates"
    ] == ["ADD"]


def test_the_highest_version_of_several_uses_is_needed(audited: Audited) -> None:
    for versions in ((1, 4), (4, 1)):
        tensors = [T([1, 4], scale=0.5)] * 3
        rows = [Op("CONV_2D", [i], [i + 1], version=v) for i, v in enumerate(versions)]
        model = Model.from_bytes(build(tensors, rows, [0], [2]))
        (row,) = audited(live("CONV_2D", slots=1), model).operators
        assert (row.operator, row.version, row.needed) == ("CONV_2D", 4, True)


@pytest.mark.parametrize("registered", ["Atan", "ATAN", "A_tan"])
def test_a_custom_operator_is_known_however_its_cpp_name_is_spelled(
    audited: Audited, registered: str
) -> None:
    audit = audited(
        live("CONV_2D", slots=2, custom=[registered]), operator_chain("CONV_2D", custom="atan")
    )
    assert audit.verdicts == (AuditVerdict.OK,)
    assert audit.registered == audit.needed == ("CONV_2D", "atan")


def test_a_builtin_is_no_custom_operator_of_the_same_name(audited: Audited) -> None:
    audit = audited(live("ADD", slots=1), operator_chain(custom="ADD"))
    assert audit.missing == ("ADD",)
    assert [(one.custom, one.verdict) for one in audit.operators] == [
        (True, "missing"), (False, "unused")
    ]  # fmt: skip
    assert audit.problems == (
        "custom operator ADD is needed by the model and not registered",
        "ADD is registered and not needed",
    )


def test_slots_of_a_known_object_are_as_large_as_its_debug_information_says(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 2)
    (known,) = find(image)
    here = live("CONV_2D", slots=4, address=known.address, slot_bytes=44)
    elsewhere = live("CONV_2D", slots=4, address=known.address + 4, slot_bytes=44)
    audits = [check_live(image, operator_chain("CONV_2D"), [table]) for table in (here, elsewhere)]
    assert [one.wasted for one in audits] == [3 * 36, 3 * 44]
    declared = [one.resolvers[0] for one in audits]
    assert [(one.bytes, one.slot_bytes) for one in declared] == [(known.bytes, 36), (0, 44)]
    assert [one.declared for one in audits] == [4, 4]


def test_a_live_operator_costs_what_the_image_says(compile_image: Compile) -> None:
    image = compile_image(BOTH, 2)
    in_elf = {one.operator: one.bytes for one in check(image, operator_chain("CONV_2D")).operators}
    audit = check_live(image, operator_chain("CONV_2D"), [live("CONV_2D", "SOFTMAX", slots=2)])
    assert {one.operator: one.bytes for one in audit.operators} == in_elf
    assert min(in_elf.values()) > 0
    cost = f"SOFTMAX is registered and not needed: {in_elf['SOFTMAX']:,} B of flash"
    assert audit.problems == (cost,)


def test_what_is_linked_and_not_in_the_live_table_is_noted(compile_image: Compile) -> None:
    audit = check_live(
        compile_image(BOTH, 2), operator_chain("CONV_2D"), [live("CONV_2D", slots=1)]
    )
    assert audit.notes == (
        "SOFTMAX: linked and not in the table (refused, or its Add* was not reached)",
    )


def test_of_several_live_tables_the_one_that_fits_best_is_audited(compile_image: Compile) -> None:
    tables = [live("ADD", slots=1, name="other"), live("CONV_2D", slots=1, name="mine")]
    audit = check_live(compile_image(BOTH, 2), operator_chain("CONV_2D"), tables)
    assert audit.verdict is AuditVerdict.OK and audit.resolvers[0].name == "mine"
    assert audit.notes[0] == "2 resolvers are in memory; this is mine"


def test_without_a_live_table_there_is_nothing_to_audit(compile_image: Compile) -> None:
    with pytest.raises(CannotTell, match="no resolver"):
        check_live(compile_image(BOTH, 2), operator_chain("CONV_2D"), [])
