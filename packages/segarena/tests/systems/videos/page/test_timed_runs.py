import csv
import io
import re

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import segarena
from segarena.engine.run_folder import RunFolder
from segarena.prompts import Scribble
from segarena.published import find_table
from segarena.registry import build
from segarena.reports import terminal_table, write_report
from segarena.reports.chart_series import Figure
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.systems.videos.measures.jaccard_contour import jaccard_contour
from segarena.systems.videos.page.davis_report import (
    DavisPage,
    challenge_sheet,
    quality_charts,
    sequence_sheet,
)
from segarena.systems.videos.page.timed_runs import timed_runs
from segarena.systems.videos.page.video_pictures import kept_labels, shown_frames

FRAMES = 5


class Shifted:
    """Answers with the target, some pixels to the right; fewer in later rounds."""

    sample_kinds = frozenset({"video"})
    prompt_kinds = frozenset({"scribble"})

    def __init__(self, dataset, most):
        self.dataset, self.most = dataset, most

    def encode(self, sample):
        return self.dataset.load(sample.id).targets[0].mask

    def shift(self, round_):
        return self.most - 2 * round_

    def predict(self, encoded, dialogues):
        return [
            np.roll(encoded, self.shift(len(dialogue.rounds)), axis=2) for dialogue in dialogues
        ]


@pytest.fixture(scope="module")
def dataset():
    return build("dataset", f"demo-videos(size=(60, 90), frames={FRAMES})")


@pytest.fixture(scope="module")
def folders(dataset, tmp_path_factory):
    """Two runs over the four videos, three interactions each."""
    paths = []
    for name, most in (("near", 8), ("far", 12)):
        path = tmp_path_factory.mktemp("davis") / name
        written = f"demo-videos(size=(60, 90), frames={FRAMES})"
        segarena.evaluate(
            "davis",
            segmenter=Shifted(dataset, most),
            dataset=written,
            rounds=3,
            out=path,
            name=name,
        )
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def timed(folders):
    return timed_runs(read_runs(folders))


def objects_quality(dataset, shift):
    """Return J&F of every object of all videos, averaged over frames."""
    values = []
    for sample_id in dataset.sample_ids:
        target = dataset.load(sample_id).targets[0].mask
        found = jaccard_contour(np.roll(target, shift, axis=2), target)
        values += (0.5 * found.jaccard + 0.5 * found.contour).mean(axis=1).tolist()
    return values


@pytest.mark.long
def test_quality_is_the_mean_over_all_objects(timed, dataset):
    for one, most in zip(timed, (8, 12), strict=True):
        wanted = [np.mean(objects_quality(dataset, most - 2 * round_)) for round_ in (1, 2, 3)]
        assert one.summary.by_round == pytest.approx(wanted)


def test_time_is_that_of_answers_and_encoding(timed):
    timings = timed[0].run.folder.timings()
    mean = timings["predict_s"].sum() / 4
    assert timed[0].summary.time_s[3] == pytest.approx(mean)
    objects = sum(score.objects for score in timed[0].scores("jaccard"))
    assert timed[0].summary.time_s[-1] == pytest.approx(240 * objects / 4)


def test_the_table_has_a_row_for_each_run_and_names_the_rules(timed):
    sheet = challenge_sheet(timed)
    rows = [dict(zip(sheet.keys, row, strict=True)) for row in sheet.rows]
    assert [row["Segmenter"] for row in rows] == ["near", "far"]
    assert [column.heading for column in sheet.columns if "@3" in column.heading] == [
        "J&F@3 over objects"
    ]
    assert (rows[0]["Robot"], rows[0]["Frame by"], rows[0]["Protocol"]) == (
        "local-1.0.4",
        "J&F",
        "careful",
    )
    assert rows[0]["J&F@60s"].mean == pytest.approx(timed[0].summary.at_threshold)
    assert rows[0]["J&F@3"].low <= rows[0]["J&F@3"].mean <= rows[0]["J&F@3"].high
    assert (rows[0]["Samples"], rows[0]["Too late"]) == (4, 0)


