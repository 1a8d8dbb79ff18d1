from board_desk import desk, firmware, lab, start  # noqa: F401
from virtual_boards import plugged  # noqa: F401
