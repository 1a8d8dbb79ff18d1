"""New expected values of a case file, from the results of its cases (``tflm-hil run --update``).

A case runs twice: the first run gives the values, and the second one must pass with them. So values
that change from run to run are not taken, nor those of a case that fails for another reason.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item

from harness.base import files
from harness.base.errors import BUG_HINT, CannotWrite, CheckFailed, HilError, UsageError
from harness.base.expected import Expected, KnownState, ValueRule
from harness.base.text import count_of, short
from harness.case.case import Case
from harness.case.casefile import place_of
from harness.case.plan import Item as Planned
from harness.case.plan import Plan
from harness.case.result import CaseResult, Evidence, Verdict
from harness.uart.lines import number
from harness.uart.scrapers.rules import Value, number_of

#: The printed numbers that TOML has, too; others, such as ``007``, are computed.
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
#: The keys that are rewritten, and the table that holds them.
_TABLE, _VALUES, _TESTS = "expect", "values", "tests"

#: Runs a plan, and returns the result of each item.
Run = Callable[[Plan], Sequence[CaseResult]]


@dataclass(frozen=True)
class Edits:
    """What is new in one case, as it was printed.

    ``values`` are by row, from 0, and name; ``rows`` follow the last one; ``tests`` are states.
    """

    values: Mapping[tuple[int, str], str] = field(default_factory=dict)
    rows: tuple[Mapping[str, str], ...] = ()
    tests: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.values or self.rows or self.tests)


@dataclass(frozen=True)
class NotUpdated:
    """A case whose values are not taken, why, and the verdict that says so."""

    case: str
    reason: str
    verdict: Verdict


@dataclass(frozen=True)
class Update:
    """The new text of a case file. ``expected`` is what the cases with new values expect now."""

    path: Path
    old: str
    new: str
    expected: Mapping[str, Expected]
    refused: tuple[NotUpdated, ...]

    def write(self) -> None:
        """Write the file, and read it back.

        Raises :class:`CannotWrite`, and :class:`HilError` with the old content restored if it reads
        as anything else than the old content with the new values.
        """
        if files.read(self.path) != self.old.encode():
            raise CannotWrite(f"{self.path} has changed while its cases ran, and is left as it is")
        files.write(self.path, self.new)
        wanted = tomllib.loads(self.old)
        for name, expect in self.expected.items():
            table = _case(wanted, name)[_TABLE]
            new = {_VALUES: list(map(dict, expect.values)), _TESTS: dict(expect.tests)}
            table.update({key: value for key, value in new.items() if key in table})
        try:
            same = files.read_toml(self.path) == wanted
        except UsageError:
            same = False
        if not same:
            files.write(self.path, self.old)
            raise HilError(
                f"{self.path}: more than expected values would have changed: its old content is "
                "restored",
                hint=BUG_HINT,
            )


def refuse_read_only(path: Path) -> None:
    """Raise :class:`CannotWrite` for a file that may not be written, root or not."""
    writable = path.stat().st_mode & 0o222 and os.access(path, os.W_OK)
    if not (writable and os.access(path.absolute().parent, os.W_OK)):
        raise CannotWrite(f"{path} is read-only", hint="--dry-run shows what would change")


def updatable(made: Plan, path: Path) -> tuple[Plan, tuple[str, ...]]:
    """The items of a plan whose expected values can be updated, and a line for each other case.

    Raises :class:`UsageError` if there is none, or if values do not stand in a ``[[case]]``.
    """
    items: list[Planned] = []
    others: dict[str, None] = {}
    for item in made.items:
        case = item.case
        if not (case.expect.values or case.expect.tests):
            others[f"{case.name}: nothing to update: {_compared(case)}"] = None
            continue
        keys = (_TABLE, f"{_TABLE}.{_VALUES}", f"{_TABLE}.{_TESTS}")
        for key, _, origin in item.origins:
            if key in keys and origin != place_of(path, case.name):
                raise UsageError(
                    f"{case.name}: its expected values stand in {origin}: only those in the "
                    "[[case]] can be updated",
                    hint="move them there",
                )
        items.append(item)
    if not items:
        raise UsageError(f"{path}: {'; '.join(others)}")
    return replace(made, items=tuple(items)), tuple(others)


def _compared(case: Case) -> str:
    if case.reference == "numpy" and (case.model is not None or case.sample):
        return "its outputs are compared with the model"
    return "it has neither expect.values nor expect.tests"


def update_of(made: Plan, path: Path, run: Run) -> Update:
    """The new text of the case file at ``path``, from two runs of the cases of a plan."""
    new = old = files.read(path).decode()
    cases = {item.case.name: item.case for item in made.items}
    results: dict[str, list[CaseResult]] = {name: [] for name in cases}
    for item, result in zip(made.items, run(made), strict=True):
        results[item.case.name].append(result)
    outcomes = {name: _outcome(case, results[name], old) for name, case in cases.items()}
    edits = {name: one for name, one in outcomes.items() if isinstance(one, Edits) and one}
    expected = {
        name: _expected(cases[name], applied(old, name, one)) for name, one in edits.items()
    }
    failed = _confirmed(made, expected, run)
    taken = {name: one for name, one in expected.items() if name not in failed}
    for name in taken:
        new = applied(new, name, edits[name])
    refused = [one for one in outcomes.values() if isinstance(one, NotUpdated)]
    return Update(path, old, new, taken, (*refused, *failed.values()))


def _outcome(case: Case, results: Sequence[CaseResult], text: str) -> Edits | NotUpdated:
    """The edits on which the results of all targets agree, or why there are none."""
    for result in results:
        verdict, reason = result.judgement.verdict, result.judgement.reason
        if verdict not in (Verdict.PASS, Verdict.FAIL):
            return NotUpdated(case.name, f"{verdict} on {result.setup.place}: {reason}", verdict)
        if unexpected := case.expect.unexpected(result.evidence.findings):
            return NotUpdated(case.name, f"{unexpected[0].kind}: {unexpected[0].message}", verdict)
    try:
        first, *others = [edits_of(case.expect, result.evidence) for result in results]
        applied(text, case.name, first)
    except CheckFailed as error:
        return NotUpdated(case.name, error.message, Verdict.FAIL)
    if any(one != first for one in others):
        places = " and ".join(result.setup.place for result in results)
        return NotUpdated(case.name, f"{places} give different values", Verdict.FAIL)
    failed = next((result for result in results if not result.passed), None)
    if failed is not None and not first:
        return NotUpdated(case.name, failed.judgement.reason, Verdict.FAIL)
    return first


def _confirmed(made: Plan, expected: Mapping[str, Expected], run: Run) -> dict[str, NotUpdated]:
    """The cases that do not pass with what they are to expect, by name."""
    items = tuple(
        replace(item, case=replace(item.case, expect=expected[item.case.name]))
        for item in made.items
        if item.case.name in expected
    )
    if not items:
        return {}
    return {
        result.setup.name: NotUpdated(
            result.setup.name,
            f"with the new values, {result.judgement.reason}",
            result.judgement.verdict,
        )
        for result in run(replace(made, items=items))
        if not result.passed
    }


def edits_of(expected: Expected, evidence: Evidence) -> Edits:
    """What a run showed in place of what was expected.

    Raises :class:`CheckFailed` for a value, a row or a test that did not come: it is not removed.
    """
    values: dict[tuple[int, str], str] = {}
    rows: tuple[Mapping[str, str], ...] = ()
    if (listing := evidence.listing) is not None:
        if listing.came < listing.rows:
            came = count_of(listing.came, "result")
            raise CheckFailed(f"{came} came, {listing.rows} are listed: none is removed")
        for row, name, printed in listing.differing:
            if printed is None:
                raise CheckFailed(f"result {row + 1} has no {name} any more: it is not removed")
            values[row, name] = _as_listed(printed, expected.compare.get(name))
        rows = tuple(
            {name: _as_listed(one, expected.compare.get(name)) for name, one in row.items()}
            for row in listing.extra
        )
    states = {test.name: test.state for test in evidence.tests}
    tests: dict[str, str] = {}
    for name, state in expected.tests.items():
        now = states.get(name)
        if now is None or now not in get_args(KnownState):
            raise CheckFailed(f"{name} {now or 'did not run'}: it is not removed")
        if now != state and (state, now) != ("flaky", "pass"):
            tests[name] = now
    return Edits(values, rows, tests)


def _as_listed(printed: str, rule: ValueRule | Literal["ignored"] | None) -> str:
    """A printed value as one that a case lists: a number times its factor."""
    if rule is None or rule == "ignored" or rule.factor == 1:
        return printed
    value = number_of(printed, rule)
    return printed if value is None else f"{value:.12g}"


def applied(text: str, name: str, edits: Edits) -> str:
    """The text of a case file with the edits of one case.

    Raises :class:`CheckFailed` for a text in place of a number, and :class:`UsageError` for a file
    that cannot be edited.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise UsageError(f"the case file cannot be edited: {error}") from error
    expect = _case(document, name)[_TABLE]
    if edits.values or edits.rows:
        _edit_values(expect[_VALUES], edits)
    for test, state in edits.tests.items():
        expect[_TESTS][test] = _item(state, expect[_TESTS][test], test)
    return tomlkit.dumps(document)


