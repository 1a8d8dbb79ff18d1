"""``tflm-hil completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for SHELL that completes commands, options, samples, cases, targets, models.

    \b
    eval "$(tflm-hil completion bash)"              # in ~/.bashrc
    eval "$(tflm-hil completion zsh)"               # in ~/.zshrc
    tflm-hil completion fish > ~/.config/fish/completions/tflm-hil.fish
    """
    from harness.cli import COMPLETION  # noqa: PLC0415

    shell_complete = get_completion_class(shell)
    assert shell_complete is not None
    root = click.get_current_context().find_root().command
    script = shell_complete(root, {}, "tflm-hil", COMPLETION)
    # Not script.source(), which starts bash to determine its version.
    click.echo(script.source_template % script.source_vars())
