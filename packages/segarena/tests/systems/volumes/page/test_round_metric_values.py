"""Tables, figures and pictures of runs over volumes, from made records."""

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

from segarena.arrays.quantization import contrast_limits
from segarena.arrays.rle import encode_rle
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.published import find_table
from segarena.records.configuration import DatasetRecord, parse_configuration
from segarena.records.row_types import MaskRow, RoundRecord, Timing
from segarena.registry import find
from segarena.reports import write_report
from segarena.reports.cells import Value
from segarena.reports.chart_series import segmenter_colours
from segarena.reports.display_names import dataset_names
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import sheet_html
from segarena.reports.renderers.latex import sheet_tex
from segarena.reports.report import report_html
from segarena.reports.sheets import Sheet
from segarena.systems.volumes.page.cvpr2025_tables import challenge_sheets, is_cvpr2025, score_cases
from segarena.systems.volumes.page.effort_figures import (
    effort_figures,
    effort_points,
    group_participants,
    rounds_figures,
)
from segarena.systems.volumes.page.instance_dice_table import instances_sheet
from segarena.systems.volumes.page.radioactive_tables import volume_sheets
from segarena.systems.volumes.page.report_page import describe_protocol
from segarena.systems.volumes.page.round_metric_values import collect_round_values, is_volume_run
from segarena.systems.volumes.page.slice_pictures import (
    choose_slices,
    find_middle_slice,
    find_view_window,
    make_slice,
)
from segarena.users.habits.prompt_time import PromptTimeModel

SCANS = f"{Path(__file__).parent / 'scans.py'}:Scans"
scans = sys.modules[find("dataset", SCANS).__module__]
SUMMARY = {"name": "Dice@1", "kind": "at_round", "metric": "dice", "threshold": 0.9, "round": 1}
BOX = {"kind": "box", "start": [2, 2, 2], "stop": [3, 6, 6], "object_id": 1}
CLICK = {"kind": "click", "position": [2, 3, 3], "is_positive": False, "object_id": 1}
SCRIBBLE = {
    "kind": "scribble",
    "points": [[1, 3, 3], [2, 4, 4]],
    "is_positive": True,
    "object_id": 1,
}
LIMITS = {"kind": "limits", "first": 1, "last": 2, "axis": 0, "object_id": 1}


