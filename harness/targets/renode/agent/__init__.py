"""The part of the target that runs inside Renode; never imported by the harness.

Renode's Monitor includes the files in the order of :data:`harness.targets.renode.server.AGENT`, as
IronPython 2.7 in one scope, and defines ``monitor``; the link runs ``hil["agent"].method(...)``.
Answers are lines ``name value`` with bytes in hex, sent at once. Callbacks accept any number of
arguments, because later releases of Renode pass more. Code that runs for each byte of the console
or each exception is kept small, because it dominates the time of a short case.
"""
