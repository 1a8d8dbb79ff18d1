"""``tflm-hil doctor``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from harness import doctor as checks
from harness.base import logs
from harness.base.errors import EnvironmentMissing, UsageError
from harness.base.text import count_of
from harness.build import ninja
from harness.targets.renode.archives import PINNED, Archive, installable, shown
from harness.targets.renode.install import install as install_renode


@click.command()
@click.option("--install", is_flag=True, help="Install missing tools (with sudo if needed).")
@click.option("--images", is_flag=True, help="Require only the tools for testing built images.")
@click.option("--all", "everything", is_flag=True, help="With --install: also optional tools.")
@click.option("--clear", is_flag=True, help="Remove the images that were built, and nothing else.")
@click.option("--dry-run", is_flag=True, help="With --install: only print the commands.")
@click.option(
    "--with",
    "extras",
    type=click.Choice(["renode"]),
    multiple=True,
    help=f"With --install: also install Renode {shown(PINNED)} into the cache.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path),
    help="With --with renode: an archive that is already downloaded.",
)
@click.option(
    "--unconfirmed",
    is_flag=True,
    help="With --with renode: accept an archive whose SHA-256 is known from one source only.",
)
def doctor(
    *,
    install: bool,
    images: bool,
    everything: bool,
    clear: bool,
    dry_run: bool,
    extras: tuple[str, ...],
    archive: Path | None,
    unconfirmed: bool,
) -> None:
    """Check the tools on this machine; exit code 3 if a required one is missing.

    The compiler and its libraries are needed only to build the project's samples, not to test
    images of your own (--images).

    \b
    tflm-hil doctor
    tflm-hil doctor --images
    tflm-hil doctor --install --dry-run
    tflm-hil doctor --install
    tflm-hil doctor --install --with renode
    tflm-hil doctor --clear
    """
    if install and images:
        raise UsageError("--install also installs the tools for samples: omit --images")
    if not install and (everything or dry_run or extras):
        raise UsageError("--all, --with and --dry-run need --install", hint="add --install")
    if not extras and (archive or unconfirmed):
        raise UsageError(
            "--archive and --unconfirmed need --with renode", hint="add --install --with renode"
        )
    if clear:
        if install or images:
            raise UsageError("--clear cannot be combined with other options")
        click.echo(f"removed {ninja.clear() / 1e6:.0f} MB of builds from {ninja.folders()}")
        return
    if extras:
        _renode(installable(unconfirmed=unconfirmed), archive, dry_run)
    diagnoses = checks.examine(checks.FOR_IMAGES if images else checks.REQUIREMENTS)
    _show(diagnoses)
    if install:
        _install(checks.packages_to_install(diagnoses, optional=everything), dry_run)
        diagnoses = diagnoses if dry_run else checks.examine()
    missing = [one.requirement.name for one in diagnoses if not one.ok and one.requirement.required]
    if missing:
        raise EnvironmentMissing(
            f"missing: {', '.join(missing)}",
            hint="tflm-hil doctor --install installs them; doctor --images omits tools that only "
            "samples need",
        )
    click.echo("all required tools are installed")


def _show(diagnoses: Sequence[checks.Diagnosis]) -> None:
    for diagnosis in diagnoses:
        need = diagnosis.requirement
        if diagnosis.ok:
            state, colour, note = "ok", "green", diagnosis.found
        else:
            state, colour = ("MISSING", "red") if need.required else ("absent", "yellow")
            note = need.hint or f"Debian package {need.package}"
        click.echo(f"{click.style(f'{state:>8}', fg=colour)}  {need.name} ({need.purpose}): {note}")
    _show_builds()


def _show_builds() -> None:
    builds = ninja.contents()
    total = sum(one.size for one in builds)
    removal = "; `tflm-hil doctor --clear` removes them" if builds else ""
    click.echo(f"  builds  {ninja.folders()}: {total / 1e6:.0f} MB{removal}")
    for one in builds:
        if one.title:
            images = count_of(one.images, "image")
            size = f"{one.size / 1e6:.0f} MB"
            click.echo(f"          {one.path.name}: {one.title}: {images}, {size}")
    older = sum(one.size for one in builds if not one.title)
    if older:
        click.echo(f"          of an older version: {older / 1e6:.0f} MB")


def _install(packages: Sequence[str], dry_run: bool) -> None:
    """Installs ``packages``, and builds the counting core."""
    if packages:
        for command in checks.install_commands(packages):
            click.echo(f"{'would run' if dry_run else 'running'}: {' '.join(command)}")
        if not dry_run:
            checks.install(packages)
    with logs.shown(click.echo):
        outcome = checks.build_core(dry_run=dry_run)
    click.echo(outcome)


def _renode(archive: Archive, file: Path | None, dry_run: bool) -> None:
    source = file or archive.url
    if dry_run:
        click.echo(f"would install {source}")
        return
    click.echo(f"installing {source}")
    console = Console(file=sys.stdout)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=archive.size or None)
        program = install_renode(
            archive, file=file, progress=lambda done: bar.update(task, completed=done)
        )
    click.echo(f"Renode {shown(PINNED)} is at {program}")
