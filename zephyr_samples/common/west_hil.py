"""``west hil``: build a sample with Zephyr and run it, in one go."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from west.commands import WestCommand

DESCRIPTION = """\
Builds a sample of tflm-hil in one resolver configuration with this workspace's Zephyr, runs it on
a target, and compares its outputs with the reference. Arguments that are not listed here go to
`tflm-hil run`."""


class Hil(WestCommand):
    """The extension command, which calls ``tflm-hil``."""

    def __init__(self) -> None:
        super().__init__("hil", "build a tflm-hil sample and run it", DESCRIPTION,
                         accepts_unknown_args=True)  # fmt: skip

    def do_add_parser(self, parser_adder: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Declare the arguments."""
        parser = parser_adder.add_parser(
            self.name, help=self.help, description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        parser.add_argument("sample", help="a sample of resolvers.toml, such as hello_world")
        parser.add_argument("--resolver", default="exact", help="its configuration")
        parser.add_argument("--target", default="simulator", help="simulator, renode or board")
        return parser

    def do_run(self, args: argparse.Namespace, unknown_args: list[str]) -> None:
        """Hand over to ``tflm-hil run``; its exit code is this command's."""
        program = shutil.which("tflm-hil")
        if program is None:
            self.die("tflm-hil is not installed; try: pip install -e tflm-hil")
        command = [
            program, "run", args.sample, "--builder", "zephyr", "--resolver", args.resolver,
            "--target", args.target, *unknown_args,
        ]  # fmt: skip
        sys.exit(subprocess.run(command, check=False).returncode)
