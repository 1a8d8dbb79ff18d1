"""Looking into an image that runs: gdb on any target."""
