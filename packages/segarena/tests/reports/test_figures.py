import re
from xml.etree import ElementTree

import pytest

from segarena.reports.chart_series import Figure, round_word, segmenter_colours
from segarena.reports.charts import Curve
from segarena.reports.figures import figures, fill_rows, highlight_best
from segarena.reports.group_figures import group_figures
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs


def figure(title, is_wide):
    return Figure(title=title, caption="", charts=[], is_wide=is_wide)


def test_no_gap_is_left_before_a_wide_figure():
    made = [
        figure("a", False),
        figure("WIDE", True),
        figure("b", False),
        figure("c", False),
        figure("d", False),
    ]
    assert [f.title for f in fill_rows(made)] == ["a", "b", "WIDE", "c", "d"]


def test_without_another_narrow_figure_the_order_stays():
    made = [figure("WIDE", True), figure("a", False), figure("WIDER", True)]
    assert [f.title for f in fill_rows(made)] == ["WIDE", "a", "WIDER"]


def test_one_run_shows_users_in_one_chart_and_several_runs_a_chart_per_user(make_run, make_ramps):
    paths = [make_run(make_ramps(), name, segmenter={"name": name}) for name in ("a", "b")]
    single, several = (
        next(f for f in figures(page_of(read_runs(p))) if "against" in f.title)
        for p in (paths[:1], paths)
    )
    assert single.html.count("<svg") == 1
    assert sorted(re.findall(r'class="end c(\d) d\d"[^>]*>(\w+)<', single.html)) == [
        ("0", "centre"),
        ("1", "edge"),
    ]
    assert re.findall(r"<h3>(\w+)</h3>", several.html) == ["centre", "edge"]
    assert (
        sorted(re.findall(r'class="end c(\d) d\d"[^>]*>(\w+)<', several.html))
        == [("0", "a")] * 2 + [("1", "b")] * 2
    )


def test_a_group_shows_the_mean_of_its_targets(make_run, make_dialogue):
    values = {"small": (0.2, 0.4), "large": (0.7, 0.9)}
    dialogues = [
        make_dialogue(f"photo-{i}", size, "centre", [value], attributes={"size": size})
        for size, pair in values.items()
        for i, value in enumerate(pair)
    ]
    (by_size,) = group_figures(read_runs([make_run(dialogues)]))
    texts = [t.text for t in ElementTree.fromstring(by_size.charts[0][1]).iter("text")]
    assert texts[texts.index("small") : texts.index("small") + 4] == [
        "small",
        "0.300, n = 2",
        "large",
        "0.800, n = 2",
    ]


@pytest.mark.parametrize(
    ("attributes", "titles"),
    [
        ([{}, {}], []),
        ([{"modality": "CT"}, {"modality": "CT"}], []),
        ([{"modality": "CT"}, {"modality": "MR"}], ["AuC by modality"]),
        ([{"weight": float(i)} for i in range(9)], []),
        ([{"name": f"n{i}"} for i in range(9)], []),
        (
            [{"area_px": float(i * i)} for i in range(9)],
            ["AuC by area px", "AuC of each target against its area px"],
        ),
        ([{"area_px": 1.0}, {"area_px": 2.0}], []),
    ],
)
def test_only_attributes_that_group_targets_are_shown(make_run, make_dialogue, attributes, titles):
    dialogues = [
        make_dialogue(f"photo-{i}", "disc-0", "centre", [0.5], attributes=a)
        for i, a in enumerate(attributes)
    ]
    assert [f.title for f in group_figures(read_runs([make_run(dialogues)]))] == titles


def test_thirds_of_a_number_are_equal_in_size(make_run, make_dialogue):
    dialogues = [
        make_dialogue(f"photo-{i}", "disc-0", "centre", [0.5], attributes={"area_px": 10.0**i})
        for i in range(9)
    ]
    thirds = group_figures(read_runs([make_run(dialogues)]))[0]
    assert re.findall(r"n = (\d)", thirds.html) == ["3", "3", "3"]


def test_rounds_are_called_clicks_only_where_nothing_else_was_given(make_run, make_ramps):
    runs = read_runs([make_run(make_ramps())])
    assert round_word(runs) == "click"
    vars(runs[0])["kinds"] = frozenset({"click", "box"})
    assert round_word(runs) == "round"


