import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console
from viewer_contents import viewer_contents

import segarena.reports.dialogue_gallery
from segarena.registry import build
from segarena.reports import write_report
from segarena.reports.dialogue_gallery import all_dialogue_keys, make_gallery
from segarena.reports.hardest_targets import gallery_keys, ranked_targets
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.reports.run_statistics import summary_rows
from segarena.reports.terminal import terminal_table

VOID = {"meta", "input", "br"}
HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)></style></svg>{{7*7}}&amp;\u202e"
)


class Parsed(HTMLParser):
    """The tags, ids, links and text of a page; complains when tags do not nest."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.links, self.attributes, self.open, self.text = (
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self.attributes_with_values = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.attributes_with_values += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [
            value
            for name, value in attrs
            if name in ("href", "src", "xlink:href", "action", "srcset")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join(self.text)


@pytest.fixture
def html(make_run, make_ramps):
    return report_html(page_of(read_runs([make_run(make_ramps())], trust=True)))


def test_every_link_leads_to_one_place_on_the_page(html):
    parsed = Parsed(html)
    assert len(parsed.ids) == len(set(parsed.ids))
    inside = [link[1:] for link in parsed.links if link.startswith("#")]
    assert len(inside) > 20
    assert set(inside) <= set(parsed.ids)


def test_the_page_loads_nothing_from_anywhere(html):
    assert all(link.startswith(("#", "data:image/")) for link in Parsed(html).links)
    # The namespace of SVG is a name, not an address that is loaded.
    text = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"@import|url\((?!#)|https?://|//cdn|<link|<iframe", text)


def test_all_parts_are_there(html):
    words = Parsed(html).words
    for part in (
        "Summary",
        "Figures",
        "Hardest targets",
        "Dialogues",
        "Failures",
        "Definitions",
    ):
        assert part in words
    for what in (
        "NoC@90",
        "careful protocol",
        "segarena run small disc",
        "fingerprint photo-4-2",
        "2026-01-02",
    ):
        assert what in words


def test_the_hardest_targets_are_in_the_gallery(make_run, make_ramps):
    runs = read_runs([make_run(make_ramps())], trust=True)
    targets = ranked_targets(runs)
    html = report_html(page_of(runs))
    table = html[html.index('id="hardest"') : html.index('id="targets"')]
    links = re.findall(r'<td class="text" title="[^"]*"><a href="#(dialogue-\d+)">', table)
    assert len(links) == len(targets) == 8
    cards = dict(
        re.findall(
            r'<article class="card" id="(dialogue-\d+)" .*?<span class="where">(.*?)</span>',
            html,
            re.DOTALL,
        )
    )
    assert [cards[link] for link in links] == [" / ".join(target.key) for target in targets]


def test_targets_are_ranked_by_mean_area_and_shown_in_their_worst_dialogue(make_run, make_dialogue):
    run = make_run(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.9, 0.9]),
            make_dialogue("photo-0", "disc-0", "edge", [0.4, 0.5]),
            make_dialogue("photo-1", "disc-0", "centre", [0.2, 0.95]),
            make_dialogue("photo-1", "disc-0", "edge", [0.1, 0.3]),
        ],
        rounds=2,
    )
    hard, easy = ranked_targets(read_runs([run], trust=True))
    assert hard.key == ("photo-1", "disc-0")
    assert hard.score == pytest.approx((0.575 + 0.2) / 2)
    assert (hard.best, hard.solved, hard.dialogues) == (0.95, 1, 2)
    assert hard.worst == ("photo-1", "disc-0", "edge", 0)
    assert easy.worst == ("photo-0", "disc-0", "edge", 0)


def test_the_gallery_takes_the_hardest_and_others_evenly_down_to_the_easiest(make_run, make_ramps):
    targets = ranked_targets(read_runs([make_run(make_ramps())], trust=True))
    keys = gallery_keys(targets, hardest=2, others=3)
    assert [targets.index(next(t for t in targets if t.worst == key)) for key in keys] == [
        0,
        1,
        2,
        4,
        7,
    ]
    assert len(gallery_keys(targets, hardest=20, others=20)) == len(targets)


def test_hostile_names_stay_text_everywhere(make_run, make_dialogue):
    run = make_run(
        [
            make_dialogue(
                f"{HOSTILE}-0",
                "disc-0",
                HOSTILE,
                [0.5, 0.6],
                label=HOSTILE,
                attributes={HOSTILE: HOSTILE},
            ),
            make_dialogue(
                f"{HOSTILE}-1",
                "disc-0",
                HOSTILE,
                [0.7, 0.8],
                label="b",
                attributes={HOSTILE: "other"},
            ),
            make_dialogue(f"{HOSTILE}-2", HOSTILE, HOSTILE, [], failure=HOSTILE),
        ],
        dataset={"options": {"count": 3, "prefix": HOSTILE}, "fingerprint": f"{HOSTILE}-3-2"},
        segmenter={"name": HOSTILE, "options": {"size": HOSTILE}},
        benchmark={
            "name": HOSTILE,
            "protocol": HOSTILE,
            "paper": HOSTILE,
            "options": {HOSTILE: HOSTILE},
        },
        environment={HOSTILE: HOSTILE},
        command=HOSTILE,
        created=HOSTILE,
        version=HOSTILE,
    )
    for runs in ([run], [run, run]):
        parsed = Parsed(report_html(page_of(read_runs(runs, trust=True))))
        data = [value for name, value in parsed.attributes_with_values if name == "type"]
        assert data.count("application/json") == parsed.tags.count("script") - 1
        assert "img" not in parsed.tags
        assert not [name for name in parsed.attributes if name.startswith("on")]
        assert parsed.tags.count("article") == 2
        assert "<script>alert(1)</script>" in parsed.words


def test_only_our_own_script_is_allowed_to_run(html):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src 'sha256-[\w+/]{43}='$", policy)


def test_a_partial_run_says_so_on_top(make_run, make_ramps):
    html = report_html(
        page_of(read_runs([make_run(make_ramps(), undone=["photo-8", "photo-9"])], trust=True))
    )
    banner = html.index("PARTIAL, 4 of 6 photographs done")
    assert banner < html.index("<h2>")


def test_a_run_without_a_finished_dialogue_says_so(make_run, make_dialogue):
    failed = make_dialogue(
        "photo-0", "disc-0", "centre", [], failure="encode: MemoryError: out of memory"
    )
    words = Parsed(report_html(page_of(read_runs([make_run([failed])], trust=True)))).words
    assert "no dialogue was finished: 1 failure" in words
    assert "encode: MemoryError: out of memory" in words
    assert "Hardest targets" not in words


def test_a_run_that_has_not_begun_is_reported_as_such(make_run):
    words = Parsed(
        report_html(page_of(read_runs([make_run([], undone=["photo-0"])], trust=True)))
    ).words
    assert "PARTIAL, 0 of 1 photograph done" in words
    assert "no dialogue was finished yet" in words


def test_failures_are_listed_with_their_message_and_how_often(make_run, make_dialogue):
    run = make_run(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.5]),
            make_dialogue("photo-1", "disc-0", "centre", [], failure="predict: gone"),
            make_dialogue("photo-1", "disc-1", "centre", [0.2], failure="predict: gone"),
            make_dialogue("photo-2", "", "", [], failure="encode: no memory"),
        ]
    )
    html = report_html(page_of(read_runs([run], trust=True)))
    section = html[html.index('id="failures"') :]
    assert re.search(r'>2</td><td class="words">predict: gone<', section)
    assert "(whole sample)" in section
    assert "3 failures, individually" in section


def test_samples_that_cannot_be_loaded_are_named_once_and_fail_no_segmenter(
    make_run, make_dialogue
):
    dialogues_of_both = [
        make_dialogue("photo-0", "disc-0", "centre", [0.95]),
        make_dialogue(
            "photo-1", "", "", [], failure="loading: sample 'photo-1': DatasetError: broken.png"
        ),
    ]
    paths = [make_run(dialogues_of_both, name, segmenter={"name": name}) for name in ("one", "two")]
    runs = read_runs(paths, trust=True)
    html = report_html(page_of(runs))
    words = Parsed(html).words
    reason = "photo-1 (DatasetError: broken.png)"
    assert words.count(reason) == 1
    assert "could not load 1 of 2 photographs (not counted for any segmenter)" in words
    assert "1 target in 1 of 2 photographs" in words
    assert "None: all dialogues finished." in words
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(terminal_table(paths))
    printed = console.export_text()
    assert printed.count(reason) == 1
    assert "failures, by cause" not in printed
    assert not [row.failures for row in summary_rows(runs) if row.failures]


def card(html, where):
    cards = html.split('<article class="card"')[1:]
    return next(one.split("</article>")[0] for one in cards if f'class="where">{where}<' in one)


def dialogues(html, where):
    (content,) = viewer_contents(card(html, where))
    return content["dialogues"]


def test_what_failed_is_in_the_gallery_with_its_cause_beside_those_who_did_it(
    make_run, make_dialogue
):
    done = [make_dialogue(f"photo-{i}", "disc-0", "centre", [0.95]) for i in range(3)]
    lost = [
        make_dialogue("photo-0", "disc-0", "centre", [0.3], failure="predict: gone"),
        make_dialogue("photo-1", "", "", [], failure="encode: no memory"),
        make_dialogue("photo-2", "disc-0", "centre", [0.5]),
    ]
    paths = [
        make_run(some, name, segmenter={"name": name})
        for name, some in (("done", done), ("lost", lost))
    ]
    html = report_html(page_of(read_runs(paths, trust=True)))
    states = {
        where: [(one["label"], one["state"]) for one in dialogues(html, where)]
        for where in ("photo-0 / disc-0", "photo-1 / disc-0", "photo-2 / disc-0")
    }
    assert states == {
        "photo-0 / disc-0": [("done", "solved"), ("lost", "failed")],
        "photo-1 / disc-0": [("done", "solved"), ("lost", "failed")],
        "photo-2 / disc-0": [("done", "solved"), ("lost", "unsolved")],
    }
    assert dialogues(html, "photo-0 / disc-0")[1]["failure"] == "predict: gone"
    assert dialogues(html, "photo-1 / disc-0")[1]["failure"] == "encode: no memory"


def test_what_failed_with_everyone_is_shown_too(make_run, make_dialogue):
    run = make_run(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.5]),
            make_dialogue("photo-1", "disc-1", "centre", [], failure="predict: gone"),
            make_dialogue("photo-2", "", "", [], failure="encode: no memory"),
        ]
    )
    html = report_html(page_of(read_runs([run], trust=True)))
    assert "3 of 3 targets are shown" in html
    assert dialogues(html, "photo-1 / disc-1")[0]["failure"] == "predict: gone"
    assert "<h3>whole sample</h3>" in card(html, "photo-2")
    (content,) = viewer_contents(card(html, "photo-2"))
    assert content["planes"][0]["pictures"][0].startswith("data:image/jpeg")


def test_a_dataset_that_is_gone_costs_only_the_gallery(make_run, make_ramps):
    reference = (
        make_run(make_ramps(), "x")
        and read_runs([make_run(make_ramps(), "y")], trust=True)[0].dataset
    )
    gone = reference.replace(":Photographs", ":Refusing")
    html = report_html(
        page_of(
            read_runs([make_run(make_ramps(), dataset={"name": gone, "options": {}})], trust=True)
        )
    )
    assert "cannot be opened" in html
    assert "FileNotFoundError" in html
    assert "<article" not in html
    assert "Hardest targets" in html
    Parsed(html)


def test_data_that_changed_since_the_run_are_mentioned(make_run, make_ramps):
    html = report_html(
        page_of(read_runs([make_run(make_ramps(), dataset={"fingerprint": "older"})], trust=True))
    )
    assert "has changed since the run" in html
    assert "<article" in html


def test_a_sample_that_is_gone_costs_only_its_card(make_run, make_ramps):
    fewer = {"options": {"count": 3}, "fingerprint": "photo-3-2"}
    html = report_html(page_of(read_runs([make_run(make_ramps(), dataset=fewer)], trust=True)))
    assert "Sample photo-3 cannot be shown: ValueError" in html
    assert html.count("<article") == 6


def test_only_the_samples_of_the_gallery_are_loaded(make_run, make_ramps, monkeypatch):
    own = page_of(read_runs([make_run(make_ramps())], trust=True))
    dataset = build("dataset", f"{own.runs[0].dataset}(count=4)")
    monkeypatch.setattr(
        segarena.reports.dialogue_gallery, "open_run_dataset", lambda run: (dataset, "")
    )
    make_gallery(
        own,
        own.pictures,
        gallery_keys(own.ranked, hardest=2, others=0),
        every=all_dialogue_keys(own),
    )
    assert dataset.loaded == [target.key[0] for target in own.ranked[:2]]


def test_the_gallery_stops_at_its_budget_and_says_so(make_run, make_ramps):
    own = page_of(read_runs([make_run(make_ramps())], trust=True))
    made = make_gallery(
        own, own.pictures, all_dialogue_keys(own), every=all_dialogue_keys(own), budget_bytes=20_000
    )
    assert 1 <= len(made.shown) < 8
    shown = f"it shows only {len(made.shown)} dialogue"
    assert any("The size of this file is limited" in note and shown in note for note in made.notes)


def test_every_stored_prediction_is_there_with_its_value(make_run, make_dialogue):
    run = make_run(
        [make_dialogue("photo-0", "disc-0", "centre", [r / 20 for r in range(1, 20)])], rounds=19
    )
    html = report_html(page_of(read_runs([run], trust=True)))
    stored = sorted(read_runs([run], trust=True)[0].masks(("photo-0", "disc-0", "centre", 0)))
    (content,) = viewer_contents(html)
    (dialogue,) = content["dialogues"]
    assert dialogue["stored"] == stored
    # The slider goes through all rounds: each has its value and its click, stored or not.
    assert dialogue["captions"] == [f"IoU {r / 20:.3f}" for r in range(1, 20)]
    assert [value["IoU"] for value in dialogue["values"]] == [r / 20 for r in range(1, 20)]
    assert [[prompt["kind"] for prompt in prompts] for prompts in dialogue["prompts"]] == [
        ["click"]
    ] * 19
    (plane,) = content["planes"]
    assert set(plane["layers"]) == {"target", *(f"0.{r}" for r in stored)}
    assert all(plane["layers"][f"0.{r}"][0]["1"].startswith("M") for r in stored)


def test_without_masks_the_gallery_still_shows_the_clicks(make_run, make_ramps):
    html = report_html(page_of(read_runs([make_run(make_ramps(), masks=False)], trust=True)))
    assert html.count("<article") == 8
    contents = viewer_contents(html)
    assert len(contents) == 8
    for content in contents:
        (dialogue,) = content["dialogues"]
        assert dialogue["stored"] == []
        assert any(dialogue["prompts"])
        assert set(content["planes"][0]["layers"]) == {"target"}


def test_several_runs_stand_side_by_side_in_every_card(make_run, make_ramps):
    runs = [
        make_run(make_ramps(seed=s), f"run-{s}", segmenter={"name": name})
        for s, name in enumerate("ab")
    ]
    html = report_html(page_of(read_runs(runs, trust=True)))
    card = html[html.index("<article") : html.index("</article>")]
    (content,) = viewer_contents(card)
    assert [dialogue["label"] for dialogue in content["dialogues"]] == ["a", "b"]
    (plane,) = content["planes"]
    assert len(plane["pictures"]) == 1  # the same crop, so one zoom, for both
    assert "Paired differences" in html
    assert "b − a" in html
    Parsed(html)


@pytest.mark.long
def test_equal_records_give_equal_tables_whatever_the_folder_and_the_clock(
    make_run, make_ramps, tmp_path
):
    first = write_report(
        [make_run(make_ramps(), "first", predict_s=0.5)], tmp_path / "a", trust=True
    )
    second = write_report(
        [make_run(make_ramps(), "second", predict_s=0.1, created="later")],
        tmp_path / "b",
        trust=True,
    )
    assert first.csv.read_bytes() == second.csv.read_bytes()
    assert first.latex.read_bytes() == second.latex.read_bytes()
    assert first.timings.read_bytes() != second.timings.read_bytes()
    assert first.html.read_bytes() != second.html.read_bytes()


def test_the_same_run_gives_the_same_page(make_run, make_ramps, tmp_path):
    paths = [make_run(make_ramps(), name) for name in ("one", "two")]
    pages = [
        write_report([path], tmp_path / f"out-{path.name}", trust=True).html.read_bytes()
        for path in paths
    ]
    assert pages[0] == pages[1]
