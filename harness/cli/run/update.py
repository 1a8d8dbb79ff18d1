"""``tflm-hil run --update``: shows new expected values, and writes them to the case file."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from harness.base.text import count_of
from harness.case.plan import Plan
from harness.case.tally import gravest
from harness.case.update import Run, refuse_read_only, updatable, update_of


def update(made: Plan, path: Path, run: Run, *, dry_run: bool) -> int:
    """Runs the cases of ``made``, and rewrites what their file at ``path`` expects.

    Returns the exit code of the cases whose values were not taken.
    """
    if not dry_run:
        refuse_read_only(path)
    made, others = updatable(made, path)
    for line in (*made.notes, *others):
        click.echo(f"tflm-hil: {line}", err=True)
    found = update_of(made, path, run)
    for one in found.refused:
        click.echo(f"tflm-hil: {one.case}: not updated: {one.reason}", err=True)
    old, new = (text.splitlines(keepends=True) for text in (found.old, found.new))
    click.echo("".join(difflib.unified_diff(old, new, str(path), f"{path} (new)")), nl=False)
    if found.expected and not dry_run:
        found.write()
    if found.expected:
        end = ", not written (--dry-run)" if dry_run else ""
        click.echo(f"{path}: {count_of(len(found.expected), 'case')} updated{end}")
    elif not found.refused:
        click.echo(f"{path}: nothing to update")
    return gravest({one.verdict.exit_code for one in found.refused})