def test_sequences_have_their_own_values(timed, dataset):
    sheet = sequence_sheet(timed)
    row = dict(zip(sheet.head, sheet.rows[1], strict=True))
    target = dataset.load("crossing").targets[0].mask
    found = jaccard_contour(np.roll(target, 6, axis=2), target)
    assert (row["Sequence"], row["Segmenter"], row["Objects"]) == ("crossing", "far", 2)
    assert row["J@3"].mean == pytest.approx(found.jaccard.mean())
    assert row["F@3"].mean == pytest.approx(found.contour.mean())


@pytest.mark.long
def test_the_page_has_curves_tables_and_strips_with_nothing_from_outside(folders, tmp_path):
    files = write_report(folders, tmp_path)
    page = files.html.read_text(encoding="utf-8")
    assert '<section id="time"><h2>Quality against time</h2>' in page
    assert '<section id="sequences">' in page
    assert page.count("J&amp;F of each frame after interaction") == 2 * 4 * 3
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", page)
    assert "cannot be shown" not in page


def test_a_segmenter_has_the_colour_of_its_run_whoever_else_is_drawn(folders):
    runs = read_runs(folders)
    alone = quality_charts([one for one in timed_runs(runs) if one.run.label == "far"], runs)
    assert set(re.findall(r'class="end (c\d) d\d"[^>]*>(\w+)<', alone.html)) == {("c1", "far")}


@pytest.mark.long
def test_what_sees_no_image_is_a_thin_line_beside_interactions_and_in_no_table(folders, tmp_path):
    written = f"demo-videos(size=(60, 90), frames={FRAMES})"
    segarena.evaluate(
        "davis", segmenter="image-blind", dataset=written, rounds=3, limit=1, out=tmp_path / "blind"
    )
    own = DavisPage(read_runs([*folders, tmp_path / "blind"]))
    section = own.sections()[0]
    drawn = next(part for part in section.parts if isinstance(part, Figure))
    against_time, against_interactions = (chart for _, chart in drawn.charts)
    assert "floor" not in against_time
    assert re.findall(r'class="end floor d0">([^<]*)<', against_interactions) == ["image-blind"]
    assert {row[0] for row in own.sheets["time"].rows} == {"near", "far"}


def test_the_files_hold_the_challenges_table_and_the_curve(folders):
    files = DavisPage(read_runs(folders)).files()
    frames = pl.read_csv(io.StringIO(files["davis-frames.csv"]))
    assert frames.columns[:6] == [
        "session_id",
        "sequence",
        "scribble_idx",
        "interaction",
        "object_id",
        "frame",
    ]
    assert set(frames["session_id"]) == {"near", "far"}
    curve = list(csv.DictReader(io.StringIO(files["davis-curve.csv"])))
    assert [row["segmenter"] for row in curve] == ["near"] * 5 + ["far"] * 5
    assert curve[0]["j_and_f"] == "0.0"
    assert "near" in files["davis.tex"]


def test_the_terminal_begins_with_the_challenges_values(folders, timed):
    console = Console(width=100, record=True)
    console.print(terminal_table(folders))
    text = console.export_text()
    assert re.search(
        r"J&F@60s ↑ +"
        + f"{timed[0].summary.at_threshold:.3f} +{timed[1].summary.at_threshold:.3f}",
        text,
    )
    assert text.index("AUC") < text.index("AuC over interactions")
    assert text.index("Quality is averaged over objects") < text.index("AUC")


