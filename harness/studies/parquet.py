"""Rows of a study as a Parquet file, through pyarrow (an extra)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.base import files
from harness.base.errors import EnvironmentMissing


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write ``rows``, which have the same keys, to ``path``.

    Raises :class:`EnvironmentMissing` without pyarrow, :class:`CannotWrite` if the file cannot be
    written.
    """
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise EnvironmentMissing(
            "--parquet needs pyarrow", hint="pip install 'tflm-hil[parquet]'"
        ) from error
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    files.write(path, file.getvalue())
