"""Text and numbers that one database takes and another does not are made fit before writing."""

import math

import replay_nights as lab

from harness.history import schema


def test_text_is_cut_to_its_column_and_has_no_nul_and_no_lone_surrogate(history, run):
    strange = lab.case("n" * 300 + "\0", reason="a\0b\ud800c" + "r" * 5000)
    history.record(run(lab.document(strange, branch="b" * 300)))
    (row,) = history.runs()
    ((key, (point,)),) = history.cases([row]).items()
    assert (len(key.case), len(row.occasion.branch), len(point.outcome.reason)) == (255, 255, 4096)
    assert point.outcome.reason.startswith("a�b?c")


def test_a_figure_that_is_not_finite_is_not_kept(history, run):
    history.record(run(lab.document(lab.case(flash=math.nan, ram=math.inf, arena_used=564))))
    (point,) = next(iter(history.cases(history.runs()).values()))
    kept = {name for name, _ in point.outcome.figures}
    assert "arena" in kept and not kept & {"flash", "ram"}


def test_a_start_that_is_not_a_time_is_not_taken(history, run):
    history.record(run(lab.document(started=math.nan)))
    assert history.runs()[0].occasion.started == 0.0


def test_every_column_of_text_has_its_limit():
    for table in schema.metadata.sorted_tables:
        row = {c.name: "x\0" * 6000 for c in table.columns if c.type.python_type is str}
        fitted = schema.fitting(table, row)
        assert all("\0" not in value for value in fitted.values())
        assert all(len(value) <= (table.c[name].type.length or 12_000)
                   for name, value in fitted.items())  # fmt: skip
