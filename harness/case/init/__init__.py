"""``tflm-hil init``: a first case for a folder of firmware.

:mod:`.watch` runs the image, twice; :mod:`.shapes` sees what its lines have in common; :mod:`.fit`
finds the model's tensors among them, and :mod:`.frozen` what else repeats in both runs;
:mod:`.proof` spoils the console and notes what the case does not notice; :mod:`.written` writes it.
"""
