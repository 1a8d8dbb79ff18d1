"""The paths from an image's start to its interpreter, followed without running anything.

An abstract interpreter: each word is a number or unknown. Where a branch depends on the unknown,
both sides are followed and joined where they meet again. So a fact that holds at the end holds
in every run.
"""