def test_a_run_without_timings_or_finished_dialogues_has_no_figures(make_run, make_dialogue):
    failed = make_dialogue("photo-0", "disc-0", "centre", [], failure="encode: no")
    assert figures(page_of(read_runs([make_run([failed])]))) == []


def test_the_distribution_of_clicks_counts_every_dialogue(make_run, make_dialogue):
    curves = ([0.95], [0.1, 0.95], [0.1, 0.1, 0.95], [0.1])
    dialogues = [
        make_dialogue(f"photo-{i}", "disc-0", "centre", list(curve))
        for i, curve in enumerate(curves)
    ]
    noc = next(
        f
        for f in figures(page_of(read_runs([make_run(dialogues)])))
        if f.title.startswith("Distribution")
    )
    assert re.findall(r"<title>centre: (\w+): ([\d.]+)</title>", noc.html) == [
        ("1", "25"),
        ("2", "25"),
        ("3", "25"),
        ("4", "0"),
        ("never", "25"),
    ]


@pytest.mark.parametrize(
    ("from_cache", "said"),
    [
        ((), "Encoder: 4 passes, median 1 s."),
        (("photo-1",), "Encoder: 3 passes, median 1 s, 1 encoding read from the cache."),
        (
            tuple(f"photo-{i}" for i in range(4)),
            "Encoder: 0 passes, 4 encodings read from the cache.",
        ),
    ],
)
def test_encoder_passes_are_told_from_encodings_read_from_the_cache(
    make_run, make_ramps, from_cache, said
):
    runs = read_runs([make_run(make_ramps(), from_cache=from_cache)])
    (caption,) = (
        made.caption for made in figures(page_of(runs)) if made.title == "Seconds per prediction"
    )
    assert caption.endswith(said)


def line(label, level):
    return Curve(
        label=label, colour=0, x=(1, 2), y=(level, level), low=(level, level), high=(level, level)
    )


def test_of_many_curves_the_best_have_names_and_the_others_are_thin():
    made = highlight_best([line(f"m{place}", place / 10) for place in range(10)])
    assert [curve.label for curve in made if curve.is_faint] == ["m0", "m1", "m2"]
    assert not any(curve.is_faint for curve in highlight_best(made[:7]))


def test_of_many_runs_the_seconds_are_a_row_each_the_fastest_first(make_run, make_dialogue):
    one = [make_dialogue("photo-0", "disc-0", "centre", [0.5, 0.6])]
    paths = [
        make_run(one, f"{n}", segmenter={"name": f"s{n}"}, predict_s=0.1 * (8 - n))
        for n in range(7)
    ]
    seconds = next(f for f in figures(page_of(read_runs(paths))) if f.title.startswith("Seconds"))
    (_, chart), *more = seconds.charts
    named = [t.text for t in ElementTree.fromstring(chart).iter("text") if t.get("class") == "name"]
    assert (named, more) == ([f"s{n}" for n in reversed(range(7))], [])


def test_a_segmenter_keeps_its_colour_where_its_runs_are_taken_together(make_run, make_ramps):
    def colours(*names):
        made = [
            make_run(make_ramps(), f"{n}{i}", segmenter={"name": n}) for i, n in enumerate(names)
        ]
        return segmenter_colours(read_runs(made))

    assert colours(*"abcdefgh") == {name: place for place, name in enumerate("abcdefgh")}
    assert colours("x", "x", "y") == {
        "x": 0,
        "y": 2,
    }  # one ran twice: a colour for each run, and its first one's


def test_a_cloud_of_dots_says_who_is_who_in_the_chart_itself(make_run, make_dialogue):
    dialogues = [
        make_dialogue(f"photo-{i}", "disc-0", "centre", [0.5], attributes={"area_px": 10.0**i})
        for i in range(9)
    ]
    paths = [make_run(dialogues, name, segmenter={"name": name}) for name in ("one", "other")]
    (_, chart), *_ = group_figures(read_runs(paths))[1].charts
    named = [t.text for t in ElementTree.fromstring(chart).iter("text") if t.get("class") == "name"]
    assert named == ["one", "other"]
    (_, single), *_ = group_figures(read_runs(paths[:1]))[1].charts
    assert not [t for t in ElementTree.fromstring(single).iter("text") if t.get("class") == "name"]
