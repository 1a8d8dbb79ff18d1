"""The tensors of inferences while the host feeds an image, read by hooks that do not stop it."""

from __future__ import annotations

from harness.case.further_runs.trials import Trials
from harness.case.layers import DeviceInference, TensorReader, functions_of
from harness.elf import Image
from harness.model import Model
from harness.simulator import Machine
from harness.targets.session import Session
from harness.targets.simulator import SimulatorSession


def watched_inferences(trials: Trials, model: Model, count: int) -> list[DeviceInference]:
    """The first ``count`` inferences of a run; fewer if the image does not come to more.

    None of them on a target without hooks. Raises :class:`UsageError` for an image without TFLM's
    functions.
    """
    image = trials.prepared.image
    if trials.prepared.case.target != SimulatorSession.target:
        return []
    first = _Watch(image, model, count)
    trials.run(first.hook)
    if not first.late or first.tensors is None:
        return first.inferences
    again = _Watch(image, model, count, first.tensors)
    trials.run(again.hook)
    return again.inferences


class _Watch:
    """Reads tensors where ``Invoke()`` begins and ends; ``tensors`` is the address of the first.

    ``late``: the first inference runs another subgraph first, so a later one tells the address.
    """

    def __init__(self, image: Image, model: Model, count: int, tensors: int | None = None) -> None:
        self.tensors, self.inferences = tensors, list[DeviceInference]()
        self.late = tensors is None and model.operators[0].name == "CALL_ONCE"
        self._entry, self._request = functions_of(image)
        self._model, self._count, self._calls = model, count, 0
        self._inputs: tuple[tuple[bytes, ...], tuple[bytes, ...]] | None = None
        self._index = 0

    def hook(self, session: Session) -> None:
        """Watch a session that has not started."""
        assert isinstance(session, SimulatorSession)
        self._session, self._ends = session, set[int]()
        session.machine.hook(self._entry, self._invoked)

    def _invoked(self, machine: Machine) -> None:
        self._calls += 1
        self._inputs = None
        end = machine.registers["lr"] & ~1
        if end not in self._ends:
            self._ends.add(end)
            machine.hook(end, self._ended)
        if self.tensors is not None:
            self._read_inputs()
        elif not self.late or self._calls > 1:
            machine.hook(self._request, self._requested)

    def _requested(self, machine: Machine) -> None:
        self._index = machine.registers["r1"]
        machine.unhook(self._request, self._requested)
        machine.hook(machine.registers["lr"] & ~1, self._located)

    def _located(self, machine: Machine) -> None:
        machine.unhook(machine.pc, self._located)
        self.tensors = TensorReader.base(machine.registers["r0"], self._index)
        self._read_inputs()

    def _read_inputs(self) -> None:
        if len(self.inferences) < self._count:
            reader = self._reader
            self._inputs = reader.inputs(self._model), reader.heads(self._model)

    def _ended(self, _: Machine) -> None:
        if self._inputs is not None:
            inputs, heads = self._inputs
            outputs = self._reader.outputs(self._model)
            self.inferences.append(DeviceInference(inputs, outputs, heads))
            self._inputs = None

    @property
    def _reader(self) -> TensorReader:
        assert self.tensors is not None
        return TensorReader(self._session, self.tensors)
