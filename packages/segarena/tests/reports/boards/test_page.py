"""The page of a board in a browser: it shows the data of the board, and names never become markup."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

import numpy as np
import pytest

from segarena.reports.boards.board import CHOICES, board_of
from segarena.reports.boards.board_wording import range_text, shared_text
from segarena.reports.boards.pages import POLICY
from segarena.reports.boards.static_site import write_site

HOSTILE = (
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=document.title='taken'>",
    "\"><svg onload=document.title='taken'>",
    "../../../../etc/passwd",
    "{{7*7}}${7*7}<!--",
)


class StrictHandler(SimpleHTTPRequestHandler):
    """A web server that sends the policy as a header."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def board(make_entry):
    """Eight runs of three participants, one of a control, with two users, and with hostile names."""
    rng = np.random.default_rng(0)
    base = rng.integers(3, 12, 30).astype(float)
    entries = [
        make_entry(
            base + lift + rng.choice([-0.5, 0.0, 0.5], 30),
            participant=HOSTILE[number % 3],
            name=HOSTILE[number] if number < len(HOSTILE) else f"run {number}",
            at=f"2026-03-{number + 1:02}T12:00Z",
            is_chosen=number == 2,
            users=("centre", "edge<b>"),
            failures={"centre": number % 2, "edge<b>": 0},
        )
        for number, lift in enumerate([0.0, 2.0, 0.2, 4.0, 1.0, 3.0, 0.1])
    ]
    blind = make_entry(
        base + 6, segmenter="nothing", ignores_image=True, users=("centre",), at="2026-03-20"
    )
    return board_of([*entries, blind], title="Board <i>of</i> tests")


@pytest.fixture(scope="module")
def folder(board, tmp_path_factory):
    return write_site(board, tmp_path_factory.mktemp("site")).index.parent


