"""Twister has built the image; tflm-hil judges it on the simulator."""

SCORES = r"/^scores (?P<left>-?\d+) (?P<right>-?\d+) (?P<still>-?\d+)/"


def test_a_window_is_classified(hil, request):
    elf = f"{request.config.option.build_dir}/zephyr/zephyr.elf"
    values = [{"left": 26, "right": -4, "still": -10}]
    assert hil.run(elf, scraper=SCORES, values=values, ends=False)
