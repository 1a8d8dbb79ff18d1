"""Include folders for code that includes tflite-micro's headers: the standalone runtime's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import needs

from harness.base import paths
from harness.build.standalone import flatc_schema

RUNTIME = paths.platforms() / "standalone" / "tflm"


def include_folders(folder: Path) -> list[Path]:
    """The runtime's own, and ``folder`` with the schema's header as flatc makes it."""
    flatc, headers = needs.require("flatc"), needs.flatbuffers_headers()
    out = folder / "tensorflow" / "lite" / "schema"
    out.mkdir(parents=True)
    schema = folder / "schema.fbs"
    schema.write_text(flatc_schema(RUNTIME.parent / "schema" / "schema.fbs"))
    subprocess.run([flatc, "--cpp", "-o", str(out), str(schema)], check=True)
    (folder / "flatbuffers").symlink_to(headers)  # a cross compiler does not look there by itself
    return [RUNTIME, folder]
