"""DWARF debug information: entries, line programs, range lists."""
