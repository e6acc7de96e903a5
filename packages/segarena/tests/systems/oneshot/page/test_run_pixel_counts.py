"""Tables, figures and pictures of one-shot runs, from made-up records with scores computed by hand."""

import csv
import io
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from viewer_contents import viewer_contents

from segarena.arrays.rle import encode_rle
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.published import find_table
from segarena.records.configuration import parse_configuration
from segarena.records.row_types import MaskRow, RoundRecord, Timing
from segarena.registry import find
from segarena.reports import terminal_table, write_report
from segarena.reports.cells import Value
from segarena.reports.chart_series import segmenter_colours
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import sheet_html
from segarena.reports.renderers.latex import sheet_tex
from segarena.systems.oneshot.page.pair_pictures import choose_pairs
from segarena.systems.oneshot.page.run_pixel_counts import (
    count_encoder_passes,
    counts_by_segmenter,
    mode_text,
    run_settings,
    unchanged_counts,
    without_negative_pairs,
)
from segarena.systems.oneshot.page.tier_figures import (
    equal_count_bins,
    part_means,
    target_values,
    toss_figures,
)
from segarena.systems.oneshot.page.tier_score_tables import toss_sheets
from segarena.systems.oneshot.page.toss_page import encoder_pass_text

EXAMPLES = f"{Path(__file__).parent / 'examples.py'}:Examples"
examples = sys.modules[find("dataset", EXAMPLES).__module__]
OPTIONS = {
    "variant": "published", "aggregate": "accumulate", "void": "ignore", "empty_union": "clamp",
    "weights": "published", "order": "paper", "strict_published": False,
}  # fmt: skip
SUMMARY = {
    "name": "IoU",
    "kind": "at_round",
    "metric": "iou",
    "threshold": 0.9,
    "round": 1,
    "higher_is_better": True,
}
PARTS = {"easy_sal": 80, "hard_sal": 60, "easy_nsal": 40, "hard_nsal": 20}
LEVELS = {"L0": 90, "L1": 60, "L2": 50, "L3": 30, "L4": 20, "L5": 10, "L6": 0}


def pair(
    query,
    row,
    inter,
    *,
    union=100,
    tier="pairs",
    failure=None,
    user="support",
    label="a",
    supports=1,
    **facts,
):
    """One pair with its pixel counts; IoU is inter / union."""
    about = {
        "list": tier,
        "row": float(row),
        "dataset": "made",
        "tier": tier,
        "class": label,
        "query": query,
        **facts,
    }
    return {
        "key": {"sample": query, "target": f"{tier}/{row}", "user": user, "repeat": 0},
        "attributes": {**about, "cross_class": 0.0},
        "inter": inter, "union": union, "failure": failure, "supports": supports,
    }  # fmt: skip


def complexity(values=PARTS, *, fold=0.0, lift=0, **more):
    facts = {
        "easy_sal": (0.9, 0.9), "hard_sal": (0.9, 0.3), "easy_nsal": (0.2, 0.9), "hard_nsal": (0.2, 0.3),
    }  # fmt: skip
    return [
        pair(
            f"q-{part}", row, inter + lift, tier="query-complexity", partition=part, fold=fold,
            salience=facts[part][0], difficulty=facts[part][1], **more,
        )
        for row, (part, inter) in enumerate(values.items())
    ]  # fmt: skip


def cognizance(values=LEVELS):
    return [
        pair(f"q{row % 2}", row, inter, tier="support-cognizance", level=level, fold=0.0)
        for row, (level, inter) in enumerate(values.items())
    ]


