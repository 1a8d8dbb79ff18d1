"""Train all models, or those named, and write their cards: ``python train.py [MODULE ...]``.

Install the extra first: ``pip install 'tflm-hil[models]'``. Each module runs in a process of its
own, so that what one leaves behind in TensorFlow cannot change another. The flatbuffers come out
the same, byte for byte, with the versions on the cards on the same kind of processor.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

MODULES = ("hello_world", "digits", "digits_cnn", "residual", "chime", "atan")
FOLDER = Path(__file__).resolve().parent


def main() -> None:
    """Run the training modules, then measure what they wrote."""
    parser = argparse.ArgumentParser(description="Train the sample models and write their cards.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--cards", action="store_true", help="measure only, train nothing")
    options = parser.parse_args()
    chosen = options.modules or list(MODULES)
    unknown = sorted(set(chosen) - set(MODULES))
    if unknown:
        parser.error(f"no such module: {', '.join(unknown)}; known are {', '.join(MODULES)}")
    if not options.cards:
        for module in chosen:
            command = [sys.executable, "-m", f"training.{module}"]
            subprocess.run(command, cwd=FOLDER, check=True)
    _write_cards(chosen)


def _write_cards(modules: list[str]) -> None:
    # TensorFlow and tflite-micro stay in different processes: both bring the same C++ symbols.
    subjects = importlib.import_module("training.subjects")
    card = importlib.import_module("training.card")
    for name, subject in subjects.SUBJECTS.items():
        if subject.module in modules:
            card.write(name, subject)


if __name__ == "__main__":
    main()