@pytest.fixture(scope="module")
def address(folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(StrictHandler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


def names_of(page):
    return page.locator("#ranking tbody td:nth-child(2) a").all_text_contents()


def columns_of(page):
    """The cells of the ranking by column, without those that the script adds."""
    return page.evaluate(
        """() => {
          const table = document.querySelector("#ranking table");
          const heads = [...table.tHead.rows[0].cells].map((th) => th.textContent);
          const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
          return Object.fromEntries(heads.map((name, place) => [name, rows.map((row) => row[place])]));
        }"""
    )


@pytest.mark.long
def test_without_scripts_the_page_says_the_same(open_page, address):
    drawn, plain = open_page(address), open_page(address, java_script_enabled=False)
    shown, written = columns_of(drawn), columns_of(plain)
    assert shown.pop("Interval") == [""] * 8
    assert shown == written
    assert len(written["Run"]) == 8
    assert (
        drawn.locator("#verdict").text_content() == plain.locator("#verdict").text_content() != ""
    )
    assert plain.locator(".controls").first.is_hidden()
    assert plain.locator("svg[data-x] >> nth=0 >> .curve").count() == 6


@pytest.mark.long
def test_rows_and_places_are_those_of_the_board_whatever_is_chosen(go_to, address, board):
    page = go_to(address)
    every = list(product(board.panels, CHOICES))
    shown = page.evaluate(
        """(every) => every.map((wanted) => {
          const form = document.querySelector("form.ranking");
          for (const [name, value] of Object.entries(wanted)) {
            form.elements[name].value = value;
            form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
          }
          return [...document.querySelectorAll("#ranking tbody tr")].map((row) => [
            row.cells[1].querySelector("a").textContent, ...row.cells[0].innerText.split(/\\s*\\n/),
          ]);
        })""",
        [
            {"user": key.user, "group": key.group, "measure": key.statistic, "choice": choice}
            for key, choice in every
        ],
    )
    for (key, choice), rows in zip(every, shown, strict=True):
        assert rows == [
            [board.names[row.entry], *([f"{row.place}", range_text(row)] if row.place else ["–"])]
            for row in board.rows(key, choice)
        ], (key, choice)


@pytest.mark.long
def test_a_heading_sorts_the_ranking(go_to, address, board):
    page = go_to(address)
    heading = page.get_by_role("button", name="Finished")
    heading.press("Enter")
    assert names_of(page) == list(board.names[::-1])
    assert page.locator("#ranking th[aria-sort]").all_text_contents() == ["Finished"]
    page.keyboard.press("Enter")  # the focus stays
    assert names_of(page) == list(board.names)
    page.select_option("[name=user]", "edge<b>")
    assert page.locator("#ranking th[aria-sort]").count() == 0


@pytest.mark.long
def test_a_long_ranking_is_filtered_and_the_address_keeps_the_words(
    open_page, make_entry, tmp_path
):
    entries = [
        make_entry([float(k)] * 12, name=f"run {k}", participant="Ada" if k % 2 else "Bob")
        for k in range(14)
    ]
    index = write_site(board_of(entries), tmp_path).index
    page = open_page(index.as_uri())
    page.locator("#ranking").get_by_label("Filter").fill("RUN bob")
    assert names_of(page) == [f"run {k}" for k in range(0, 14, 2)]
    assert page.locator("#ranking .sift output").text_content() == "7 of 14"
    assert len(names_of(open_page(page.url))) == 7
    page.get_by_role("button", name="reset").click()
    assert len(names_of(page)) == 14


@pytest.mark.long
def test_curves_are_chosen_and_read_with_the_keyboard_alone(go_to, address):
    page = go_to(address)
    drawn = page.locator("svg[data-x]:visible > .curve:not(.floor)")
    assert drawn.count() == 5
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#ranking td input')"):
            break
    page.keyboard.press("Space")
    assert drawn.count() == 4
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    assert drawn.count() == 5
    assert (
        page.locator("#ranking td input")
        .evaluate_all("boxes => boxes.map(box => box.checked)")
        .count(True)
        == 5
    )
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('svg[data-x]')"):
            break
    page.keyboard.press("ArrowRight")
    assert (
        page.locator(".panel:has(svg[data-x]):visible output").text_content().startswith("click 2")
    )


@pytest.mark.long
def test_the_line_of_who_looks_at_no_image_is_always_there(go_to, address):
    page = go_to(address)
    page.get_by_role("button", name="none").click()
    legend = page.locator(".legend:visible")
    assert legend.all_text_contents() == ["control: nothing"]
    assert page.locator("#ranking tr.muted").count() == 1
    page.select_option("[name=user]", "edge<b>")
    page.get_by_role("button", name="none").click()
    assert legend.all_text_contents() == ["No run is selected."]


@pytest.mark.long
def test_ticked_or_not_the_line_of_who_looks_at_no_image_is_thin_and_has_no_place(go_to, address):
    page = go_to(address)
    row = page.locator("#ranking tr.muted")
    assert row.locator("td").first.text_content() == "–"
    for place in ("charts", "ticks"):
        if place == "ticks":
            row.locator("input").check()
            assert row.locator(".swatch .floor").count() == 2
        page.wait_for_function(
            "document.querySelectorAll('svg[data-x] > .curve.floor').length === 1"
        )
        names = page.locator(".legend:visible li").all_text_contents()
        assert names.count("control: nothing") == 1
        assert page.locator("svg[data-x]:visible > .band").count() == 5
        assert page.locator("svg[data-x]:visible > .curve").count() == 6


@pytest.mark.long
def test_the_address_keeps_what_was_chosen(go_to, address):
    page = go_to(address)
    page.select_option("[name=choice]", "best")
    page.select_option("[name=group]", "size: large")
    shown = names_of(page)
    assert len(shown) == 4
    again = go_to(page.url)
    assert names_of(again) == shown
    assert again.locator("[name=group]").input_value() == "size: large"
    again.get_by_role("button", name="reset").click()
    assert len(names_of(again)) == 8
    assert "#" not in again.url


def test_names_are_shown_as_they_are_and_never_run(go_to, address, board):
    page = go_to(address)
    assert page.title() == "Board <i>of</i> tests"
    assert set(HOSTILE) <= set(names_of(page))
    assert page.locator("h1").text_content() == "Board <i>of</i> tests"
    assert page.locator("main img, main script:not([type]), #ranking svg[onload]").count() == 0


def test_no_name_is_part_of_a_path(folder):
    files = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
    assert all(
        re.fullmatch(
            r"(index\.html|board\.(csv|json|tex)|files/[a-z]+\.(js|css)|(?:samples|runs)/\d{4}\.html)",
            name,
        )
        for name in files
    )
    assert sum(name.startswith("samples/") for name in files) == 15


@pytest.mark.long
def test_every_target_leads_to_the_page_of_its_sample_and_that_one_back(go_to, address):
    page = go_to(address)
    page.locator("#targets tbody a").first.click()
    assert page.locator("h1").text_content().startswith("photo-")
    assert page.locator("#values tbody tr").count() == 8
    page.get_by_role("link", name="next").click()
    assert page.get_by_role("link", name="previous").is_visible()
    page.get_by_role("link", name="Board <i>of</i> tests").click()
    assert page.locator("#ranking tbody tr").count() == 8


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_nothing_keeps_people_out_on_desks_and_phones(
    go_to, barriers, small_targets, page_widths, address, width, scheme
):
    for place in (address, address.replace("index.html", "samples/0001.html")):
        page = go_to(place, width=width, scheme=scheme)
        assert barriers(page) == {}
        assert small_targets(page) == []
        assert set(page_widths(page).values()) == {width}


@pytest.mark.long
def test_a_page_from_disk_works_too(go_to, folder):
    assert len(names_of(go_to((folder / "index.html").as_uri()))) == 8


@pytest.fixture(scope="module")
def unlike(make_entry, tmp_path_factory):
    """The page of a board whose rows have different photographs, and one of which has no rank."""
    nan = np.nan
    rows = {
        "a": [4.0] * 12,
        "b": [4.5] * 8 + [nan] * 4,
        "c": [nan] * 8 + [5.0] * 4,
        "d": [3.0] * 4 + [nan] * 8,
    }
    entries = [
        make_entry(
            values,
            segmenter=name,
            participant=name,
            unranked="2 of 6 photographs" if name == "d" else "",
        )
        for name, values in rows.items()
    ]
    board = board_of(entries)
    return board, write_site(board, tmp_path_factory.mktemp("unlike")).index


@pytest.mark.long
def test_what_rows_share_is_said_of_those_that_are_shown_with_and_without_scripts(
    open_page, unlike
):
    board, index = unlike
    drawn, plain = open_page(index.as_uri()), open_page(index.as_uri(), java_script_enabled=False)
    said = [page.locator("#shared").text_content() for page in (drawn, plain)]
    assert said[0] == said[1] == shared_text(board, board.first_key, board.rows(board.first_key))
    shown, written = columns_of(drawn), columns_of(plain)
    assert shown["Rank"] == written["Rank"]
    assert shown["Rank"][-1] == "–"
    assert drawn.locator("#verdict").text_content() == plain.locator("#verdict").text_content()


@pytest.mark.long
def test_a_run_has_a_page_that_is_reached_by_keyboard(go_to, barriers, page_widths, address, board):
    page = go_to(address, width=390, scheme="dark")
    page.get_by_role("link", name="run 6").press("Enter")
    page.wait_for_url("**/runs/0007.html")
    assert page.locator("h1").text_content() == "run 6"
    place = next(
        row.place for row in board.rows(board.first_key) if board.names[row.entry] == "run 6"
    )
    assert f"{place} of 7" in page.locator("#values").text_content()
    assert page.locator("#targets tbody tr").count() == 30
    assert max(page_widths(page).values()) <= 390
    assert barriers(page) == {}
    page.locator("#targets tbody a").first.press("Enter")
    page.wait_for_url("**/samples/*.html*")
