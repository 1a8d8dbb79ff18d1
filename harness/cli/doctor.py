"""``tflm-hil doctor``."""

from __future__ import annotations

import click

from harness import doctor as checks
from harness.errors import EnvironmentMissing, UsageError


@click.command()
@click.option("--install", is_flag=True, help="Install what is missing (asks for root if need be).")
@click.option("--all", "everything", is_flag=True, help="With --install: the optional things, too.")
@click.option("--dry-run", is_flag=True, help="With --install: only print the commands.")
def doctor(install: bool, everything: bool, dry_run: bool) -> None:
    """Say what this machine has and lacks; exit code 3 if something required is missing.

    \b
    tflm-hil doctor
    tflm-hil doctor --install --dry-run
    tflm-hil doctor --install
    """
    if not install and (everything or dry_run):
        raise UsageError("--all and --dry-run say how to --install", hint="add --install")
    diagnoses = checks.examine()
    for one in diagnoses:
        need = one.requirement
        if one.ok:
            mark, colour, rest = "ok", "green", one.found
        else:
            mark, colour = ("MISSING", "red") if need.required else ("not here", "yellow")
            rest = need.hint or f"Debian package {need.package}"
        click.echo(f"{click.style(f'{mark:>8}', fg=colour)}  {need.name} ({need.purpose}): {rest}")
    folder, size = checks.cache_size()
    click.echo(f"   cache  {folder}: {size / 1e6:.0f} MB of builds; safe to delete")
    packages = checks.packages_to_install(diagnoses, optional=everything)
    if install and packages:
        for command in checks.install_commands(packages):
            click.echo(f"{'would run' if dry_run else 'running'}: {' '.join(command)}")
        if not dry_run:
            checks.install(packages)
            diagnoses = checks.examine()
    if install:
        click.echo(checks.build_core(click.echo, dry_run=dry_run))
    missing = [one.requirement.name for one in diagnoses if not one.ok and one.requirement.required]
    if missing:
        raise EnvironmentMissing(
            f"missing: {', '.join(missing)}", hint="tflm-hil doctor --install installs them"
        )
    click.echo("everything that is required is here")
