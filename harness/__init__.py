"""Hardware-in-the-loop tests for tflite-micro on the Nordic nRF9160."""

__version__ = "0.1.0"
