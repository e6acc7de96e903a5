import csv
import io

import pytest
from rich.console import Console

import segarena
from segarena.errors import RunMissing, StoreError
from segarena.reports import terminal_table, write_report
from segarena.reports.general_tables import differences_sheet, timings_sheet
from segarena.reports.recorded_run import read_runs
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import escape_latex
from segarena.reports.report_files import summary_csv, summary_tex


def parsed(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def two(make_run, make_dialogue):
    def one(name, lift):
        rows = [("photo-0", 0.25), ("photo-1", 0.5)]
        return make_run(
            [make_dialogue(s, "disc-0", "centre", [v + lift]) for s, v in rows],
            name,
            segmenter={"name": name},
        )

    return [one("plain", 0.0), one("better_100%", 0.25)]


def test_csv_holds_means_intervals_and_counts(two):
    plain, better = parsed(summary_csv(read_runs(two)))
    assert (plain["segmenter"], plain["user"], plain["protocol"]) == ("plain", "centre", "careful")
    assert (plain["IoU@1"], plain["IoU@1 low"], plain["IoU@1 high"]) == ("0.375", "0.25", "0.5")
    assert (better["NoC@90"], better["NoF@90"], better["targets"], better["failures"]) == (
        "4",
        "1",
        "2",
        "0",
    )
    assert better["complete"] == "yes"


def test_csv_of_names_with_commas_and_quotes_is_read_back(make_run, make_ramps):
    path = make_run(make_ramps(('a "quoted", user',)), segmenter={"name": "x,\ny"})
    (row,) = parsed(summary_csv(read_runs([path])))
    assert (row["segmenter"], row["user"]) == ("x,\ny", 'a "quoted", user')


def test_paired_csv_holds_the_difference_of_each_statistic(two):
    rows = {row["statistic"]: row for row in parsed(sheet_csv(differences_sheet(read_runs(two))))}
    assert set(rows) == {"NoC@90", "NoF@90", "IoU@1", "AuC"}
    lifted = rows["IoU@1"]
    # Two photographs: of the four signs two give as much, and no interval leaves anything out.
    told = ("difference", "low", "high", "p_value", "better", "pairs", "independent", "matched")
    assert [lifted[name] for name in told] == ["0.25", "", "", "0.5", "1", "2", "2", "2"]
    assert lifted["baseline"] == "plain"


def test_timings_csv_holds_seconds_and_encoder_passes(two):
    first = parsed(sheet_csv(timings_sheet(read_runs(two))))[0]
    assert (
        first["rounds"],
        first["median_s"],
        first["encoder_passes"],
        first["encoder_median_s"],
    ) == (
        "2",
        "0.01",
        "2",
        "1",
    )


def test_a_mean_that_is_not_defined_is_an_empty_field(make_run, make_dialogue):
    run = make_run([make_dialogue("photo-0", "disc-0", "centre", [], failure="encode: no")])
    (row,) = parsed(summary_csv(read_runs([run])))
    assert (row["IoU@1"], row["failures"]) == ("", "1")


def test_latex_has_booktabs_rules_and_as_many_cells_as_columns(two):
    text = summary_tex(read_runs(two))
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 2
    for table in text.split(r"\begin{tabular}{")[1:]:
        columns = len(table[: table.index("}")])
        lines = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert {line.replace(r"\&", "").count("&") + 1 for line in lines} == {columns}
    assert r"better\_100\% & centre & 4.00" in text
    assert r"0.375 {\scriptsize [0.250, 0.500]}" in text
    assert r"+0.250 {\scriptsize p = 0.500}" in text
    assert r"\textbf" not in text
    assert r"\underline{0.625}" in text
    assert r"IoU@1 $\uparrow$" in text


def test_latex_of_one_run_has_no_paired_table(two):
    assert summary_tex(read_runs(two[:1])).count(r"\begin{tabular}") == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("50 % & more_", r"50 \% \& more\_"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a\nb^", r"a b\textasciicircum{}"),
    ],
)
def test_latex_prints_what_would_be_commands(text, printed):
    assert escape_latex(text) == printed


def shown(runs, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(terminal_table(runs))
    return console.file.getvalue()


def test_the_terminal_shows_statistics_intervals_and_the_protocol(two):
    text = shown(two[:1])
    assert "small, careful protocol" in text
    assert "0.375" in text
    assert "[0.250, 0.500]" in text
    assert "NoF@90" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_terminal_shows_paired_differences(two):
    text = shown(two)
    assert "better_100% − plain" in text
    assert "+0.250" in text
    assert "p = 0.500" in text


def test_the_terminal_takes_names_literally_and_cuts_none_of_many_users(make_run, make_ramps):
    users = tuple(f"[bold]user-{i}[/bold]" for i in range(9))
    text = shown([make_run(make_ramps(users), undone=["photo-9"])], width=120)
    assert all(user in text for user in users)
    assert "PARTIAL" in text


def test_a_report_needs_a_run(tmp_path):
    with pytest.raises(RunMissing, match="segarena run"):
        write_report([tmp_path / "nothing"], tmp_path / "out")


def test_a_report_cannot_be_written_into_a_file(two, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match="choose another path"):
        write_report(two, tmp_path / "taken")


def test_the_files_of_a_report_are_named(two, tmp_path):
    files = write_report(two, tmp_path / "out")
    names = [
        "report.html",
        "summary.csv",
        "summary.tex",
        "timings.csv",
        "paired.csv",
        "targets.csv",
    ]
    written = (files.html, files.csv, files.latex, files.timings, files.paired, files.targets)
    assert [f.name for f in written] == names
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == sorted(
        [*names, "made.json", "person-seconds.csv"]
    )
    assert write_report(two[:1], tmp_path / "single").paired is None


@pytest.mark.long
@pytest.mark.parametrize("has_dice", [True, False])
def test_a_further_metric_is_in_every_table_and_figure_if_all_runs_have_it(tmp_path, has_dice):
    metrics = {
        "nothing": ["dice", "surface_distance"],
        "everything": ["surface_distance", *["dice"] * has_dice],
    }
    runs = [
        segarena.evaluate(
            "clicks",
            segmenter=name,
            metrics=own,
            dataset="demo",
            limit=1,
            rounds=2,
            out=tmp_path / name,
        )
        for name, own in metrics.items()
    ]
    paths = [run.path for run in runs]
    files = write_report(paths, tmp_path / "out")
    for text in (
        files.csv.read_text(),
        files.latex.read_text(),
        files.html.read_text(),
        shown(paths),
    ):
        assert ("Dice@2" in text) == has_dice
        assert "HD95 (mm)@2" in text
    row = parsed(files.csv.read_text())[0]
    assert float(row["ASSD (mm)@2"]) > 0
    assert ("Mean Dice over targets after each click" in files.html.read_text()) == has_dice
    assert "HD95 (mm)@2 ↓" in files.html.read_text()
    assert float(parsed(files.paired.read_text())[-1]["p_value"]) == 1.0
