"""How the models of this folder were made: one module per model, run by ``train.py``.

TensorFlow reads these variables when it is imported, so they are set here, before any module of
this package can import it. oneDNN's kernels sum in an order that depends on the processor.
"""

from __future__ import annotations

import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