def said(
    sample,
    target,
    user,
    dice,
    *,
    nsd=None,
    efforts=None,
    failure=None,
    mask=None,
    repeat=0,
    **attributes,
):
    """One dialogue: Dice after each round, and its other fields."""
    return {
        "key": {"sample": sample, "target": target, "user": user, "repeat": repeat},
        "dice": dice,
        "nsd": dice if nsd is None else nsd,
        "efforts": efforts or [2.0 + 3.0 * k for k in range(len(dice))],
        "failure": failure,
        "attributes": attributes,
        "mask": mask,
    }


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a run over volumes and returns its path."""

    def write(
        dialogues,
        name="run",
        *,
        rounds=1,
        users=None,
        benchmark=None,
        segmenter="disc",
        dataset=SCANS,
    ):
        folder = RunFolder.create(
            tmp_path / name,
            parse_configuration(config(dialogues, rounds, users, benchmark, segmenter, dataset)),
        )
        for index, sample in enumerate(folder.config.dataset.samples):
            rows = Rows(timings=[timing(sample, "", "", 0, 0, 0.5)])
            for one in dialogues:
                if one["key"]["sample"] == sample:
                    add(rows, one)
            folder.write(index, rows)
        return folder.path

    return write


def timing(sample, target, user, repeat, round_, seconds):
    key = {"sample": sample, "target": target, "user": user, "repeat": repeat, "round": round_}
    return Timing(**key, predict_s=seconds)


def add(rows, one):
    about = {
        "label": one["key"]["target"].split("-")[0],
        "attributes": json.dumps(one["attributes"]),
    }
    key = {"benchmark": "radioactive", "dataset": "scans", **one["key"]}
    for number, (dice, nsd, effort) in enumerate(
        zip(one["dice"], one["nsd"], one["efforts"], strict=True), 1
    ):
        prompts = json.dumps([BOX, LIMITS] if number == 1 else [CLICK, SCRIBBLE])
        row = {"round": number, "effort": effort, "prompts": prompts, "failure": None}
        rows.records.append(RoundRecord(**key, **about, **row, values={"dice": dice, "nsd": nsd}))
        rows.timings.append(timing(*one["key"].values(), number, 0.1 * number))
    if one["mask"] is not None:
        rle = encode_rle(one["mask"])
        rows.masks.append(
            MaskRow(**one["key"], round=len(one["dice"]), rle=rle, shape=one["mask"].shape)
        )
    if one["failure"]:
        row = {
            "round": len(one["dice"]) + 1,
            "effort": 0.0,
            "prompts": "[]",
            "failure": one["failure"],
        }
        rows.records.append(RoundRecord(**key, **about, **row, values={"dice": None, "nsd": None}))


def config(dialogues, rounds, users, benchmark, segmenter, dataset):
    names = list(dict.fromkeys(d["key"]["user"] for d in dialogues if d["key"]["user"]))
    options = users or {name: {"prompts": name.partition(".")[0]} for name in names}
    return {
        "version": "0.1.0",
        "benchmark": {
            "name": "radioactive",
            "protocol": "careful",
            "paper": "",
            "stop_at": None,
            "sample_kind": "volume",
            "adapter": {
                "name": "slices",
                "options": {"intensity": "none", "percentiles": [0.5, 99.5]},
            },
            "options": {},
            "summary": [{**SUMMARY, "higher_is_better": True}],
            **(benchmark or {}),
        },
        "segmenter": {"kind": "segmenter", "name": segmenter, "options": {}},
        "dataset": {
            "kind": "dataset",
            "name": dataset,
            "options": {"count": 2},
            "fingerprint": "scans-2",
            "samples": list(dict.fromkeys(d["key"]["sample"] for d in dialogues)),
        },
        "users": [
            {"kind": "user", "name": "volume", "options": o, "written": name}
            for name, o in options.items()
        ],
        "metrics": [],
        "rounds": rounds,
        "repeats": 1,
        "seed": 0,
    }


def sheets(*paths):
    return {sheet.name: sheet for sheet in volume_sheets(read_runs(paths), PromptTimeModel())}


def line(sheet, *names):
    """Return the cells of the row with these names, by column title."""
    row = next(row for row in sheet.rows if row[: len(names)] == names)
    return dict(zip(sheet.head, row, strict=True))


def test_means_go_from_instances_to_cases_to_classes(make):
    path = make(
        [
            said("a", "lesion-1", "3b-inter", [0.2]),
            said("a", "lesion-2", "3b-inter", [0.4]),
            said("b", "lesion-1", "3b-inter", [0.8]),
            said("a", "organ", "3b-inter", [0.1], efforts=[6.0]),
        ]
    )
    row = line(sheets(path)["prompts"], "3b-inter", "disc")
    assert row["Dice"].mean == pytest.approx(((0.3 + 0.8) / 2 + 0.1) / 2)
    assert row["Interactions"].mean == pytest.approx(3.0)
    assert row["Interactions"].note == "2 to 6"
    assert row["In words"] == "three boxes interpolated"
    # A person needs seconds for a box, not fractions of one and not minutes.
    assert 1 < row["Seconds of a person"].mean < 60
    classes = sheets(path)["classes"]
    assert line(classes, "Scans", "lesion")["3b-inter"].mean == pytest.approx(0.55)
    assert line(classes, "Scans", "lesion")["Targets"] == 3


def test_rows_are_averaged_over_what_all_have_and_the_rest_is_named(make):
    path = make(
        [
            said("a", "organ", "1-pps", [0.2]),
            said("b", "organ", "1-pps", [0.4]),
            said("a", "organ", "box-ps", [0.6]),
            said("b", "organ", "box-ps", [], failure="out of memory"),
        ]
    )
    found = sheets(path)["prompts"]
    assert line(found, "1-pps", "disc")["Dice"].mean == pytest.approx(0.2)
    assert "over 1 target in 1 case, which are in every row" in found.notes[0]
    assert "box-ps · disc: 1" in found.notes[0]


def test_datasets_are_columns_and_weigh_the_same(make):
    one = make([said("a", "organ", "u", [0.2]), said("b", "organ", "u", [0.4])], "one")
    two = make([said("c", "organ", "u", [0.9])], "two", dataset="other")
    row = line(sheets(one, two)["prompts"], "u", "disc")
    assert [row["Scans"].mean, row["other"].mean] == pytest.approx([0.3, 0.9])
    assert row["Dice"].mean == pytest.approx(0.6)


def test_folders_read_by_one_plugin_are_called_by_their_names():
    options = [
        {"path": "data/spleen", "modality": "CT"},
        {"path": "data/cord", "modality": "MR", "name": "spine"},
        {"path": "other/spleen", "modality": "CT"},
    ]
    plugins = [
        DatasetRecord(name="nifti-folder", options=given, fingerprint=str(number), samples=())
        for number, given in enumerate(options)
    ]
    assert dataset_names(plugins) == ["spleen #1", "spine", "spleen #2"]
    assert dataset_names(plugins[:1]) == ["nifti-folder"]


def test_rounds_hold_the_last_value_and_effort(make):
    path = make(
        [
            said("a", "organ", "u.scribble", [0.2, 0.6, 0.7], efforts=[6.0, 9.0, 12.0]),
            said("b", "organ", "u.scribble", [0.8, 1.0], efforts=[4.0, 7.0]),
        ],
        rounds=3,
    )
    row = line(sheets(path)["refinement"], "u.scribble", "disc")
    assert [row[f"Round {k}"].mean for k in (1, 2, 3)] == pytest.approx([0.5, 0.8, 0.85])
    assert [row["Interactions first"].mean, row["at last"].mean] == pytest.approx([5.0, 9.5])
    assert row["Round 1"].low == pytest.approx(0.2)
    assert row["Round 1"].high == pytest.approx(0.8)


def test_nobody_corrects_no_refinement(make):
    found = sheets(make([said("a", "organ", "u", [0.2])]))
    assert not {"refinement", "areas", "noise", "splits"} & found.keys()


def test_kinds_and_modalities_are_kept_apart(make):
    path = make(
        [
            said("a", "organ", "u", [0.2], kind="organ", modality="CT"),
            said("a", "lesion-1", "u", [0.4], kind="pathology", modality="CT"),
            said("b", "organ", "u", [0.6], kind="organ", modality="MR"),
        ]
    )
    sheet = sheets(path)["splits"]
    row = line(sheet, "u", "disc")
    values = {part: row[part].mean for part in ("organ", "pathology", "CT", "MR")}
    assert values == pytest.approx({"organ": 0.4, "pathology": 0.4, "CT": 0.3, "MR": 0.6})
    assert "2 organ, 1 pathology, 2 CT, 1 MR" in sheet.notes[0]


def test_inexact_boxes_stand_beside_exact_ones(make):
    users = {f"b{k}": {"prompts": "3b-inter", "edge_noise_px": k} for k in (0, 3, 5)}
    values = {"b0": (0.8, 0.6), "b3": (0.7, 0.6), "b5": (0.4, 0.5)}
    path = make(
        [
            said(case, "organ", user, [pair[k]])
            for user, pair in values.items()
            for k, case in enumerate("ab")
        ],
        users=users,
    )
    row = sheets(path)["noise"].rows[0]
    assert [cell.mean for cell in row[2:]] == pytest.approx([0.7, 0.65, -0.05, 0.45, -0.25])
    assert row[4].text == "−0.050"
    assert [row[6].low, row[6].high] == pytest.approx([-0.4, -0.1])


def test_areas_in_three_conventions(make):
    path = make([said("a", "organ", "u", [0.0, 1.0])], rounds=6)
    row = line(sheets(path)["areas"], "u", "disc")
    assert [row[name].mean for name in ("AuC", "sum", "last five", "NoC@90")] == pytest.approx(
        [0.9, 4.5, 4.0, 2.0]
    )


@pytest.mark.long
def test_seconds_are_medians(make):
    path = make([said("a", "organ", "u", [0.1, 0.2, 0.3])], rounds=3)
    row = line(sheets(path)["seconds"], "u", "disc")
    assert [cell.mean for cell in list(row.values())[2:]] == pytest.approx([0.1, 0.25, 0.5, 0.6])


CVPR = {"name": "cvpr2025", "protocol": "published", "options": {"steps": 6, "box": True}}


def test_challenge_values_are_those_of_cases(make):
    path = make(
        [
            said("a", "organ", "cvpr2025", [0.2, 0.4, 0.6, 0.6, 0.6, 0.8], nsd=[0.5] * 6),
            said("a", "lesion-1", "cvpr2025", [0.0, 0.0], nsd=[0.0, 0.0], failure="gone"),
            said("b", "organ", "cvpr2025", [0.5, 1.0], nsd=[0.5, 1.0]),
        ],
        rounds=6,
        benchmark=CVPR,
    )
    runs = read_runs([path])
    cases = score_cases(runs[0])
    assert cases["a"].dsc == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.3, 0.4])
    assert cases["a"].nsd == pytest.approx(
        [0.0, 0.0, 0.25, 0.25, 0.25, 0.25]
    )  # not above 0.2: no NSD
    assert cases["b"].dsc_auc == pytest.approx(4.0)
    final = challenge_sheets(runs)[0].rows[0]
    assert final[1] == 2
    assert [cell.mean for cell in final[2:6]] == pytest.approx(
        [(1.2 + 4) / 2, (0.875 + 4) / 2, 0.7, 0.625]
    )


def test_a_challenge_without_boxes_counts_step_0_as_0(make):
    rules = {**CVPR, "options": {"steps": 6, "box": False}}
    path = make(
        [said("a", "organ", "cvpr2025", [0.4, 0.5, 0.6, 0.7, 0.8])], rounds=5, benchmark=rules
    )
    (case,) = score_cases(read_runs([path])[0]).values()
    assert case.dsc == pytest.approx([0.0, 0.4, 0.5, 0.6, 0.7, 0.8])
    assert case.dsc_auc == pytest.approx(2.4)


@pytest.mark.parametrize(
    ("box", "rounds", "shown"),
    [(True, 6, True), (True, 2, False), (False, 5, True), (False, 6, False)],
)
def test_the_values_of_the_challenge_are_shown_for_all_of_its_steps_only(make, box, rounds, shown):
    rules = {**CVPR, "options": {"steps": 6, "box": box}}
    (run,) = read_runs(
        [make([said("a", "organ", "cvpr2025", [0.5] * rounds)], rounds=rounds, benchmark=rules)]
    )
    assert is_cvpr2025(run) == shown


def swapped():
    one, two = scans.mask_of("lesion-1"), scans.mask_of("lesion-2")
    return [
        said("scan-0", "lesion-1", "u", [0.0], mask=two),
        said("scan-0", "lesion-2", "u", [0.0], mask=one),
        said("scan-1", "lesion-1", "u", [1.0], mask=one),
        said("scan-1", "lesion-2", "u", [0.0], mask=np.zeros(scans.SHAPE, dtype=bool)),
    ]


def test_instances_are_paired_by_prompt_and_matched_as_published(make):
    sheet, problem = instances_sheet(read_runs([make(swapped())], trust=True))
    assert problem == ""
    row = line(sheet, "u", "disc")
    assert row["Groups"] == 2
    ways = [
        row[name].mean
        for name in ("Paired by prompt", "Matched, empty ignored", "Matched as published")
    ]
    assert ways == pytest.approx([(0 + 0.5) / 2, (1 + 0.5) / 2, (1 + 1 / 3) / 2])


def test_instances_without_their_dataset_say_so(make):
    sheet, problem = instances_sheet(read_runs([make(swapped(), dataset="gone.py:Gone")]))
    assert sheet is None
    assert "cannot be matched as published" in problem


def test_effort_points_follow_the_rounds(make):
    path = make([said("a", "organ", "u", [0.2, 0.6], efforts=[6.0, 9.0])], rounds=2)
    runs = read_runs([path])
    (points,) = effort_points(runs, collect_round_values(runs), "dice").values()
    assert [point.effort for point in points] == [6.0, 9.0]
    assert [point.quality.mean for point in points] == pytest.approx([0.2, 0.6])
    assert "u" in effort_figures(runs, collect_round_values(runs))[0].html
    assert (
        'class="band' not in rounds_figures(runs, collect_round_values(runs))[0].html
    )  # one case: a curve without a band


def test_a_segmenter_has_the_colour_that_it_has_in_the_other_figures(make):
    users = {"ring": ["u", "v"], "disc": ["v"]}  # the second one is alone in no figure of its own
    paths = [
        make(
            [said("a", "organ", user, [0.5, 0.6]) for user in found], name, rounds=2, segmenter=name
        )
        for name, found in users.items()
    ]
    runs = read_runs(paths)
    colours = segmenter_colours(runs)
    assert colours == {"ring": 0, "disc": 1}
    made = rounds_figures(runs, collect_round_values(runs))[0]
    assert [heading for heading, _ in made.charts] == [
        "u",
        "v",
    ]  # a chart for each user, a curve for each segmenter
    ends = [re.findall(r'class="end c(\d) d\d"[^>]*>(\w+)<', chart) for _, chart in made.charts]
    assert [{name: int(c) for c, name in found} for found in ends] == [
        {"ring": 0},
        {"ring": 0, "disc": 1},
    ]
    effort = effort_figures(runs, collect_round_values(runs))[0].html
    line = r'class="curve c(\d) d\d"></path><path [^>]*></path><text [^>]*class="name">(\w+)<'
    legend = re.findall(line, effort)
    assert {name: int(c) for c, name in legend} == colours


@pytest.mark.long
def test_what_sees_no_image_is_a_thin_line_in_figures_and_in_no_table(make):
    said_by = [said("a", "organ-1", "box", [0.3, 0.6]), said("a", "organ-1", "click", [0.2, 0.3])]
    paths = [make(said_by, name, rounds=2, segmenter=name) for name in ("disc", "image-blind")]
    own = page_of(read_runs(paths))
    values = collect_round_values(own.runs)
    (effort,), (rounds,) = (
        draw(own.runs, values, own.floors) for draw in (effort_figures, rounds_figures)
    )
    assert effort.html.count('class="curve floor d0"') == 2 * (
        1 + 2
    )  # Dice and NSD: in the legend, and for each user
    assert sorted(re.findall(r'class="end floor d0">([^<]*)<', rounds.html)) == [
        "image-blind",
        "image-blind",
    ]
    assert all("image-blind" not in str(row) for sheet in own.sheets.values() for row in sheet.rows)


def test_many_users_stand_in_figures_by_first_prompts(make):
    few = [
        said("a", "organ", f"{scheme}.r{k}", [0.5, 0.6])
        for scheme in ("3b-inter", "5p-inter")
        for k in range(3)
    ]
    many = [
        said("a", "organ", f"{scheme}.r{k}", [0.5, 0.6])
        for scheme in ("3b-inter", "5p-inter")
        for k in range(4)
    ]
    assert list(group_participants(read_runs([make(few, "few", rounds=2)]))) == [""]
    runs = read_runs([make(many, "many", rounds=2)])
    assert {name: len(part) for name, part in group_participants(runs).items()} == {
        ", 3b-inter": 4,
        ", 5p-inter": 4,
    }
    assert len(effort_figures(runs, collect_round_values(runs))) == 2


def test_names_in_figures_are_escaped(make):
    runs = read_runs([make([said("a", "organ", "<b>", [0.2])])])
    assert "<b>" not in effort_figures(runs, collect_round_values(runs))[0].html


def test_the_page_has_its_sections_first_and_shows_slices(make):
    html = report_html(page_of(read_runs([make(swapped())], trust=True)))
    places = [
        html.index(f'<section id="{name}">')
        for name in ("volumes", "instances", "summary", "gallery")
    ]
    assert places == sorted(places)
    contents = viewer_contents(html)
    assert len(contents) == 4  # two targets in two scans
    for content in contents:
        assert [plane["name"] for plane in content["planes"]] == ["axial", "coronal", "sagittal"]
    assert "slice by slice, intensity=&#39;none&#39;." in html


def test_the_page_opens_without_the_dataset(make):
    html = report_html(page_of(read_runs([make(swapped(), dataset="gone.py:Gone")], trust=True)))
    assert "cannot be opened" in html
    assert '<section id="volumes">' in html
    assert "axial slice" not in html


def test_a_run_in_which_everything_failed_has_a_page(make):
    path = make([said("a", "organ", "u", [], failure="no memory")])
    assert "no memory" in report_html(page_of(read_runs([path])))


def test_files_hold_the_same_tables(make, tmp_path):
    files = write_report([make(swapped())], tmp_path / "report", trust=True)
    names = [file.name for file in files.further]
    assert {
        "volumes-prompts.csv",
        "volumes-classes.csv",
        "volumes-instances.csv",
        "volumes.tex",
    } <= set(names)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "report/volumes-prompts.csv").read_text())))
    assert [float(row["Dice"]) for row in rows] == pytest.approx([0.25])
    assert r"\toprule" in (tmp_path / "report/volumes.tex").read_text()


def test_image_runs_are_no_volumes(make_run, make_ramps):
    (run,) = read_runs([make_run(make_ramps())])
    assert not is_volume_run(run)


def test_the_mode_tells_spread_and_slices(make):
    users = {"u": {"prompts": "b-prop"}}
    texts = describe_protocol(
        read_runs([make([said("a", "organ", "u", [0.5])], users=users, segmenter="grabcut")])
    )
    assert texts[0].startswith("careful protocol: ")
    assert texts[1] == "u: propagated from slice to slice."
    assert texts[2] == "grabcut segments images: slices calls it slice by slice, intensity='none'."
    seen = {
        "adapter": {"name": "slices", "options": {"intensity": "auto", "percentiles": [0.5, 99.5]}}
    }
    texts = describe_protocol(
        read_runs(
            [make([said("a", "organ", "u", [0.5])], "other", benchmark=seen, segmenter="grabcut")]
        )
    )
    assert texts[-1].endswith("intensity='auto' with percentiles 0.5 to 99.5.")


def slices_of(truth, spacing_mm):
    window = find_view_window(truth, [], [], spacing_mm)
    return [
        make_slice(axis, find_middle_slice(truth, axis), window, spacing_mm) for axis in range(3)
    ]


def test_slices_lie_through_the_middle_with_square_millimetres():
    axial, coronal, sagittal = slices_of(scans.mask_of("lesion-2"), (4.0, 1.0, 2.0))
    assert [axial.index, coronal.index, sagittal.index] == [5, 16, 11]
    assert axial.zoom[1] == pytest.approx(2 * axial.zoom[0])
    assert coronal.zoom[0] == pytest.approx(2 * coronal.zoom[1])
    assert max(axial.size) == pytest.approx(480)


def test_pictures_of_slices_are_turned_to_the_view_of_radiologists():
    axial, _, _ = slices_of(scans.mask_of("organ"), (1.0, 1.0, 1.0))
    rows, columns = axial.window[1], axial.window[2]
    volume = np.zeros(scans.mask_of("organ").shape)
    volume[axial.index, rows.stop - 1, columns.stop - 1] = 1
    crop = axial.crop(volume)
    assert crop[0, 0] == 1
    assert crop.sum() == 1


def test_slices_are_all_or_evenly_spread_and_the_middle_is_among_them():
    assert choose_slices(slice(3, 10), 5) == list(range(3, 10))
    some = choose_slices(slice(0, 100), 51)
    assert 51 in some
    assert len(some) <= 32
    assert set(np.diff(some)) == {4}


def test_the_middle_slice_holds_a_part_of_what_is_in_two_pieces():
    truth = scans.mask_of("lesion-1", "lesion-2")
    assert truth[find_middle_slice(truth, 0)].any()
    assert find_middle_slice(np.zeros_like(truth), 0) == 4


def test_contrast_of_a_volume_without_any():
    assert contrast_limits(np.full((2, 2, 2), np.nan)) == (0.0, 1.0)
    low, high = contrast_limits(np.full((2, 2, 2), 7))
    assert low < high


def test_sheets_read_the_same_in_three_formats():
    row = ("a_b", 3, Value(mean=-0.5, low=-0.75, high=-0.25, is_signed=True))
    sheet = Sheet(name="s", caption="c", head=("Name", "Count", "Loss"), rows=(row,))
    assert sheet_csv(sheet) == "Name,Count,Loss,Loss low,Loss high\na_b,3,-0.5,-0.75,-0.25\n"
    assert r"a\_b & 3 & $-$0.500 {\scriptsize [$-$0.750, $-$0.250]}" in sheet_tex(sheet)
    assert "[−0.750, −0.250]" in sheet_html(sheet)
    assert Value(mean=math.nan).text == "–"


def test_published_tables_find_their_measures_in_the_report(make):
    """The file of published figures uses the names of our tables."""
    first = make(
        [said("a", "organ", "3b-inter", [0.2]), said("a", "organ", "1-pps", [0.4])], "first"
    )
    table = find_table("radioactive:3")
    words = next(row.words for row in table.rows if row.condition == "3B Inter")
    found = look_up_measure(page_tables(page_of(read_runs([first]))), table.measures["dice"], words)
    assert found.mean == pytest.approx(0.2)
    user = "3b-inter.scribble"
    corrected = make([said("a", "organ", user, [0.2, 0.3, 0.5])], "corrected", rounds=6)
    table = find_table("radioactive:5")
    rows = [row for row in table.rows if row.words["user"] == user and row.model == "SAM"]
    told = page_tables(page_of(read_runs([corrected])))
    values = [look_up_measure(told, table.measures["dice-after"], row.words).mean for row in rows]
    assert values == pytest.approx([0.2, 0.3, 0.5, 0.5, 0.5, 0.5])
