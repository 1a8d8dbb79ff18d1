"""Write a sample's model, and its built-in inputs, as C++ arrays."""

from __future__ import annotations

import sys

import generate

generate.find_package()

from harness.base.errors import UsageError  # noqa: E402
from harness.build import configurations, generated  # noqa: E402


def main() -> None:
    """Read the arguments, write the source file."""
    options = generate.parser(__doc__).parse_args()
    sample = configurations.load(generate.TABLE).sample(options.sample)
    model = options.model or generate.MODELS / sample.model
    inputs = generated.inputs_of(sample, generate.MODELS)
    generate.write(options.out, generated.data_source(model.read_bytes(), inputs))


if __name__ == "__main__":
    try:
        main()
    except (UsageError, OSError) as error:
        sys.exit(f"error: {error}")