def generalization(values=(50, 70)):
    return [
        pair(f"g{row}", row, inter, tier="generalization", label="ab"[row])
        for row, inter in enumerate(values)
    ]


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a run of toss and returns its path."""

    def write(
        pairs,
        name="run",
        *,
        segmenter="disc",
        dataset=EXAMPLES,
        masks=True,
        protocol="careful",
        **options,
    ):
        samples = list(dict.fromkeys(one["key"]["sample"] for one in pairs))
        users = list(dict.fromkeys(one["key"]["user"] for one in pairs))
        described = {
            "kind": "dataset",
            "name": dataset,
            "options": {},
            "fingerprint": "examples",
            "samples": samples,
        }
        config = parse_configuration(
            {
                "version": "0.1.0",
                "benchmark": {
                    "name": "toss", "protocol": protocol, "paper": "", "stop_at": None, "sample_kind": "image",
                    "options": {**OPTIONS, **options}, "summary": [SUMMARY],
                },
                "segmenter": {"kind": "segmenter", "name": segmenter, "options": {}},
                "dataset": described,
                "users": [{"kind": "user", "name": "support", "options": {}, "written": user} for user in users],
                "metrics": [], "rounds": 1, "repeats": 1, "seed": 0, "keep_rounds": [1], "time_limit_s": 60.0,
            }
        )  # fmt: skip
        folder = RunFolder.create(tmp_path / name, config)
        for index, sample in enumerate(samples):
            rows = Rows(
                timings=[
                    Timing(sample=sample, target="", user="", repeat=0, round=0, predict_s=1.0)
                ]
            )
            for one in pairs:
                if one["key"]["sample"] == sample:
                    add(rows, one, masks)
            folder.write(index, rows)
        return folder.path

    return write


def add(rows, one, masks):
    shown = [{"kind": "support", "sample": f"s{k}", "area_px": 5} for k in range(one["supports"])]
    good = one["failure"] is None
    scores = {
        "iou": one["inter"] / one["union"],
        "intersection": float(one["inter"]),
        "union": float(one["union"]),
    }
    rows.records.append(
        RoundRecord(
            benchmark="toss",
            dataset="made",
            **one["key"],
            label=one["attributes"]["class"],
            attributes=json.dumps(one["attributes"]),
            round=1,
            effort=1.0,
            prompts=json.dumps(shown),
            values={
                **(scores if good else dict.fromkeys(scores)),
                "frame_px": 200.0,
                "void_px": 0.0,
                "predicted_void_px": 0.0,
            },
            failure=one["failure"],
        )
    )
    rows.timings.append(Timing(**one["key"], round=1, predict_s=0.1))
    if good and masks:
        rows.masks.append(
            MaskRow(**one["key"], round=1, rle=encode_rle(examples.MASK), shape=examples.SHAPE)
        )


def sheets(*paths):
    found, problems = toss_sheets(read_runs(paths))
    return {sheet.name: sheet for sheet in found}, problems


def table(sheet):
    return [dict(zip(sheet.head, row, strict=True)) for row in sheet.rows]


def test_scores_are_those_of_the_paper_by_hand(make):
    found, problems = sheets(make([*complexity(), *cognizance(), *generalization()]))
    (row,) = table(found["scores"])
    assert math.isclose(row["LCA, %"].mean, (3 * 0.8 + 0.75 * 0.6 + 0.75 * 0.4 + 0.5 * 0.2) / 5)
    assert math.isclose(row["HCA, %"].mean, (3 * 0.2 + 0.75 * 0.6 + 0.75 * 0.4 + 0.5 * 0.8) / 5)
    positive, negative = (0.5 + 0.3) / 2, (0.2 + 0.1 + 0.0) / 3
    assert math.isclose(row["SCS, %"].mean, (4 * 0.9 + 3 * 0.6 + positive + 1 - negative) / 9)
    levels = 4 * 0.9 + 2 * 0.6 + 2 * 0.5 + 0.3 + 0.8 + 0.9 + 1.0
    assert math.isclose(row["SCS paper, %"].mean, levels / 12)
    assert math.isclose(row["GS, %"].mean, 0.6)
    assert (row["Pairs"], row["Query images"]) == (13, 8)
    assert not problems


def test_the_leader_of_each_score_is_marked_wherever_the_table_is_written(make):
    good, bad = (
        make([*complexity(lift=10), *generalization()], "good"),
        make([*complexity(), *generalization((90, 90))], "bad", segmenter="ring"),
    )
    scores = sheets(good, bad)[0]["scores"]
    first, second = table(scores)
    assert [first[name].mark == "best" for name in ("LCA, %", "HCA, %", "GS, %")] == [
        True,
        True,
        False,
    ]
    assert [second[name].mark == "best" for name in ("LCA, %", "HCA, %", "GS, %")] == [
        False,
        False,
        True,
    ]
    assert '<td class="num best" data-value="0.75">75.00' in sheet_html(scores)
    assert r"\underline{75.00}" in sheet_tex(scores)
    assert "0.75," in sheet_csv(scores)


def test_parts_stand_in_the_order_of_the_paper_with_their_counts(make):
    found, _ = sheets(make([*complexity(), *cognizance()]))
    parts = found["parts-query-complexity"]
    assert parts.head[1:] == ("easy_sal", "hard_sal", "easy_nsal", "hard_nsal")
    assert [value.mean for value in parts.rows[0][1:]] == [0.8, 0.6, 0.4, 0.2]
    assert [row[:2] for row in parts.rows[1:]] == [
        ("Pairs", 1), ("Query images", 1), ("Classes", 1), ("Classes with ≤ 5 query images", 1),
    ]  # fmt: skip
    levels = found["parts-support-cognizance"]
    assert levels.head[1:] == (
        "L0 identical", "L1 transformed", "L2 similar", "L3 dissimilar", "L4 other class ↓", "L5 null mask ↓",
        "L6 empty ↓",
    )  # fmt: skip
    assert "low is good" in levels.notes[0]


def test_low_leads_where_the_right_answer_is_nothing(make):
    low = make(
        cognizance({level: inter // 2 for level, inter in LEVELS.items()}), "low", segmenter="ring"
    )
    first, second, *_ = table(sheets(make(cognizance()), low)[0]["parts-support-cognizance"])
    assert first["L0 identical"].mark == "best"
    assert second["L0 identical"].mark != "best"
    assert second["L4 other class ↓"].mark == "best"
    assert first["L4 other class ↓"].mark != "best"


def test_tiny_cells_are_flagged_fewest_images_first(make):
    many = [pair(f"m{row}", row, 50, label="b", fold=0.0) for row in range(6)]
    few = [pair(f"f{row % 2}", row + 6, 50, label="a", fold=0.0) for row in range(4)]
    one = [pair("f0", row + 10, 50, label="c", fold=0.0) for row in range(9)]
    found, _ = sheets(make([*many, *few, *one]))
    assert [(row["Class"], row["Query images"], row["Pairs"]) for row in table(found["tiny"])] == [
        ("c †", 1, 9), ("a †", 2, 4),
    ]  # fmt: skip
    assert [row["Class"] for row in table(found["classes"])] == ["a †", "b", "c †"]


def test_the_mode_stands_in_every_table(make, tmp_path):
    path = make(
        [*complexity(supports=5), *cognizance()],
        variant="paper",
        protocol="paper",
        void="background",
    )
    read = read_runs([path])
    mode = mode_text(read)
    assert mode.startswith("paper protocol, IoU accumulate")
    assert mode.endswith("K = 1 to 5")
    for words in ("SCS paper", "void background", "empty union clamp"):
        assert words in mode
    assert all(mode in sheet.caption for sheet in toss_sheets(read)[0])
    files = write_report([path], tmp_path / "report").further
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert (
            all(row[0] in ("Mode", mode) for row in csv.reader(io.StringIO(text)))
            if file.suffix == ".csv"
            else mode in text
        )


def test_other_conventions_need_no_other_records(make):
    pairs = [pair("q0", 0, 90, label="a"), pair("q1", 1, 10, union=900, label="a")]
    accumulated = sheets(make(pairs, "one"))[0]["miou"]
    averaged = sheets(make(pairs, "two", aggregate="per_pair"))[0]["miou"]
    assert math.isclose(table(accumulated)[0]["Class mIoU, %"].mean, 100 / 1000)
    assert math.isclose(table(averaged)[0]["Class mIoU, %"].mean, (0.9 + 10 / 900) / 2)


def test_weights_of_a_run_come_back_as_they_were(make):
    (run,) = read_runs([make(complexity(), weights=[4.0, 1.0, 0.0, 0.0])])
    assert run_settings(run).weights == (4.0, 1.0, 0.0, 0.0)
    assert math.isclose(
        table(sheets(run.folder.path)[0]["scores"])[0]["LCA, %"].mean, (4 * 0.8 + 0.6) / 5
    )


def test_salient_and_other_targets_are_told_apart(make):
    (row,) = table(sheets(make(complexity()))[0]["salience"])
    assert math.isclose(row["Salient, %"].mean, 0.7)
    assert math.isclose(row["Not salient, %"].mean, 0.3)
    assert math.isclose(row["Difference"].mean, 0.4)
    assert row["Difference"].text == "+40.00"
    assert (row["Salient images"], row["Other images"]) == (2, 2)


def test_other_supports_are_compared_fold_by_fold(make):
    both = [
        *complexity(), *complexity(fold=1.0, label="b", lift=10),
        *complexity(dict.fromkeys(PARTS, 10), user="null-mask"),
    ]  # fmt: skip
    for place, one in enumerate(both):
        one["key"]["target"] = f"query-complexity/{place}"
        one["attributes"]["row"] = float(place)
    found, _ = sheets(make(both))
    rows = {row["Support"]: row for row in table(found["supports"])}
    assert math.isclose(rows["support"]["Fold 0, %"].mean, 0.5)
    assert math.isclose(rows["support"]["Fold 1, %"].mean, 0.6)
    assert math.isclose(rows["support"]["Mean, %"].mean, 0.55)
    assert math.isclose(rows["null-mask"]["Mean, %"].mean, 0.1)
    assert math.isnan(rows["null-mask"]["Fold 1, %"].mean)
    assert [row["Segmenter"] for row in table(found["scores"])] == [
        "disc"
    ]  # of the first user alone
    assert "supports" not in sheets(make(complexity(), "alone"))[0]


def changed(kind, values, first):
    return [
        pair(f"q{row}", first + row, inter, fold=float(row), label="ab"[row], list=f"mine/{kind}")
        for row, inter in enumerate(values)
    ]


def test_changed_supports_are_told_by_the_names_of_lists_and_in_no_other_table(make):
    path = make(
        [
            *changed("normal", (60, 80), 0),
            *changed("null-mask", (20, 10), 2),
            *changed("other-class", (0, 8), 4),
        ]
    )
    found, _ = sheets(path)
    rows = {row["Support"]: row for row in table(found["supports"])}
    assert list(rows) == ["normal", "other-class", "null-mask"]
    assert [rows["null-mask"][name].mean for name in ("Fold 0, %", "Fold 1, %")] == [0.2, 0.1]
    assert math.isclose(rows["null-mask"]["Mean, %"].mean, 0.15)
    assert math.isclose(rows["other-class"]["Mean, %"].mean, 0.04)
    (row,) = table(found["miou"])
    assert math.isclose(row["Class mIoU, %"].mean, 0.7)
    assert row["Pairs"] == 2
    (run,) = read_runs([path])
    assert [d.values["iou"][-1] for d in without_negative_pairs(run).dialogues] == [0.6, 0.8]
    assert [key[1] for key in choose_pairs([run])] == [f"pairs/{k}" for k in (0, 1, 4, 5, 3, 2)]


def test_changed_supports_alone_are_a_report_too(make):
    path = make([*changed("null-mask", (20, 10), 0), *changed("no-image", (0, 8), 2)])
    assert list(sheets(path)[0]) == ["supports"]


def test_runs_of_one_segmenter_over_several_folds_are_one(make):
    one = make(complexity(), "one")
    two = make(
        [
            {**p, "attributes": {**p["attributes"], "list": "other"}}
            for p in complexity(fold=1.0, lift=10)
        ],
        "two",
    )
    (row,) = table(sheets(one, two)[0]["scores"])
    assert math.isclose(row["LCA, %"].mean, (0.65 + 0.75) / 2)
    assert [fold["Fold"] for fold in table(sheets(one, two)[0]["folds"])] == ["0", "1"]


def test_the_same_pairs_twice_give_mean_and_spread(make):
    paths = [make(generalization(), "one"), make(generalization((70, 90)), "two")]
    (row,) = table(sheets(*paths)[0]["scores"])
    assert math.isclose(row["GS, %"].mean, 0.7)
    assert row["GS, %"].bounds == "± 14.14, 2 runs"


def test_a_missing_partition_is_said_and_the_other_scores_stay(make):
    part = [one for one in complexity() if one["attributes"]["partition"] != "hard_sal"]
    path = make([*part, *generalization()])
    found, problems = sheets(path)
    assert "LCA, %" not in found["scores"].head
    assert problems[0].startswith("disc: no LCA or HCA: fold 0: no pairs of hard_sal")


def test_failed_pairs_are_in_no_score_and_counted(make, tmp_path):
    pairs = [
        *generalization(),
        pair("g9", 9, 0, tier="generalization", label="a", failure="predict: no"),
    ]
    path = make(pairs)
    (entry,) = unchanged_counts(read_runs([path]))
    assert (entry.counts.height, entry.failed) == (2, 1)
    html = write_report([path], tmp_path / "report").html.read_text(encoding="utf-8")
    assert "Failed pairs or samples, which are in no score: disc (support): 1" in html


def test_of_several_repeats_the_first_counts(make):
    again = pair("g0", 0, 10, tier="generalization")
    again["key"]["repeat"] = 1
    (row,) = table(sheets(make([*generalization(), again]))[0]["scores"])
    assert math.isclose(row["GS, %"].mean, 0.6)


def test_a_run_that_answered_nothing_yet_has_a_page(make, tmp_path):
    path = make([pair("g0", 0, 0, failure="predict: no")])
    assert counts_by_segmenter(read_runs([path])) == ()
    assert "no dialogue was finished" in write_report([path], tmp_path / "report").html.read_text(
        encoding="utf-8"
    )


def test_the_general_tables_leave_out_where_nothing_is_right(make):
    (run,) = read_runs([make(cognizance())])
    assert {d.attributes["level"] for d in without_negative_pairs(run).dialogues} == {
        "L0",
        "L1",
        "L2",
        "L3",
    }


def test_pairs_are_called_pairs_and_their_images_query_images(make, tmp_path):
    twice = [
        pair("g0", 0, 50, tier="generalization"),
        pair("g0", 1, 70, tier="generalization", label="b"),
    ]
    paths = [make(twice, "a"), make(twice, "b", segmenter="ring")]
    files = write_report(paths, tmp_path / "report")
    html = files.html.read_text(encoding="utf-8")
    assert "2 pairs in 1 query image" in html
    assert "on the same pairs" in html
    assert ">Pairs</th>" in html[html.index('id="summary"') :]
    assert not re.findall(
        r"\d targets?\b|over targets", html[html.index("<main>") : html.index("<script>")]
    )
    assert files.targets.read_text(encoding="utf-8").startswith(
        "target,"
    )  # for programs the word stays


def test_encoder_passes_are_counted(make):
    assert count_encoder_passes(read_runs([make(generalization())])) == (2, 0, 2, 1, 0)


def test_transformed_queries_are_counted_apart(make):
    plain = pair("g0", 0, 50)
    moved = pair("g0", 1, 70)
    moved["key"]["sample"] = "g0@xf1"
    runs = read_runs([make([plain, moved])])
    assert count_encoder_passes(runs)[:2] == (2, 1)
    assert "2 query images (1 of them transformed copies of photographs)" in encoder_pass_text(runs)


def test_equal_numbers_stay_in_one_bin():
    x = np.array([0.1] * 10 + [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0])
    bins = equal_count_bins(x, 4)
    assert np.concatenate(bins).tolist() == list(range(20))
    assert bins[0].tolist() == list(range(10))
    assert all(not set(x[one]) & set(x[other]) for i, one in enumerate(bins) for other in bins[:i])
    assert [part.tolist() for part in equal_count_bins(np.array([0.5, 0.5, 0.9]))] == [[0, 1], [2]]


def test_curves_are_over_query_images(make):
    twice = pair(
        "q-easy_sal",
        9,
        60,
        tier="query-complexity",
        partition="easy_sal",
        fold=0.0,
        salience=0.9,
        difficulty=0.9,
    )
    (entry,) = unchanged_counts(read_runs([make([*complexity(), twice])]))
    x, y = target_values(entry, "difficulty")
    assert x.tolist() == [0.3, 0.3, 0.9, 0.9]
    assert sorted(y.tolist()) == pytest.approx([0.2, 0.4, 0.6, 0.7])
    assert (
        part_means(entry, run_settings(read_runs([make(complexity(), "b")])[0]), "partition")[
            "easy_sal"
        ]
        == 0.7
    )


def test_figures_need_something_to_show(make):
    (run,) = read_runs([make(generalization())])
    assert toss_figures(unchanged_counts([run]), run_settings(run), segmenter_colours([run])) == []
    (run,) = read_runs([make([*complexity(), *cognizance()], "full")])
    titles = [
        figure.title
        for figure in toss_figures(
            unchanged_counts([run]), run_settings(run), segmenter_colours([run])
        )
    ]
    assert titles == ["IoU by partition and level", "IoU against ease and salience"]


def test_pictures_are_of_every_part_low_and_high(make):
    pairs = [
        pair(f"q{k}", k, 10 * k, tier="query-complexity", partition="hard_nsal", fold=0.0)
        for k in range(9)
    ]
    easy = [pair("e0", 9, 50, tier="query-complexity", partition="easy_sal", fold=0.0)]
    chosen = choose_pairs(read_runs([make([*pairs, *easy])]))
    named = [key[:2] for key in chosen]
    assert named == [
        ("e0", "query-complexity/9"),
        ("q2", "query-complexity/2"),
        ("q6", "query-complexity/6"),
    ]


def test_query_support_prediction_and_truth_stand_side_by_side(make, tmp_path):
    paths = [make(examples_pairs(), "one"), make(examples_pairs(), "two", segmenter="ring")]
    html = write_report(paths, tmp_path / "report", trust=True).html.read_text(encoding="utf-8")
    card = html.split('<article class="card"')[1].split("</article>")[0]
    (content,) = viewer_contents(card)
    labels = [example["label"] for example in content["examples"]]
    assert labels == ["support", "support", "support, 1 more"]
    assert [dialogue["label"] for dialogue in content["dialogues"]] == ["disc", "ring"]
    assert [dialogue["captions"] for dialogue in content["dialogues"]] == [["IoU 0.500"]] * 2
    assert "<h3>a · generalization</h3>" in card
    assert 'id="hardest"' not in html


def test_a_pair_that_failed_is_in_the_gallery_with_its_cause(make, tmp_path):
    paths = [
        make(examples_pairs(), "one"),
        make(examples_pairs(failure="no memory"), "two", segmenter="ring"),
    ]
    html = write_report(paths, tmp_path / "report", trust=True).html.read_text(encoding="utf-8")
    card = html.split('<article class="card"')[1].split("</article>")[0]
    (content,) = viewer_contents(card)
    (_, failed) = content["dialogues"]
    assert failed["state"] == "failed"
    assert failed["failure"] == "no memory"


def examples_pairs(**more):
    return [pair("photo", 0, 50, tier="generalization", supports=4, **more)]


@pytest.mark.parametrize("name", ["no-such-dataset", "demo"])
def test_without_its_images_the_page_opens_all_the_same(make, tmp_path, name):
    html = write_report([make(examples_pairs(), dataset=name)], tmp_path / "report").html.read_text(
        encoding="utf-8"
    )
    assert ("cannot be opened" in html) == (name == "no-such-dataset")
    assert ("cannot be shown" in html) == (name == "demo")
    assert '<article class="card"' not in html
    assert "Scores (TOSS, Table 4)" in html


def test_masks_that_were_not_kept_are_said(make, tmp_path):
    html = write_report(
        [make(examples_pairs(), masks=False)], tmp_path / "report", trust=True
    ).html.read_text(encoding="utf-8")
    (content,) = viewer_contents(html)
    assert [dialogue["stored"] for dialogue in content["dialogues"]] == [[]]


def test_the_terminal_shows_the_scores_first(make, capsys):
    from rich.console import Console

    Console(width=120).print(terminal_table([make([*complexity(), *generalization()])]))
    text = capsys.readouterr().out
    assert "65.00" in text.split("mean IoU of pairs")[0]
    assert "SCS published" in text


def test_files_hold_fractions_and_say_no_percent(make, tmp_path):
    files = {
        file.name: file
        for file in write_report([make(generalization())], tmp_path / "report").further
    }
    (line,) = csv.DictReader(io.StringIO(files["toss-scores.csv"].read_text(encoding="utf-8")))
    assert (line["Segmenter"], line["GS"], line["Pairs"]) == ("disc", "0.6", "2")
    assert r"60.00" in files["toss.tex"].read_text(encoding="utf-8")


def test_names_from_outside_are_escaped(make, tmp_path):
    evil = "<script>alert(1)</script>"
    pairs = [pair(evil, 0, 50, label=evil, tier="generalization"), pair("photo", 1, 50, label=evil)]
    assert evil not in write_report([make(pairs)], tmp_path / "report").html.read_text(
        encoding="utf-8"
    )


def test_values_are_shares_in_csv_and_percent_elsewhere():
    value = Value(mean=0.1234, low=0.1, high=0.2, is_share=True, decimals=2)
    assert (value.text, value.bounds) == ("12.34", "[10.00, 20.00]")


@pytest.mark.parametrize(
    ("name", "dialogues", "measures"),
    [
        ("toss:4", [*complexity(), *cognizance(), *generalization()], ("lca", "hca", "scs", "gs")),
        ("toss:2b", complexity(), ("salient", "not-salient")),
        (
            "toss:1",
            [pair("p", 0, 50, fold=0.0), pair("q", 1, 60, fold=1.0)],
            ("fold-1", "fold-2", "mean"),
        ),
    ],
)
def test_published_tables_find_their_measures_in_the_report(make, name, dialogues, measures):
    """The file of published figures uses the names of our tables."""
    told = page_tables(page_of(read_runs([make(dialogues)])))
    table = find_table(name)
    words = table.rows[0].words
    assert all(
        look_up_measure(told, table.measures[measure], words) is not None for measure in measures
    )


def test_published_kinds_of_supports_are_those_of_the_report(make):
    path = make([*changed("normal", (60, 80), 0), *changed("null-mask", (20, 10), 2)])
    table_2a = find_table("toss:2a")
    told = page_tables(page_of(read_runs([path])))
    words = {row.condition: row.words for row in table_2a.rows}
    assert look_up_measure(told, table_2a.measures["of-kind"], words["Base"]).mean == pytest.approx(
        0.7
    )
    assert look_up_measure(
        told, table_2a.measures["of-fold-2"], words["Ms = 0"]
    ).mean == pytest.approx(0.1)
    assert look_up_measure(told, table_2a.measures["of-kind"], words["Is = 0"]) is None
