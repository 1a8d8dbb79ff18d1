"""The pages of a history: what they show, where they link, that they need nothing else."""

import html
import json
import re
from dataclasses import replace

import chromium
import pytest
import replay_nights as lab

from harness.base.errors import UsageError
from harness.history.measures import figures
from harness.history.regression import CaseKey
from harness.history.run import ImageParts, Occasion, from_document
from harness.history.store import History
from harness.history.trend import Trend
from harness.report.history import _plots as drawn_figures
from harness.report.history import page_name, write_site

LINK = "https://host/x/commit/{commit}"
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
browser = pytest.mark.needs("chromium")


def image(sha: str, **symbols: int) -> ImageParts:
    return ImageParts(sha, "GCC 12", tuple(("symbol", "FLASH", n, s) for n, s in symbols.items()))


@pytest.fixture
def site(tmp_path):
    """A site of three nights: hello grows by 40 B in the last one, the other case fails."""
    with History.open(str(tmp_path / "lab.db")) as history:
        for night in range(3):
            last = night == 2
            sha = ("b" if last else "a") * 64
            document = lab.document(
                lab.case("hello", flash=29_040 if last else 29_000, elf_sha256=sha),
                lab.case(HOSTILE, verdict="fail" if last else "pass", reason=HOSTILE),
                night=night, commit=f"{night + 1:x}" * 40, branch=HOSTILE,
            )  # fmt: skip
            run = _run(document)
            grown = image(sha, Conv=140, Add=9) if last else image(sha, Conv=100, Add=9)
            history.record(replace(run, images=(grown,)))
        write_site(history, tmp_path / "site", commit_url=LINK)
    return tmp_path / "site"


def page(site, case: str = "hello"):
    return site / page_name(CaseKey(case, "simulator", "standalone", "", "lab"))


def data(path, name: str):
    found = re.search(
        rf'<script type="application/json" id="{name}">(.*?)</script>', path.read_text()
    )
    return json.loads(found[1])


def test_without_plotly_figures_are_a_table_and_csv(without_plotly, site, csv_of):
    text = page(site).read_text()
    assert "29,040 B" in text and "▁▁█" in text
    assert 'class="plot' not in text
    assert {file.name for file in site.glob("*.js")} == {"table.js", "overview.js"}
    assert [(row["commit"][:1], row["flash (elf)"]) for row in csv_of(text)] == [
        ("1", "29000.0"), ("2", "29000.0"), ("3", "29040.0"),
    ]  # fmt: skip


def test_the_overview_has_a_row_for_each_case_and_a_letter_for_each_night(site):
    text = (site / "index.html").read_text()
    assert "1 of 2 cases passed in their last run; 3 runs, 2026-01-01 03:00" in text
    assert 'data-verdicts="ppp"' in text and 'data-verdicts="ppf"' in text
    assert f'href="{page(site).relative_to(site)}"' in text


def test_the_overview_lists_what_moved_in_the_last_runs(site):
    moved = (
        (site / "index.html").read_text().split("Changes in the last 3 runs")[1].split("<h2>")[0]
    )
    assert ">hello</a>" in moved and "29,040 B" in moved and "+40 (+0.1 %)" in moved


