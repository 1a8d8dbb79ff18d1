from firmwares import build  # noqa: F401
from two_worlds import two_worlds  # noqa: F401
