"""Results -> terminal table, JUnit XML, HTML; coverage -> profile and LCOV.

Each report is imported from its module: `tflm-hil run` loads only those that it prints or writes.
"""
