"""Recording of a run's results in a history, for every interface that runs cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.base.form import formatted
from harness.base.text import count_of
from harness.case.result import CaseResult
from harness.case.tally import Tally
from harness.history.run import Occasion, from_document


def document(
    results: Sequence[CaseResult], occasion: Occasion, tally: Tally | None = None
) -> dict[str, Any]:
    """The document of ``run --json``, pytest and Robot: run, counts, a row for each case.

    ``tally`` counts the selected cases; by default those with results.
    """
    tally = tally or Tally.of(results)
    cases = [result.to_json() for result in results]
    return formatted({"run": occasion.to_json(), "tally": tally.to_json(), "cases": cases})


def keep(url: str, results: Mapping[str, Any], occasion: Occasion) -> str:
    """Record a document of results in the history at ``url``; return a line for the user.

    Raises the errors of :meth:`History.open` and :meth:`History.record`.
    """
    from harness.history.store import History  # noqa: PLC0415 - a database library

    run = from_document(results, occasion)
    with History.open(url) as history:
        outcome = "recorded" if history.record(run) else "known already"
        return f"{count_of(len(run.cases), 'case')} {outcome} in {history.where}"
