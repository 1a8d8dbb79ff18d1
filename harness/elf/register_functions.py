"""Functions of an image that register operators, and the operators that they register.

tflite-micro registers an operator through a function that returns its ``TFLMRegistration``:
``tflite::Register_CONV_2D()`` for builtins (``Register_CONV_2D_INT8()`` for a variant), a function
of the application for custom operators and own kernels. A builtin also has a parser of its options
(``tflite::ParseConv2D``), which only that operator needs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.elf.demangle import qualified
from harness.elf.graph import Graph
from harness.model.schema import OPERATOR_NAMES

#: tflite-micro's own custom operators: registration function -> name in the model.
#: Source: the Add* functions of micro_mutable_op_resolver.h.
LIBRARY_CUSTOM: Mapping[str, str] = {
    "CIRCULAR_BUFFER": "CIRCULAR_BUFFER",
    "DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess",
    "ETHOSU": "ethos-u",
    "DECODE": "TFLM_DECODE",
    "DELAY": "SignalDelay",
    "ENERGY": "SignalEnergy",
    "FFT_AUTO_SCALE": "SignalFftAutoScale",
    "FILTER_BANK": "SignalFilterBank",
    "FILTER_BANK_LOG": "SignalFilterBankLog",
    "FILTER_BANK_SQUARE_ROOT": "SignalFilterBankSquareRoot",
    "FILTER_BANK_SPECTRAL_SUBTRACTION": "SignalFilterBankSpectralSubtraction",
    "FRAMER": "SignalFramer",
    "IRFFT": "SignalIrfft",
    "OVERLAP_ADD": "SignalOverlapAdd",
    "PCAN": "SignalPCAN",
    "RFFT": "SignalRfft",
    "STACKER": "SignalStacker",
    "WINDOW": "SignalWindow",
}

_BUILTINS = frozenset(OPERATOR_NAMES)
#: Operators by their names in lower case, without underscores.
BY_SPELLING = {name.replace("_", "").lower(): name for name in OPERATOR_NAMES}
#: Registration functions of older revisions that are not named after their operator.
_OLDER_NAMES = {"L2NORM_REF": "L2_NORMALIZATION"}
#: Parsers that several operators share.
_SHARED_PARSERS = {
    "Pool": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "Reducer": ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY",
                "REDUCE_ALL"),
    "Add": ("ADD",),
}  # fmt: skip
_REGISTER = re.compile(r"(?:^|::)(Register|Own)_(\w+)$")
_PARSER = re.compile(r"^tflite::Parse([A-Z]\w*)$")
_ADD = re.compile(r"MicroMutableOpResolver<\d+u?>::Add([A-Z]\w*)$")


@dataclass(frozen=True)
class Registration:
    """An operator that an image can register.

    ``entries`` are the graph's nodes to which only this operator's registration refers:
    registration functions and parsers. ``register`` are the registration functions alone.
    """

    operator: str
    custom: bool
    register: tuple[int, ...]
    entries: tuple[int, ...]


def find(graph: Graph) -> tuple[Registration, ...]:
    """The operators whose registration functions are linked, sorted by name.

    A function that returns nullptr registers nothing, such as tflite-micro's Register_ETHOSU()
    in an image that is built without that accelerator.
    """
    register: dict[tuple[str, bool], list[int]] = {}
    parsers: dict[str, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        if node.kind not in ("function", "label") or number in graph.nulls:
            continue
        for name in (node.name, *node.aliases):
            operator_key = registered_by(name)
            if operator_key is not None:
                numbers = register.setdefault(operator_key, [])
                if number not in numbers:
                    numbers.append(number)
                break
            for operator in _parsed_by(name):
                parsers.setdefault(operator, []).append(number)
    return tuple(
        Registration(operator, custom, tuple(functions), (*functions, *parsers.get(operator, ())))
        for (operator, custom), functions in sorted(register.items())
    )


def entry_functions(
    graph: Graph, registrations: Iterable[Registration]
) -> dict[int, tuple[str, ...]]:
    """The operators of the functions that registrations pass to the interpreter, by address.

    Several operators may register the same function: pooling's prepare, the init of a template.
    """
    owners: defaultdict[int, set[str]] = defaultdict(set)
    for registration in registrations:
        for number in registration.register:
            referred = set(graph.edges[number].difference(graph.calls[number]))
            # A registration may be copied from a constant, which refers to the functions.
            constants = [target for target in referred if not _is_code(graph, target)]
            for target in referred.union(*(graph.edges[constant] for constant in constants)):
                if _is_code(graph, target):
                    owners[graph.nodes[target].address].add(registration.operator)
    return {address: tuple(sorted(names)) for address, names in owners.items()}


def _is_code(graph: Graph, number: int) -> bool:
    return graph.nodes[number].kind in ("function", "label")


def registered_by(symbol: str) -> tuple[str, bool] | None:
    """The operator that a registration function registers, and whether it is a custom one."""
    match = _REGISTER.search(qualified(symbol))
    if match is None:
        return None
    name = match[2]
    if name in LIBRARY_CUSTOM:
        return LIBRARY_CUSTOM[name], True
    name = _OLDER_NAMES.get(name, name)
    base = name
    while base:
        if base in _BUILTINS:
            return base, False
        base = base.rpartition("_")[0]  # CONV_2D_INT8 is a variant of CONV_2D
    return name, True


def _parsed_by(symbol: str) -> Iterable[str]:
    """The builtin operators that a parser, or an Add* function of a resolver, is for."""
    name = qualified(symbol)
    match = _PARSER.match(name) or _ADD.search(name)
    if match is None:
        return
    shared = _SHARED_PARSERS.get(match[1])
    if shared is not None:
        yield from shared
    else:
        operator = BY_SPELLING.get(match[1].lower())
        if operator is not None:
            yield operator
