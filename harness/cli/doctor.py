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
from harness.cli.parameters import Name
from harness.targets.renode.install import archive_for, check_libc
from harness.targets.renode.install import install as install_renode
from harness.targets.renode.releases import ARCHIVES, PINNED, Archive, Version, shown

_STEP = 10  # per cent between two lines of progress without a terminal


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
    help="With --install: also install the pinned Renode into the cache.",
)
@click.option(
    "--renode-version",
    metavar="VERSION",
    type=Name(lambda: dict.fromkeys(shown(one.version) for one in ARCHIVES)),
    help=f"With --with renode: another pinned version than {shown(PINNED)}.",
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
    renode_version: str | None,
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
    if not extras and (renode_version or archive or unconfirmed):
        raise UsageError(
            "--renode-version, --archive and --unconfirmed need --with renode",
            hint="add --install --with renode",
        )
    if clear:
        if install or images:
            raise UsageError("--clear cannot be combined with other options")
        click.echo(f"removed {ninja.clear() / 1e6:.0f} MB of builds from {ninja.folders()}")
        return
    if extras:
        wanted = archive_for(_version(renode_version), archives=ARCHIVES, unconfirmed=unconfirmed)
        _renode(wanted, archive, dry_run)
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


def _version(text: str | None) -> Version:
    numbers = (text or shown(PINNED)).split(".")
    if len(numbers) != 3 or not all(part.isascii() and part.isdigit() for part in numbers):
        raise UsageError(f"{text!r} is not a version", hint=f"for example {shown(PINNED)}")
    major, minor, patch = (int(part[:9]) for part in numbers)
    return major, minor, patch


def _renode(archive: Archive, file: Path | None, dry_run: bool) -> None:
    check_libc()
    source = file or archive.url
    if dry_run:
        click.echo(f"would install {source}")
        return
    click.echo(f"installing {source}")
    console = Console(file=sys.stdout)
    if console.is_terminal:
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=archive.size or None)
            program = install_renode(
                archive, file=file, progress=lambda done, _: bar.update(task, completed=done)
            )
    else:
        program = install_renode(archive, file=file, progress=_InstallLines())
    click.echo(f"Renode {shown(archive.version)} is at {program}")


class _InstallLines:
    """Prints progress as plain lines: every 10 %, or every 10 MB if the total is unknown."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, done: int, total: int) -> None:
        progress = 100 * done // total if total else done // 1_000_000
        if progress >= self._next:
            click.echo(f"  {progress} {'%' if total else 'MB'}")
            self._next = progress - progress % _STEP + _STEP
