"""Write ``tflm_hil_config.h`` for one sample in one resolver configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import generate

generate.find_package()

from harness.base.errors import UsageError  # noqa: E402
from harness.build import configurations, generated, variants  # noqa: E402


def main() -> None:
    """Read the arguments, write the header."""
    arguments = generate.parser(__doc__)
    arguments.add_argument("--configuration", required=True, help="a row of resolvers.toml")
    arguments.add_argument("--runtime", default="standalone", choices=variants.RUNTIMES)
    arguments.add_argument("--tflite-micro", type=Path, help="the folder of the module")
    options = arguments.parse_args()
    table = configurations.load(generate.TABLE)
    revision = ""
    if options.tflite_micro:
        commit = generate.commit_of(options.tflite_micro)
        revision = table.nearest(table.sample(options.sample), *commit)
    variant = table.variant(options.sample, options.configuration, options.runtime, revision)
    model = options.model or generate.MODELS / variant.sample.model
    inputs = generated.inputs_of(variant.sample, generate.MODELS)
    generate.write(options.out, generated.config_header(variant, model.read_bytes(), inputs))


if __name__ == "__main__":
    try:
        main()
    except (UsageError, OSError) as error:
        sys.exit(f"error: {error}")
