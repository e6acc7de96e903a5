"""The page, tables and files of rclicks runs."""

import csv
import io
import re

import polars as pl
import pytest
from rich.console import Console
from viewer_contents import viewer_contents

from segarena.registry import build
from segarena.reports import terminal_table, write_report
from segarena.reports.charts import PointCloud, scatter_chart
from segarena.reports.overlays import view_of
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.systems.clicks.page.heat_maps import click_density, heat_image
from segarena.systems.clicks.page.robustness_charts import group_colour
from segarena.systems.clicks.page.robustness_tables import robustness_files
from segarena.systems.clicks.page.robustness_wording import signed_text

USERS = ("centre", "G1", "G2", "G3", "G4")


@pytest.fixture
def dialogues(make_ramps, make_dialogue):
    """Four photographs with two targets, base user and groups, and three real and sampled clicks on
    most targets.
    """

    def make(lift=0.0):
        first = [
            make_dialogue(
                f"photo-{sample}",
                f"disc-{target}",
                user,
                [0.2 + 0.1 * repeat + 0.05 * sample],
                repeat=repeat,
            )
            for sample in range(4)
            for target in range(2 if sample else 1)
            for user in ("real", "sampled")
            for repeat in range(3)
        ]
        return make_ramps(USERS, lift=lift) + first

    return make


@pytest.fixture
def clicked(rclicks, dialogues):
    return rclicks(dialogues(), real="real", sampled="sampled")


def printed(paths, width=100):
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(terminal_table(paths))
    return console.export_text()


def test_page_has_the_sections_of_rclicks_first(clicked):
    html = report_html(page_of(read_runs([clicked], trust=True)))
    places = [
        html.index(f'<section id="{name}">') for name in ("robustness", "first", "where", "summary")
    ]
    assert places == sorted(places)
    assert "orrelations" not in html
    assert "1 target of disc" in html


def test_page_shows_clicks_and_mean_masks(clicked):
    html = report_html(page_of(read_runs([clicked], trust=True)))
    where = html[html.index('<section id="where">') : html.index('<section id="summary">')]
    assert where.count('<article class="card"') == 6
    contents = viewer_contents(where)
    assert len(contents) == 6
    for content in contents:
        panes = {pane["label"]: pane for pane in content["dialogues"]}
        assert panes["real people"]["captions"] == ["3 clicks"]
        assert re.fullmatch(r"IoU 0\.\d\d ± 0\.\d\d", panes["disc"]["captions"][0])
        assert [pane["heat"].startswith("data:image/png") for pane in panes.values()].count(
            True
        ) == 3
    assert "6 of 7 targets are shown" in where


def test_what_half_of_the_predictions_hold_is_outlined_beside_the_target(clicked):
    html = report_html(page_of(read_runs([clicked], trust=True)))
    where = html[html.index('<section id="where">') : html.index('<section id="summary">')]
    content = viewer_contents(where)[0]
    (pane,) = [pane for pane in content["dialogues"] if pane["label"] == "disc"]
    assert pane["stored"] == [1]
    layers = content["planes"][0]["layers"]
    assert layers["target"][0]["1"].startswith("M")
    assert layers[f"{pane['number']}.1"][0]["1"].startswith("M")


def test_page_without_real_clicks_says_so_and_shows_the_groups(rclicks, make_ramps):
    html = report_html(page_of(read_runs([rclicks(make_ramps(USERS))], trust=True)))
    assert "No real clicks were given" in html
    assert "one click of each group" in html
    assert '"label":"real people"' not in html


def test_page_of_other_benchmarks_has_none_of_it(make_run, make_ramps):
    html = report_html(page_of(read_runs([make_run(make_ramps())], trust=True)))
    assert '<section id="robustness">' not in html


def test_page_without_groups_or_base_user_says_who_is_missing(rclicks, make_ramps):
    html = report_html(page_of(read_runs([rclicks(make_ramps(("G1", "G4")))], trust=True)))
    assert "made without G2, G3, centre" in html


@pytest.mark.long
def test_page_says_when_first_predictions_were_not_kept(rclicks, make_ramps):
    html = report_html(page_of(read_runs([rclicks(make_ramps(USERS), "bare")], trust=True)))
    assert "were not kept" not in html
    html = report_html(
        page_of(read_runs([rclicks(make_ramps(USERS), "kept-last", masks=False)], trust=True))
    )
    assert "Mean masks are missing, because some predictions" in html


def test_page_survives_data_that_are_gone(rclicks, dialogues):
    dataset = {"name": "nowhere/gone.py:Gone", "fingerprint": "x"}
    html = report_html(
        page_of(
            read_runs(
                [rclicks(dialogues(), real="real", sampled="sampled", dataset=dataset)], trust=True
            )
        )
    )
    assert "No photographs" in html
    assert '<article class="scene"' not in html


def test_page_of_one_instance(rclicks, make_ramps):
    path = rclicks(make_ramps(USERS, samples=1, targets=1))
    assert '<section id="robustness">' in report_html(page_of(read_runs([path], trust=True)))
    assert "[" not in printed([path]).split("base user")[0].split("careful protocol;")[1]


def test_page_escapes_what_comes_from_outside(rclicks, make_dialogue):
    hostile = "\"'><script>alert(1)</script>"
    said = [make_dialogue("photo-0", "disc-0", user, [0.5] * 4, label=hostile) for user in USERS]
    html = report_html(
        page_of(
            read_runs(
                [rclicks(said, segmenter=hostile, click_model={"written": hostile})], trust=True
            )
        )
    )
    assert "<script>alert" not in html


