from firmwares import build  # noqa: F401
