"""A row for each key of a case that doors take: values that all doors read alike, and its effect.

A new key needs a row in both tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.base import paths

MODEL = str(paths.models() / "hello_world_int8.tflite")
ROWS = str(paths.models() / "hello_world_test.npz")
TEXT = {"scraper": "/(?P<y>a)/"}
PRINTED = {"model": MODEL, "inputs": [{"regex": "x: (.)", "factor": 0.01}]}

#: Key -> a value as TOML has it, and the keys that it needs beside it.
VALUES: dict[str, tuple[object, dict[str, object]]] = {
    "also_load": (["b.elf"], {}),
    "resolver": ("missing", {"sample": "hello_world"}),
    "builder": ("zephyr", {"sample": "hello_world"}),
    "chip": ("nrf9151", {}),
    "model": (MODEL, {}),
    "scraper": ("ztest", {}),
    "inputs": (ROWS, {}),
    "outputs": (["y: (.)"], PRINTED),
    "rows": (3, {}),
    "vectors": (ROWS, {}),
    "inferences": (7, {}),
    "reference": ("none", {}),
    "rounding": ("single", {}),
    "multipliers": ("single", {}),
    "tolerance": (0.5, {}),
    "expect": (
        {
            "values": [{"y": 3, "state": "on"}],
            "compare": {"y": {"rounded": True}},
            "lines_absent": ["^E: "],
        },
        TEXT,
    ),
    "budgets": ({"flash": "64 KB", "operators": {"CONV_2D": 600}}, {}),
    "baseline": ("base.json", {}),
    "end": ({"line": "^done$"}, TEXT),
    "observe_after": (2.5, TEXT),
    "timeout": (3.5, {}),
    "guard": (60.0, {}),
    "press": (["button1@0.5"], {}),
    "steps": ([{"wait": "^> "}, {"send": "go\n"}, {"send": {"hex": "0d 0a"}}], TEXT),
    "repeat": (4, {}),
    "target": (["virtual-board"], {}),
    "options": ({"timing": "branches", "power_on": "both"}, {}),
    "peripherals": ({"SAADC": "mine.py:Adc"}, {}),
    "start": ("elf", {}),
}


@dataclass(frozen=True)
class Effect:
    """A key with a right and a wrong value: one passes, the other does not and ``says`` why.

    ``beside``: further keys; ``subject``: what runs.
    """

    right: object
    wrong: object
    says: str
    beside: tuple[tuple[str, object], ...] = ()
    subject: str = "hello.elf"


_MODEL = (("model", "hello.tflite"),)
_TEXT = (("model", "hello.tflite"), ("scraper", "hello_world"))
_X, _Y = r"^x_value: (\S+),", r"y_value: (\S+)$"
EFFECTS: dict[str, Effect] = {
    "also_load": Effect(["hello.hex"], ["digits.elf"], "overlap", _MODEL),
    "resolver": Effect("exact", "missing_one", "missing_one", subject="hello_world"),
    "builder": Effect("standalone", "make", "make", subject="hello_world"),
    "chip": Effect("nrf9160", "nrf5430", "no chip 'nrf5430'", _MODEL),
    "model": Effect("hello.tflite", "digits.tflite", "the image runs"),
    "scraper": Effect("hello_world", "ztest", "no test ran", _MODEL),
    "inputs": Effect([{"regex": _X, "form": "real"}], ["^z: (.)"], "incomplete or out of order", (
        *_MODEL, ("outputs", [{"regex": _Y, "form": "real"}]))),
    "outputs": Effect([{"regex": _Y, "form": "real"}], ["y_value: (0)"], "", (
        *_MODEL, ("inputs", [{"regex": _X, "form": "real"}]))),
    "rows": Effect(3, 0, "rows", (("resolver", "console"),), "hello_world"),
    "vectors": Effect("few.npz", "none.npz", "none.npz", (("resolver", "console"),), "hello_world"),
    "inferences": Effect(20, 21, "at least 21 are expected", _MODEL),
    "reference": Effect("numpy", "none", "neither a reference nor expected values", _MODEL),
    "rounding": Effect("double", "triple", "rounding", _MODEL),
    "multipliers": Effect("double", "triple", "multipliers", _MODEL),
    "tolerance": Effect(0.5, -1, "tolerance", _MODEL),
    "expect": Effect({"lines_absent": ["FAIL"]}, {"findings": ["fault"]}, "fault", _MODEL),
    "budgets": Effect({"flash": "60 KB"}, {"flash": 100}, "over its budget of 100 B", _MODEL),
    "baseline": Effect("hello.elf", "sweep.toml", "sweep.toml", (
        *_MODEL, ("budgets", {"flash": "+0"}))),
    "end": Effect("idle", "system_off", "should switch the chip off", _TEXT),
    "observe_after": Effect(0.5, 0, "observe_after", _TEXT),
    "timeout": Effect(5, 0.0001, "deadline", _MODEL),
    "guard": Effect(60, 0, "guard", _MODEL),
    "press": Effect(["button1@0.001"], ["lever"], "no pin 'lever'", _MODEL),
    "steps": Effect([{"wait": "^x_value: 0.3"}], [{"wait": "^no"}], "step 1 of 1: no line", _TEXT),
    "repeat": Effect(2, 0, "repeat", _MODEL),
    "target": Effect(["simulator"], ["renode"], "renode was asked for by name", _MODEL),
    "options": Effect({"power_on": "both"}, {"timing": "warp"}, "no timing 'warp'", _MODEL),
    "start": Effect("chip", "rom", "start", _MODEL),
    "peripherals": Effect({"SAADC": "feed.npz"}, {"RADIO": "feed.npz"}, "RADIO", _MODEL),
}  # fmt: skip
