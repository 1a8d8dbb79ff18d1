"""The table of samples and resolver configurations: what its rows mean, what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base import paths
from harness.base.errors import UsageError
from harness.base.findings import Finding, Kind
from harness.build.generated import RUNTIMES, Addition
from harness.build.standalone import sources_of
from harness.build.table import load, register
from harness.model import Model

TABLE = load()
PAIRS = [(sample.name, row.name) for sample, row in TABLE.pairs()]


@pytest.fixture
def broken(tmp_path: Path):
    """A function that loads the real table with one text replaced by another."""

    def change(old: str, new: str):
        text = (paths.samples() / "resolvers.toml").read_text()
        assert old in text
        path = tmp_path / "resolvers.toml"
        path.write_text(text.replace(old, new, 1))
        return load(path)

    return change


@pytest.mark.parametrize("sample", TABLE.samples.values(), ids=lambda one: one.name)
def test_a_sample_names_the_operators_of_its_model(sample) -> None:
    model = Model.from_file(paths.models() / sample.model)
    builtin = [one.name for one in model.operators if not one.custom]
    custom = [one.name for one in model.operators if one.custom]
    assert sample.operators == tuple(dict.fromkeys(builtin))
    assert sample.custom_operators == tuple(dict.fromkeys(custom))


@pytest.mark.parametrize("sample", TABLE.samples.values(), ids=lambda one: one.name)
def test_a_sample_s_application_has_sources_of_its_own(sample) -> None:
    assert "main.cpp" in {path.name for path in sources_of(sample.application)}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(("sample", "configuration"), PAIRS)
def test_expected_resolver_findings_are_those_of_the_resolver(sample, configuration, runtime):
    variant = TABLE.variant(sample, configuration, runtime)
    kept, refused = register(variant.additions, variant.slots, checked=variant.checked)
    announced = {
        (kind, subject)
        for kind, subject in TABLE.expected(variant).findings
        if kind in (Kind.RESOLVER_TOO_SMALL, Kind.DUPLICATE_OPERATOR)
    }
    assert announced == {(str(kind), name) for kind, name in refused}
    missing = {s for kind, s in TABLE.expected(variant).findings if kind.startswith("missing_")}
    lacking = set(variant.sample.needed) - set(kept)
    stopped = variant.checked and refused
    assert missing <= lacking
    assert bool(missing) == bool(lacking) or stopped


@pytest.mark.parametrize(("sample", "configuration"), PAIRS)
def test_outputs_are_expected_where_nothing_needed_is_lacking(sample, configuration):
    variant = TABLE.variant(sample, configuration)
    kinds = {kind for kind, _ in TABLE.expected(variant).findings}
    fatal = kinds & {"missing_operator", "missing_custom_operator", "arena_too_small"}
    assert TABLE.expected(variant).outputs == (not fatal and not (variant.checked and kinds))


def test_too_small_leaves_the_outputs_right_and_names_the_declared_size() -> None:
    expect = TABLE.expected(TABLE.variant("hello_world", "too_small"))
    assert expect.outputs
    assert expect.findings == (("resolver_too_small", "SOFTMAX"),)
    assert expect.declared == (("resolver_too_small", "SOFTMAX", "declared", 1),)


def test_the_other_order_refuses_the_needed_operator_which_is_then_missing() -> None:
    expect = TABLE.expected(TABLE.variant("hello_world", "too_small_rev"))
    assert not expect.outputs
    assert expect.findings[:2] == (
        ("resolver_too_small", "FULLY_CONNECTED"),
        ("missing_operator", "FULLY_CONNECTED"),
    )


def test_person_detection_adds_the_five_operators_of_the_article_to_hello_world() -> None:
    added = TABLE.variant("hello_world", "person_detection")
    assert added.slots == 6
    assert {one.operator for one in added.additions} == {
        "FULLY_CONNECTED", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "RESHAPE", "SOFTMAX",
    }  # fmt: skip


def test_one_byte_short_is_one_byte_less_than_fits() -> None:
    for runtime in RUNTIMES:
        fits = TABLE.variant("digits", "arena_fits", runtime)
        short = TABLE.variant("digits", "arena_one_byte_short", runtime)
        assert fits.arena - short.arena == 1


def test_expectations_name_missing_and_unexpected_findings() -> None:
    expect = TABLE.expected(TABLE.variant("hello_world", "too_small"))
    right = Finding(Kind.RESOLVER_TOO_SMALL, "", "SOFTMAX", values=(("declared", 1),))
    wrong = Finding(Kind.RESOLVER_TOO_SMALL, "", "SOFTMAX", values=(("declared", 5),))
    stray = Finding(Kind.FAULT, "")
    assert expect.unmet([right]) == []
    assert "declared 5, not 1" in expect.unmet([wrong])[0]
    assert "SOFTMAX" in expect.unmet([])[0]
    assert expect.unexpected([right, stray, Finding(Kind.APPROXIMATION, "")]) == [stray]


def test_a_missing_custom_operator_counts_although_the_runtime_does_not_name_it() -> None:
    expect = TABLE.expected(TABLE.variant("atan", "custom_missing"))
    unnamed = Finding(Kind.MISSING_CUSTOM_OPERATOR, "", "")
    assert not [text for text in expect.unmet([unnamed]) if "missing_custom" in text]


def test_custom_configurations_are_only_for_samples_with_custom_operators() -> None:
    assert {sample for sample, row in PAIRS if row.startswith("custom")} == {"atan"}


@given(
    names=st.lists(st.sampled_from("ABCDE"), max_size=12),
    slots=st.integers(1, 8),
    custom=st.sets(st.sampled_from("ABCDE")),
)
def test_a_resolver_keeps_each_operator_once_and_never_more_than_its_slots(names, slots, custom):
    additions = [Addition(name, "Add", custom=name in custom) for name in names]
    kept, refused = register(additions, slots, checked=False)
    assert len(kept) == len(set(kept)) <= slots
    assert len(kept) + len(refused) == len(names)
    kept_checked, refused_checked = register(additions, slots, checked=True)
    assert len(refused_checked) <= 1
    assert kept_checked == kept[: len(kept_checked)]


def test_a_full_resolver_calls_a_builtin_duplicate_and_a_custom_one_too_many() -> None:
    twice = [Addition("A", "AddA"), Addition("A", "AddA")]
    assert register(twice, 1, checked=False)[1] == [(Kind.DUPLICATE_OPERATOR, "A")]
    custom = [Addition("A", "AddCustom", custom=True)] * 2
    assert register(custom, 1, checked=False)[1] == [(Kind.RESOLVER_TOO_SMALL, "A")]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('slots = "added-1"', 'slots = "most"', "most"),
        ('slots = "added"', 'slots = "added-9"', "at least one"),
        ('kind = "missing_operator"', 'kind = "lost_operator"', "lost_operator"),
        ('operators = ["FULLY_CONNECTED"]', 'operators = ["FULL"]', "FULL"),
        ('operators = ["FULLY_CONNECTED"]', "operators = []", "at least one builtin"),
        ('override = "FULLY_CONNECTED"', 'override = "SOFTMAX"', "SOFTMAX"),
        ('requires = ["custom"]', 'requires = ["luck"]', "luck"),
        ("arena = 3072", 'arena = "3 KB"', "arena"),
        ("repeat = true\nslots", "repaet = true\nslots", "repaet"),
        ("[configurations.exact]", "[configurations.Exact]", "Exact"),
        ("[samples.hello_world]", "[samples.hello_world", "resolvers.toml"),
    ],
)
def test_a_broken_table_is_refused_in_one_line_that_names_the_entry(broken, old, new, told):
    with pytest.raises(UsageError) as error:
        broken(old, new)
    assert told in error.value.message
    assert error.value.hint


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match="no sample 'hello'") as error:
        TABLE.variant("hello", "exact")
    assert "hello_world" in error.value.hint
    with pytest.raises(UsageError, match="no resolver configuration 'custom'"):
        TABLE.variant("hello_world", "custom")
    with pytest.raises(UsageError, match="no runtime"):
        TABLE.variant("hello_world", "exact", "onnx")


def test_a_table_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path / "resolvers.toml")


def test_all_stands_for_every_operator_that_the_standalone_runtime_can_register() -> None:
    api = paths.platforms() / "standalone" / "tflm" / "tensorflow" / "lite" / "micro"
    text = (api / "micro_mutable_op_resolver.h").read_text()
    offered = set(re.findall(r"TfLiteStatus (Add\w+)\(", text)) - {"AddBuiltin", "AddCustom"}
    assert {TABLE.methods[name] for name in TABLE.runtimes["standalone"]} == offered
