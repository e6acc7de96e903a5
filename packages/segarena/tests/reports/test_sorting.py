"""Tables of a report in a browser: sorting.js."""

import pytest

from segarena.reports import write_report


@pytest.fixture(scope="module")
def address(write_run, make_dialogue, tmp_path_factory):
    """A report of three runs: 3, 1 and 2 rounds to 0.9."""
    folder = tmp_path_factory.mktemp("runs")
    paths = [
        write_run(
            folder / name,
            [
                make_dialogue(f"photo-{i}", "disc-0", "centre", [0.5] * (rounds - 1) + [0.95])
                for i in range(3)
            ],
            segmenter={"name": name},
        )
        for name, rounds in (("slow", 3), ("fast", 1), ("even", 2))
    ]
    return write_report(paths, folder / "report").html.as_uri()


def names_of(page):
    return page.locator("#summary tbody tr td:first-child").all_text_contents()


@pytest.mark.long
def test_a_column_sorts_with_the_best_first_and_again_the_other_way(go_to, address):
    page = go_to(address)
    assert names_of(page) == ["slow", "fast", "even"]
    heading = page.locator("#summary th", has_text="NoC@90").get_by_role("button")
    heading.click()
    assert names_of(page) == ["fast", "even", "slow"]
    heading.press("Enter")
    assert names_of(page) == ["slow", "even", "fast"]
    assert page.locator("#summary th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_a_definition_shows_on_focus_and_goes_with_escape(go_to, address):
    page = go_to(address)
    page.locator("#summary th", has_text="NoC@90").get_by_role("button").focus()
    assert "number of rounds until IoU is at least 0.9" in page.locator("#tip").text_content()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_nothing_on_a_report_keeps_people_out(
    go_to, barriers, small_targets, address, width, scheme
):
    page = go_to(address, width=width, scheme=scheme)
    assert barriers(page) == {}
    assert small_targets(page) == []