@pytest.mark.long
def test_answers_that_came_too_late_are_counted_and_samples_without_any_count_nothing(
    dataset, tmp_path
):
    rules = build("benchmark", "davis(seconds_per_object=1e-9)")
    written = f"demo-videos(size=(60, 90), frames={FRAMES})"
    segarena.evaluate(
        rules,
        segmenter=Shifted(dataset, 8),
        dataset=written,
        rounds=3,
        limit=2,
        out=tmp_path / "late",
    )
    runs = read_runs([tmp_path / "late"])
    assert RunFolder.open(tmp_path / "late").records().height == 0
    # Encoding alone took longer than that, so nobody was asked anything.
    (one,) = timed_runs(runs)
    assert one.dropped == 0
    assert [score.objects for score in one.scores("jaccard")] == [2, 3]
    assert one.summary.quality.tolist() == [0] * 5
    assert len(DavisPage(runs).sections()) == 2
    slow = Slow(dataset, 8)
    rules = build("benchmark", "davis(seconds_per_object=0.8)")
    segarena.evaluate(
        rules, segmenter=slow, dataset=written, rounds=3, limit=1, out=tmp_path / "slow"
    )
    (one,) = timed_runs(read_runs([tmp_path / "slow"]))
    assert one.dropped == 1
    assert one.summary.by_round.tolist() == [0, 0, 0]
    assert one.summary.samples == 1
    assert one.scores("contour")[0].objects == 2


class Slow(Shifted):
    """Takes longer than two objects may."""

    def predict(self, encoded, dialogues):
        import time

        time.sleep(2)
        return super().predict(encoded, dialogues)


def test_kept_predictions_have_all_objects(timed, dataset):
    run = timed[0].run
    key = run.dialogues[1].key
    kept = kept_labels(run, key)
    assert sorted(kept) == [1, 2, 3]
    target = dataset.load(key[0]).targets[0].mask
    assert np.array_equal(kept[2], np.roll(target, 4, axis=2))


def test_shown_frames_are_all_or_those_drawn_in_and_others_between():
    line = Scribble(points=((7.0, 1.0, 1.0), (7.0, 2.0, 2.0)))
    assert shown_frames(3, [[]]) == [0, 1, 2]
    assert shown_frames(24, [[line]]) == list(range(24))
    many = shown_frames(240, [[line], [line]])
    assert len(many) == 24
    assert {0, 7, 239} <= set(many)
    assert max(np.diff(many)) <= 12


class FailsForOne(Shifted):
    """Raises in the second round of the dialogue that began in frame 0."""

    def predict(self, encoded, dialogues):
        if any(len(d.rounds) == 2 and d.rounds[0][0].points[0][0] == 0 for d in dialogues):
            raise RuntimeError("not this one")
        return super().predict(encoded, dialogues)


class FirstFrame:
    """Draws like the robot, but begins in frame 0."""

    prompt_kinds = frozenset({"scribble"})
    corrects_objects = True

    def next(self, turn):
        robot = build("user", "scribble-robot(preset='server-2020')")
        prompts = robot.next(turn)
        if turn.round > 1:
            return prompts
        return [segarena.Scribble(((0.0, 20.0, 20.0), (0.0, 22.0, 25.0)), object_id=1)]


def test_a_failure_with_one_user_leaves_the_others_alone(dataset, tmp_path):
    users = ["robot=scribble-robot", f"mine={__file__}:FirstFrame"]
    segarena.evaluate(
        "davis",
        segmenter=FailsForOne(dataset, 8),
        dataset=f"demo-videos(size=(60, 90), frames={FRAMES})",
        users=users,
        rounds=2,
        limit=1,
        out=tmp_path / "run",
    )
    robot, mine = timed_runs(read_runs([tmp_path / "run"]))
    assert [len(one.scores("jaccard")) for one in (robot, mine)] == [1, 0]
    assert (robot.dropped, mine.dropped) == (0, 0)
    assert robot.label.endswith(", robot")


def test_published_tables_find_their_measures_in_the_report(folders, timed):
    """The file of published figures uses the names of our tables."""
    table = find_table("davis:val")
    told = page_tables(page_of(read_runs(folders[:1])))
    found = {
        name: look_up_measure(told, measure, {}).mean for name, measure in table.measures.items()
    }
    assert found == {"auc": timed[0].summary.auc, "at-60s": timed[0].summary.at_threshold}
