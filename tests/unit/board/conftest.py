from board_desk import desk, firmware, lab, start  # noqa: F401
from plugged_board import plugged  # noqa: F401