def test_a_case_of_a_sibling_is_a_row_and_a_page_of_its_own(tmp_path):
    with History.open(str(tmp_path / "lab.db")) as history:
        rows = [lab.case("hello", chip=chip) for chip in ("nrf9160", "nrf5340")]
        history.record(_run(lab.document(*rows)))
        write_site(history, tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text()
    assert text.count('<span class="dim">simulator (nrf5340)</span>') == 1
    pages = [path.read_text() for path in (tmp_path / "site" / "cases").glob("*.html")]
    assert sorted("on simulator (nrf5340), standalone image" in one for one in pages) == [0, 1]


def test_moves_below_the_threshold_are_counted(tmp_path, site):
    with History.open(str(tmp_path / "lab.db")) as history:
        write_site(history, tmp_path / "coarse", threshold=1.0)
    text = (tmp_path / "coarse" / "index.html").read_text()
    assert "No figure without noise changed by 1 % or more. 1 smaller change is not listed." in text


def test_the_largest_move_is_listed_first_whichever_run_it_came_in(tmp_path):
    with History.open(str(tmp_path / "lab.db")) as history:
        for night, (small, large) in enumerate([(29_000, 1_000), (29_000, 1_500), (29_100, 1_500)]):
            rows = [lab.case("a", flash=small), lab.case("z", flash=large)]
            document = lab.document(*rows, night=night)
            history.record(from_document(document, Occasion(0.0).updated_from(document)))
        write_site(history, tmp_path / "site")
    moved = (tmp_path / "site" / "index.html").read_text().split("Changes in the last 3 runs")[1]
    assert moved.index("+50.0 %") < moved.index("+0.3 %")


def test_a_step_names_its_commit_with_a_link_and_the_symbols_that_changed(site):
    moved = page(site).read_text().split("<h2>Changes</h2>")[1].split("<h2>")[0]
    assert f'<a href="https://host/x/commit/{"3" * 40}">' in moved
    assert "+40 B" in moved and ">Conv<" in moved and ">Add<" not in moved


def test_every_figure_is_there_over_all_runs_with_its_steps_and_operators_stacked(site):
    figures = {one["name"]: one for one in data(page(site), "figures")["figures"]}
    assert figures["flash"]["values"] == [29_000, 29_000, 29_040]
    assert figures["flash"]["steps"] == [2]
    assert figures["operators of one inference"]["parts"] == [
        {"name": "FULLY_CONNECTED", "values": [5_636] * 3}
    ]


def test_the_heading_of_a_figure_has_its_unit_once(site):
    heads = re.findall(r"<h2>([^<]*) <span", page(site).read_text())
    assert {"flash, B", "stack, B", "instructions"} <= {*heads}


def test_the_instructions_of_a_profile_are_kept_and_stacked_by_operator():
    rows = [{"group": "CONV_2D", "instructions": 70}, {"group": "the rest", "instructions": 30}]
    told = [(one.name, one.source, one.value) for one in figures(lab.case(profiled=rows))]
    assert ("profiled CONV_2D", "simulator", 70.0) in told
    trends = [Trend(name, source, (value, value + 1)) for name, source, value in told]
    [drawn] = [one for one in drawn_figures(trends) if "boot to end" in one["name"]]
    assert drawn["parts"] == [
        {"name": "CONV_2D", "values": (70, 71)},
        {"name": "the rest", "values": (30, 31)},
    ]


def test_text_from_a_device_or_a_commit_is_escaped(site):
    for path in (site / "index.html", page(site), page(site, HOSTILE)):
        text = path.read_text()
        assert "<img" not in text
        assert text.count("<script") == text.count("</script>") == 3
        assert html.escape("<img src=x") in text


def test_the_pages_need_no_network(site):
    for path in site.rglob("*.html"):
        addresses = re.findall(r'(?:src|href)="([^"]*)"', path.read_text())
        outside = [one for one in addresses if "//" in one and "/commit/" not in one]
        assert not outside
        inside = [one for one in addresses if "//" not in one]
        assert inside and all((path.parent / one).exists() for one in inside)


@pytest.mark.parametrize("template", ["javascript:alert('{commit}')", "https://host/x", "{commit}"])
def test_a_template_that_is_not_a_link_to_a_commit_is_refused(tmp_path, template):
    with History.open(str(tmp_path / "h.db")) as history, pytest.raises(UsageError, match="link"):
        write_site(history, tmp_path / "site", commit_url=template)
    assert not (tmp_path / "site").exists()


def test_a_history_without_runs_is_a_page_with_a_note(tmp_path):
    with History.open(str(tmp_path / "h.db")) as history:
        assert write_site(history, tmp_path / "site") == 0
    assert "0 of 0 cases" in (tmp_path / "site" / "index.html").read_text()


def test_names_that_only_differ_in_unsafe_characters_have_pages_of_their_own():
    names = {
        page_name(CaseKey(name, "simulator", "zephyr")) for name in ("a/b", "a b", "a_b", "../a")
    }
    assert len(names) == 4
    assert all(name.count("/") == 1 and ".." not in name for name in names)


@browser
def test_in_a_browser_every_figure_of_a_case_is_drawn(site):
    drawn = chromium.dom(page(site))
    assert len(data(page(site), "figures")["figures"]) == 8
    assert 'data-drawn="8"' in drawn and drawn.count("main-svg") >= 8
    assert "owned" not in re.search("<title>(.*?)</title>", drawn)[1]


@browser
def test_in_a_browser_the_overview_can_be_filtered_and_sorted_by_keyboard(site):
    shown = chromium.dom(site / "index.html", width=400)
    assert re.search(r'<form class="tools"[^>]*hidden', shown) is None
    assert shown.count('<button type="button">') == 3


@pytest.mark.slow
@browser
def test_in_a_browser_of_400_pixels_no_page_is_wider_than_the_screen(site):
    for path in (site / "index.html", page(site), page(site, HOSTILE)):
        probe = path.with_name("probe.html")
        script = "<script>addEventListener('load', () => setTimeout(() => {document.title = " \
            "'width ' + document.documentElement.scrollWidth}, 500))</script></body>"  # fmt: skip
        probe.write_text(path.read_text().replace("</body>", script))
        wide = int(re.search(r"<title>width (\d+)", chromium.dom(probe, width=400))[1])
        assert wide <= 500  # the narrowest window of headless Chromium


def _run(document):
    return from_document(document, Occasion(0.0).updated_from(document))


def test_each_of_several_labs_has_an_overview_of_its_own(tmp_path):
    with History.open(str(tmp_path / "labs.db")) as history:
        for night in range(3):
            for name in ("bench a", "bench b"):
                verdict = "fail" if (night, name) == (2, "bench b") else "pass"
                flash = 29_048 + 100 * night * (name == "bench a")
                row = lab.case(verdict=verdict, flash=flash)
                history.record(_run(lab.document(row, night=night, machine=name)))
        assert write_site(history, tmp_path / "site") == 2
    pages = sorted((tmp_path / "site").glob("lab-*.html"))
    one, two = (page.read_text() for page in pages)
    assert "1 of 1 cases passed" in one and "0 of 1 cases passed" in two
    assert 'data-verdicts="ppp"' in one and 'data-verdicts="ppf"' in two
    assert "+100 (+0.3 %)" in one and "+100" not in two
    index = (tmp_path / "site" / "index.html").read_text()
    assert "1 of 2 cases passed" in index
    assert all(page.name in index for page in pages)


def test_one_lab_has_no_page_beside_the_overview(tmp_path):
    with History.open(str(tmp_path / "one.db")) as history:
        history.record(_run(lab.document()))
        write_site(history, tmp_path / "site")
    assert not list((tmp_path / "site").glob("lab-*"))
