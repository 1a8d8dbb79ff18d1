"""Renode's platform descriptions and peripherals in platforms/, from its tables and the models.

``python tests/support/renode_platforms.py`` writes them; tests compare.
"""

from __future__ import annotations

from csharp import models, tables

from harness.base import paths
from harness.base.platforms import board_names, board_table, chip_names, chip_table
from harness.targets.renode import description, machine

FOLDER = paths.platforms()


def made() -> dict[str, str]:
    """Name -> text of every file that has a table behind it."""
    chips = [chip_table(name) for name in chip_names()]
    boards = [board_table(name) for name in board_names()]
    return {
        **description.descriptions(chips, boards),
        **{f"{board.key}.resc": machine.start_script(board) for board in boards},
    }


def peripherals() -> dict[str, str]:
    """Name -> text of the files of C# that are generated."""
    return {"peripherals/models.cs": models.text(), "peripherals/tables.cs": tables.text()}


if __name__ == "__main__":
    files = {**made(), **peripherals()}
    for old in (*FOLDER.glob("*.repl"), *FOLDER.glob("*.resc")):
        old.unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
