"""Builders: a sample in one resolver configuration -> an ELF; or an ELF that is there already."""
