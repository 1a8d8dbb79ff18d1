"""Instructions by call stack: from the core's numbers to names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.elf import Image
from harness.elf.call_tree import ENTRY, EXCEPTION, UNKNOWN, CallNode, FunctionMap

CODE = MadeSection(".text", 0x1000, bytes(0x100), load=0x1000, executable=True)
SYMBOLS = (
    MadeSymbol("absent", 0, kind="func", section=None),  # weak, and nobody defines it
    MadeSymbol("init", 0x1000, 0x10, "func"),
    MadeSymbol("delay_machine_code", 0x1010, 8),
    MadeSymbol("empty", 0x1020, 0),
)


def functions(folder: Path) -> FunctionMap:
    path = folder / "a.elf"
    path.write_bytes(write_elf([CODE], SYMBOLS))
    return FunctionMap(Image.from_elf(path))


def test_code_has_the_function_or_the_object_that_it_is_in(tmp_path: Path) -> None:
    known = functions(tmp_path)
    table = np.frombuffer(known.numbers(0x1000, 0x40), np.uint32)
    init, code = known.names.index("init"), known.names.index("delay_machine_code")
    assert list(table[:12]) == [init | ENTRY, *[init] * 7, code | ENTRY, *[code] * 3]
    assert not table[12:].any()


def test_what_no_symbol_names_is_not_a_function_at_address_zero(tmp_path: Path) -> None:
    tree = functions(tmp_path).tree(
        [(0, 0, 5), (0, EXCEPTION | 11, 2)], lambda number: f"E{number}"
    )
    assert tree.nodes == (CallNode(0, UNKNOWN, 5), CallNode(0, "E11", 2))


def test_calls_of_a_function_have_a_number_for_each_operator(tmp_path: Path) -> None:
    known = functions(tmp_path)
    init = known.names.index("init")
    numbers = [known.called_by(0x1000, name) for name in ("CONV_2D", "ADD", "CONV_2D")]
    assert len({init, *numbers}) == 3
    nodes = [(0, 0, 0), (0, numbers[0], 30), (0, numbers[1], 18), (0, init, 4)]
    tree = known.tree(nodes, str)
    assert {node.function for node in tree.nodes[1:]} == {"init"}
    assert tree.groups({0x1000: "CONV_2D, ADD"}, "rest") == {
        "CONV_2D": 30, "ADD": 18, "CONV_2D, ADD": 4,
    }  # fmt: skip
