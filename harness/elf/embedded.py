"""The models in an image: variables whose bytes are a ``.tflite`` file."""

from __future__ import annotations

from collections.abc import Iterator

from harness.base.errors import BadModel
from harness.elf.image import Image
from harness.model import Model
from harness.model.schema import IDENTIFIER


def embedded_models(image: Image) -> Iterator[Model]:
    """The readable models that are variables of the image, named after these."""
    for symbol in image.symbols:
        data = image.read(symbol.address, symbol.size) if symbol.kind == "object" else None
        if data is not None and data[4:8] == IDENTIFIER:
            try:
                yield Model.from_bytes(data, symbol.name)
            except BadModel:
                continue
