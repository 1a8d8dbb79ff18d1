"""Write ``Kconfig.resolver``: the resolver configurations of the table as a Kconfig choice.

The file is checked in, because Kconfig has to exist before anything is built; a test compares it
with the table. Run without arguments after a change of ``resolvers.toml``.
"""

from __future__ import annotations

import generate

generate.find_package()

from harness.build import configurations, generated  # noqa: E402


def main() -> None:
    """Write the file beside this script."""
    text = generated.kconfig(configurations.load(generate.TABLE))
    generate.write(generate.SAMPLES / "common" / "Kconfig.resolver", text)


if __name__ == "__main__":
    main()
