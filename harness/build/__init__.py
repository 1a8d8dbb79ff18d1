"""Builders: compile a sample in a resolver configuration to an ELF."""
