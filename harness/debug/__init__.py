"""gdb on any target, and call stacks without a debugger."""
