"""Write ``tflm_hil_config.h`` for one sample in one resolver configuration."""

from __future__ import annotations

import re
import sys
from datetime import date
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
    revision, commit, day = "", "", None
    if options.tflite_micro:
        commit, day = generate.commit_of(options.tflite_micro)
        revision = table.nearest(table.sample(options.sample), commit, day)
    variant = table.variant(options.sample, options.configuration, options.runtime, revision)
    if options.tflite_micro:
        _check_methods(variant, options.tflite_micro, commit, day)
    model = options.model or generate.MODELS / variant.sample.model
    inputs = generated.inputs_of(variant.sample, generate.MODELS)
    generate.write(options.out, generated.config_header(variant, model.read_bytes(), inputs))


def _check_methods(variant: variants.Variant, module: Path, commit: str, day: date | None) -> None:
    """Raise UsageError for operators that this revision of tflite-micro cannot register."""
    header = module / "tensorflow" / "lite" / "micro" / "micro_mutable_op_resolver.h"
    known = set(re.findall(r"\bTfLiteStatus (Add\w+)\(", header.read_text(encoding="utf-8")))
    lacking = [one.operator for one in variant.additions if one.method not in known]
    if lacking:
        which = f"tflite-micro {commit[:8]} of {day}" if commit else f"tflite-micro in {module}"
        raise UsageError(
            f"{which} lacks {', '.join(dict.fromkeys(lacking))}, which configuration"
            f" {variant.configuration.name} of {variant.sample.name} registers"
        )


if __name__ == "__main__":
    try:
        main()
    except (UsageError, OSError) as error:
        sys.exit(f"error: {error}")