@pytest.mark.long
def test_files_are_the_same_for_the_same_records(clicked, tmp_path):
    first, second = (
        write_report([clicked], tmp_path / name, trust=True) for name in ("one", "two")
    )
    names = ["robustness.csv", "robustness.tex", "first-clicks.csv", "instances.csv"]
    assert [path.name for path in first.further] == names
    for one, two in zip(first.further, second.further, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert first.html.read_bytes() == second.html.read_bytes()


@pytest.mark.long
def test_tables_agree_with_one_another(clicked, tmp_path):
    files = write_report([clicked], tmp_path / "report", trust=True)
    (noc,) = pl.read_csv(files.further[0]).filter(statistic="NoC@90").iter_rows(named=True)
    summary = {row["user"]: row["NoC@90"] for row in pl.read_csv(files.csv).iter_rows(named=True)}
    assert set(summary) == set(USERS)
    assert noc["base"] == pytest.approx(summary["centre"], rel=1e-5)
    assert noc["sample"] == pytest.approx(sum(summary[g] for g in USERS[1:]) / 4, rel=1e-5)
    rows = list(csv.DictReader(io.StringIO(files.further[2].read_text())))
    assert [row["clicks_of"] for row in rows] == ["base", "groups", "real", "sampled"]
    assert {row["without"] for row in rows} == {"1"}
    assert pl.read_csv(files.further[3])["nsr"].is_sorted(descending=True)


@pytest.mark.long
def test_three_segmenters_have_correlations(rclicks, dialogues):
    lifts = {"a": 0.0, "b": 0.05, "c": 0.2}
    paths = [
        rclicks(dialogues(lift), n, segmenter=n, real="real", sampled="sampled")
        for n, lift in lifts.items()
    ]
    runs = read_runs(paths, trust=True)
    assert "correlations.csv" in robustness_files(runs)
    html = report_html(page_of(runs))
    assert "Correlations need" not in html
    assert "Spearman below the diagonal" in html


def test_latex_has_a_line_per_statistic_and_segmenter(clicked):
    text = robustness_files(read_runs([clicked], trust=True))["robustness.tex"]
    assert text.count("\\begin{tabular}") == 2
    assert "NoC@90 & disc & Photographs & " in text
    assert "$\\pm$" in text
    assert "–" not in text
    assert "−" not in text


def test_terminal_prints_groups_and_first_clicks_before_the_base_user(clicked):
    text = printed([clicked], width=80)
    assert max(map(len, text.splitlines())) <= 80
    for word in (
        "disc on Photographs",
        "sample",
        "± std",
        "ASB",
        "AGR",
        "AHH",
        "real people",
        "minus real",
    ):
        assert word in text
    assert text.index("AHH") < text.index("real people") < text.rindex("base user")
    assert "G1 " not in text.split("each dialogue")[1]


def test_mode_tells_the_protocol(rclicks, make_ramps):
    assert "AHH of the merged halves" in " ".join(
        printed([rclicks(make_ramps(USERS), "ours")]).split()
    )
    text = " ".join(printed([rclicks(make_ramps(USERS), "theirs", protocol="published")]).split())
    assert "AHH group by group" in text
    assert "only in the last round counts as failed" in text


def test_groups_spread_over_the_palette():
    assert [group_colour(place, 10) for place in range(10)] == [f"g{k}" for k in range(1, 11)]
    assert [group_colour(place, 4) for place in range(4)] == ["g1", "g4", "g7", "g10"]
    assert group_colour(0, 1) == "g1"


def test_density_is_highest_where_most_clicks_are():
    view = view_of((90, 120), [(slice(0, 90), slice(0, 120))], [])
    heat = click_density([(20, 30), (20, 30), (70, 100)], (90, 120), view)
    assert heat.max() == heat[20, 30] == 1
    assert heat[70, 100] == pytest.approx(0.5, abs=0.01)
    assert click_density([], (90, 120), view).max() == 0
    assert "data:image/png" in heat_image(heat, view, is_fading=True)


def test_numbers_stand_beside_marked_points():
    cloud = PointCloud(
        label="x", colour=0, x=[0.1, 0.2], y=[0.5, 0.6], names=["a", "b"], notes=["", "7"]
    )
    chart = scatter_chart([cloud], title="t", x_label="x", y_label="y", x_range=(0, 1))
    assert chart.count('class="note c0 d0"') == 1
    assert ">7</text>" in chart


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "+0.123"), (-0.1, "−0.100"), (-0.0001, "0.000"), (0.0, "0.000"), (float("nan"), "–")],
)
def test_signs(value, text):
    assert signed_text(value, 3) == text


def test_the_real_benchmark_names_its_users_as_the_report_reads_them():
    options = build("benchmark", "rclicks").options
    assert options["base"] == "centre"
    assert [group["user"] for group in options["groups"]] == [f"G{k}" for k in range(1, 11)]
    assert {"real", "sampled", "solved_at_last", "click_model"} <= set(options)


def test_what_sees_no_image_is_a_thin_line_below_the_groups(rclicks, make_ramps):
    paths = [
        rclicks(make_ramps(USERS, lift=lift), name, segmenter=name)
        for name, lift in (("a", 0.1), ("image-blind", 0))
    ]
    own = page_of(read_runs(paths))
    html = report_html(own)
    groups = html.partition('<section id="robustness">')[2].partition("</section>")[0]
    assert re.findall(r'class="end floor d0">([^<\d]*) [\d.]+<', groups) == ["image-blind"]
    assert "image-blind" not in str(own.sheets["robustness"].rows)
