"""Functions of an image by their names in the source."""

from __future__ import annotations

from harness.base.errors import UsageError
from harness.elf.demangle import qualified
from harness.elf.image import Image


def address_of(image: Image, name: str) -> int:
    """The address of the function whose qualified name is ``name`` or ends with it.

    Raises :class:`UsageError` if the image has none.
    """
    addresses = [
        symbol.address
        for symbol in image.symbols
        if symbol.kind == "func" and f"::{qualified(symbol.name)}".endswith(f"::{name}")
    ]
    if not addresses:
        raise UsageError(
            f"{image.path.name} has no function {name}()",
            hint=(
                f"{image.without_symbols}: {image.symbols_hint(also_load=False)}"
                if image.without_symbols
                else "link-time optimization may have dissolved the function, if it is a TFLM image"
            ),
        )
    return min(addresses)