def _edit_values(values: Any, edits: Edits) -> None:
    for (row, name), printed in edits.values.items():
        values[row][name] = _item(printed, values[row][name], f"{name} of result {row + 1}")
    like = {name: item for table in values for name, item in table.items()}
    for printed_row in edits.rows:
        result = len(values) + 1
        items = {
            name: _item(printed_row[name], item, f"{name} of result {result}")
            for name, item in like.items()
            if name in printed_row
        }
        if not items:
            raise CheckFailed(f"result {result} is not listed, and has no listed name")
        tables = isinstance(values, AoT)
        values.append(tomlkit.item(items) if tables else _inline(items, values[-1].as_string()))


def _inline(items: Mapping[str, Item], like: str) -> Item:
    """A table in one line, with blanks inside its braces if ``like`` has them."""
    pad = " " if like.startswith("{ ") else ""
    pairs = (
        f"{tomlkit.key(name).as_string()} = {item.as_string()}" for name, item in items.items()
    )
    return tomlkit.value(f"{{{pad}{', '.join(pairs)}{pad}}}")


def _item(printed: str, like: Item, what: str) -> Item:
    """``printed`` in TOML: a text or a number as the value that it replaces, in its quotes."""
    if isinstance(like, str):
        literal = like.as_string().startswith("'") and printed.isprintable()
        return tomlkit.string(printed, literal=literal and "'" not in printed)
    value = number(printed)
    if value is None:
        raise CheckFailed(f"{what} is {short(printed)}, where a number is listed")
    if _NUMBER.fullmatch(printed):
        return tomlkit.value(printed)
    return tomlkit.item(int(value) if value.is_integer() else value)


def _expected(case: Case, text: str) -> Expected:
    """What a case expects by the ``text`` of its file."""
    table = _case(tomllib.loads(text), case.name)[_TABLE]
    values: Iterable[Mapping[str, Value]] = table.get(_VALUES, ())
    return replace(case.expect, values=tuple(values), tests=dict(table.get(_TESTS, {})))


def _case(document: Mapping[str, Any], name: str) -> Any:
    """The ``[[case]]`` called ``name``."""
    return next(row for row in document["case"] if row["name"] == name)
