"""A cell of the doors, and how it is written: a call, and what spoils the stage before it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import replay_nights as lab
from little_tflm import INTERPRET, compile_little
from model_builder import Op, T, build
from stage import CASES, Outcome, Stage

Call = Callable[[Stage], Outcome]


@dataclass(frozen=True)
class Cell:
    """One way through one door, which must not be green.

    ``says`` stands in what the call prints: the cell is not red for another reason. ``owner`` is
    the part that will make it red; until then the test expects it to be green.
    """

    door: str
    way: str
    call: Call
    says: str = ""
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.door}: {self.way}"


def cli(line: str, *spoil: Callable[[Stage], object]) -> Call:
    """``tflm-hil LINE`` in a stage that is spoilt first."""
    return _after(spoil, lambda stage: stage.cli(line))


def robot(
    steps: str,
    *variables: str,
    setup: str = "",
    spoil: tuple[Callable[[Stage], object], ...] = (),
) -> Call:
    return _after(spoil, lambda stage: stage.robot(steps, *variables, setup=setup))


def pytest_(body: str, *options: str, spoil: tuple[Callable[[Stage], object], ...] = ()) -> Call:
    return _after(spoil, lambda stage: stage.pytest(body, *options))


def action(spoil: tuple[Callable[[Stage], object], ...] = (), **inputs: str) -> Call:
    return _after(spoil, lambda stage: stage.action(**inputs))


def _after(spoil: tuple[Callable[[Stage], object], ...], call: Call) -> Call:
    def spoilt(stage: Stage) -> Outcome:
        for change in spoil:
            change(stage)
        return call(stage)

    return spoilt


def put(name: str, other: str) -> Callable[[Stage], None]:
    return lambda stage: stage.put(name, other)


def write(name: str, content: str | bytes = b"") -> Callable[[Stage], None]:
    return lambda stage: stage.write(name, content)


def green(line: str) -> Callable[[Stage], None]:
    """A call before, which must be green."""

    def call(stage: Stage) -> None:
        outcome = stage.cli(line)
        assert outcome.green, outcome.said

    return call


def lose(stage: Stage) -> None:
    stage.lose_simulator()


def kept(*nights: int) -> Callable[[Stage], None]:
    return lambda stage: stage.kept(*nights)


def other_database(stage: Stage) -> None:
    """An SQLite file with tables of another project."""
    import sqlite3

    with sqlite3.connect(stage.folder / "other.db") as database:
        database.execute("CREATE TABLE runs (id INTEGER, colour TEXT)")
        database.execute("CREATE TABLE units (number INTEGER, colour TEXT)")
    database.close()


def little(register: str) -> Callable[[Stage], None]:
    """little.elf, whose model needs two operators: it registers one, and then ``register``."""

    def compile_it(stage: Stage) -> None:
        model = [Op(name, [i], [i + 1]) for i, name in enumerate(("CONV_2D", "SOFTMAX"))]
        tensors = [T([1, 4], scale=0.5) for _ in range(3)]
        data = build(tensors, model, [0], [2])
        stage.write("little.tflite", data)
        for kind, code in {"plain": "resolver.AddSoftmax();", "little": register}.items():
            elf = compile_little(
                stage.folder / kind, register=f"resolver.AddConv2D(); {code}",
                interpret=INTERPRET, models={"g_model": data},
            )  # fmt: skip
            shutil.copy(elf, stage.folder / f"{kind}.elf")
        good = stage.cli("resolver check plain.elf little.tflite")
        assert good.green, good.said

    return compile_it


def header_of_a_sample(stage: Stage) -> None:
    """hello_world with a header beside its sources, built; then the header is spoilt."""
    stage.samples_without(lambda text: text)
    application = stage.folder / "mine" / "hello_world"
    source = application.resolve()
    application.unlink()
    shutil.copytree(source, application)
    main = application / "src" / "main.cpp"
    main.write_text(f'#include "../spoilt.h"\n{main.read_text()}')
    (application / "spoilt.h").write_text("")
    good = stage.cli("run hello_world")
    assert good.green, good.said
    (application / "spoilt.h").write_text("#error spoilt\n")


def night(number: int, *cases: dict, **run: object) -> Callable[[Stage], None]:
    return lambda stage: stage.results("now.json", lab.document(*cases, night=number, **run))


def arrays(**rows: np.ndarray) -> Callable[[Stage], None]:
    def save(stage: Stage) -> None:
        for name, values in rows.items():
            np.save(stage.folder / f"{name}.npy", values)

    return save


def listing(*targets: str) -> Callable[[Stage], None]:
    """The case file lists these targets."""
    return write("hil.toml", f"{CASES}targets = {list(targets)}\n")
