"""Functions of an image by their names in the source."""

from __future__ import annotations

from harness.base.errors import UsageError
from harness.elf.demangle import qualified
from harness.elf.image import Image
from harness.elf.interpreter import COMPILED_MODEL, is_compiled_model


def address_of(image: Image, name: str) -> int:
    """The address of tflite-micro's function whose qualified name is ``name`` or ends with it.

    Raises :class:`UsageError` if the image has none.
    """
    addresses = [
        symbol.address
        for symbol in image.symbols
        if symbol.kind == "func" and f"::{qualified(symbol.name)}".endswith(f"::{name}")
    ]
    if not addresses:
        raise not_shown(image, f"{image.path.name} has no function {name}()")
    return min(addresses)


def not_shown(image: Image, message: str) -> UsageError:
    """The error for a function of tflite-micro that ``image`` does not show, with the cause.

    ``message`` says which one. A compiled model has none of them.
    """
    if is_compiled_model(image):
        return UsageError(f"{image.path.name}: {COMPILED_MODEL}")
    if image.without_symbols:
        return UsageError(
            f"{message}: {image.without_symbols}", hint=image.symbols_hint(also_load=False)
        )
    hint = "link-time optimization may have dissolved the function, if it is a TFLM image"
    return UsageError(message, hint=hint)
