"""Builders: a sample in one resolver configuration -> an ELF."""
