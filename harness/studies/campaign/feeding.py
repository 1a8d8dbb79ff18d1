"""Sending of inputs to an image that is fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.case.feed import hand_over
from harness.simulator import End, Machine
from harness.uart.records import fill_blocks, pattern

#: The input tensors of each inference.
Inputs = Sequence[Sequence[bytes]]
READY = pattern("ready")
_ANSWER = pattern("ack", "nak")


def _records(inputs: Inputs, number: int) -> list[bytes]:
    """The records that the host sends for inference ``number``."""
    before = sum(len(list(hand_over(0, index, row))) for index, row in enumerate(inputs[:number]))
    return [fill_blocks(line) for _, line, _ in hand_over(before, number, inputs[number])]


def run_to_ready(machine: Machine, until_tick: int) -> End:
    """Run until the image requests inputs."""
    return machine.run(until_tick=until_tick, pattern=READY)


def send(
    machine: Machine,
    inputs: Inputs,
    number: int,
    until_tick: int,
    over: Callable[[], bool] = lambda: False,
) -> End:
    """Send the inputs of inference ``number``, each record after the answer to the previous one.

    ``over`` is called after each answer; if it returns True, no more is sent.
    """
    *first, last = _records(inputs, number)
    for line in first:
        machine.feed(line)
        end = machine.run(until_tick=until_tick, pattern=_ANSWER)
        if end is not End.CONDITION or over():
            return end
    machine.feed(last)
    return End.CONDITION
