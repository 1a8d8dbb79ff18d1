"""Rules of ``expect.compare`` that cannot be applied."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from harness.base.errors import UsageError
from harness.base.expected import ValueRule
from harness.base.text import short
from harness.case.case import Case
from harness.uart import scraper
from harness.uart.scrapers import reads_tests


def refuse_rules(case: Case) -> None:
    """Raise :class:`UsageError` for the first rule that has no value, or contradicts itself."""
    rules = case.expect.compare
    if not rules:
        return
    if not case.scraper:
        raise UsageError(
            "expect.compare is of a scraper's results, and the case has none",
            hint=r"scraper = '/score: (?P<score>\S+)/'",
        )
    if reads_tests(case.scraper):
        raise UsageError("a suite of tests takes expect.tests, not expect.compare")
    reader = scraper(case.scraper)
    for name, rule in rules.items():
        _refuse_unknown(name, reader.names)
        if rule == "ignored":
            continue
        listed = [values[name] for values in case.expect.values if name in values]
        for reason in (*_contradictions(rule), *_misplaced(rule, name, listed)):
            raise UsageError(f"expect.compare.{name}: {reason}")


def _refuse_unknown(name: str, names: Sequence[str]) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it reads {', '.join(names)}"
    raise UsageError(f"expect.compare: the scraper reads no {short(name)}", hint=hint)


def _contradictions(rule: ValueRule) -> Iterator[str]:
    """What is wrong with a rule alone."""
    if rule == ValueRule():
        yield 'it says nothing: {} compares like no rule, "ignored" compares nothing'
    if rule.min is not None and rule.max is not None and rule.min > rule.max:
        yield f"min = {rule.min:g} is above max = {rule.max:g}"
    given = {"a range": rule.is_range, "rounded": rule.rounded,
             "tolerance": rule.tolerance is not None}  # fmt: skip
    chosen = [name for name, present in given.items() if present]
    if len(chosen) > 1:
        yield f"{' and '.join(chosen[:2])} exclude each other"


def _misplaced(rule: ValueRule, name: str, listed: Sequence[object]) -> Iterator[str]:
    """What is wrong with a rule beside the values that are ``listed`` under its name."""
    if rule.is_range and listed:
        yield f"it is a range, and expect.values lists {name}, too"
    if not rule.is_range and not listed:
        yield f"it is of listed numbers, and expect.values has no {name}"
    for text in (value for value in listed if isinstance(value, str)):
        yield f"it is of numbers, and expect.values has the text {short(text)}"
