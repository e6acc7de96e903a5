import csv
import json
import random
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from segarena.engine.run_folder import RunFolder
from segarena.errors import (
    DatasetMissing,
    InvalidInput,
    PredictionInvalid,
    ProtocolViolation,
    RunConflict,
    StoreError,
)
from segarena.reports import write_report
from segarena.samples import Target
from segarena.systems.videos.measures.challenge_report import REPORT_COLUMNS
from segarena.systems.videos.measures.jaccard_contour import jaccard_contour
from segarena.systems.videos.scribbles.files import check_scribbles, frames_with_lines
from segarena.systems.videos.session.davis import DavisInteractiveSession

from .conftest import FRAMES, HEIGHT, WIDTH, Videos, drawn, labels


def answer_all(session, masks_of, clock, seconds=2.0):
    """Answer every interaction after `seconds`; return (sequence, new, annotated frames of what was given)."""
    seen = []
    for sequence, scribbles, is_new in session.scribbles_iterator(only_last=True):
        check_scribbles(scribbles, frames=FRAMES, sequence=sequence)
        seen.append((sequence, is_new, frames_with_lines(scribbles)))
        clock.now += seconds
        session.submit_masks(masks_of(sequence))
    return seen


def test_every_sample_has_its_interactions_and_begins_with_what_people_drew(
    open_session, masks_of, clock
):
    with open_session() as session:
        seen = answer_all(session, masks_of, clock)
        assert session.next() is False
    assert [sequence for sequence, _, _ in seen] == ["one"] * 6 + ["two"] * 3
    assert [number for number, (_, is_new, _) in enumerate(seen) if is_new] == [0, 3, 6]
    assert (seen[0][2], seen[3][2]) == ((1,), (3,))
    # All frames are equally bad, so the robot draws in the first ones, whatever people drew in.
    assert [frames for _, _, frames in seen[1:3] + seen[4:6]] == [(0,), (1,)] * 2


def test_what_people_drew_is_given_as_it_is_and_cannot_be_changed(open_session):
    with open_session() as session:
        assert session.next()
        _, scribbles, _ = session.get_scribbles()
        assert scribbles == drawn("one", 1, 1)
        scribbles["scribbles"][1].clear()
        session.submit_masks(np.roll(labels(1), 4, axis=2))
        assert session.next()
        _, scribbles, is_new = session.get_scribbles()
        assert not is_new
        assert frames_with_lines(scribbles) == (0, 1)
        assert scribbles["scribbles"][1] == drawn("one", 1, 1)["scribbles"][1]


def test_the_report_holds_the_metrics_of_every_object_and_frame(open_session, masks_of, clock):
    with open_session() as session:
        answer_all(session, masks_of, clock, seconds=2.5)
        report = pl.DataFrame({name: list(session.get_report()[name]) for name in REPORT_COLUMNS})
    assert list(report.columns) == list(REPORT_COLUMNS)
    assert report.height == 3 * 2 * FRAMES * 1 + 3 * FRAMES * 2
    assert set(report["timing"]) == {2.5}
    assert re.fullmatch("[0-9a-f]{64}", report["session_id"][0])
    values = jaccard_contour(masks_of("two"), labels(2))
    rows = report.filter(pl.col("sequence") == "two", pl.col("interaction") == 2)
    assert rows["frame"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert rows["object_id"].to_list() == [1, 2] * FRAMES
    assert rows["jaccard"].to_numpy() == pytest.approx(values.jaccard.T.ravel())
    assert rows["contour"].to_numpy() == pytest.approx(values.contour.T.ravel())


def test_the_summary_is_that_of_the_report_by_hand(open_session, masks_of, clock, tmp_path):
    with open_session(max_time=30) as session:
        with pytest.warns(UserWarning, match="no summary yet"):
            assert session.get_global_summary() == {}
        for number, (sequence, _, _) in enumerate(session.scribbles_iterator()):
            clock.now += 5 if number % 3 == 0 else 10
            session.submit_masks(masks_of(sequence, shift=6 - 2 * (number % 3)))
        summary = session.get_global_summary(save_file=tmp_path / "summary.json")
    quality = [0.0]
    for shift in (6, 4, 2):
        one, two = (jaccard_contour(np.roll(labels(n), shift, axis=2), labels(n)) for n in (1, 2))
        objects = [
            0.5 * (v.jaccard[k].mean() + v.contour[k].mean())
            for v, k in ((one, 0), (one, 0), (two, 0), (two, 1))
        ]
        quality.append(np.mean(objects))
    times = [0, 5, 15, 25, 30 * 4 / 3]  # one, one and two objects
    quality.append(quality[-1])
    area = sum(
        (b - a) * (p + q) / 2
        for a, b, p, q in zip(times, times[1:], quality, quality[1:], strict=False)
    )
    assert summary["curve"]["time"] == pytest.approx(times)
    assert summary["curve"]["J_AND_F"] == pytest.approx(quality)
    assert summary["auc"] == pytest.approx(area / 40)
    assert summary["metric_at_threshold"] == {
        "threshold": 60.0,
        "J_AND_F": pytest.approx(quality[-1]),
    }
    assert summary["segarena"]["samples"] == 3
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_an_answer_after_the_time_is_dropped_and_the_next_sample_begins(
    open_session, masks_of, clock
):
    with open_session(max_time=10) as session:
        session.next()
        session.get_scribbles()
        clock.now += 6
        session.submit_masks(masks_of("one"))
        session.next()
        session.get_scribbles()
        clock.now += 4.1
        with pytest.warns(UserWarning, match="time limit of 10 s for 1 objects was over"):
            session.submit_masks(masks_of("one"))
        assert session.next()
        sequence, scribbles, is_new = session.get_scribbles()
        assert (sequence, is_new, frames_with_lines(scribbles)) == ("one", True, (3,))
        assert list(session.get_report()["interaction"]) == [1] * FRAMES


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["careful", "published"])
def test_by_time_alone_there_are_as_many_interactions_as_there_is_time_for(
    open_session, masks_of, clock, tmp_path, protocol
):
    with open_session(
        max_time=10, max_nb_interactions=None, sequences=["two"], protocol=protocol
    ) as session:
        with pytest.warns(UserWarning, match="time limit of 20 s for 2 objects was over"):
            answer_all(session, masks_of, clock, seconds=1.0)
        summary = session.get_global_summary()
    assert session.get_report()["interaction"].max() == 20
    assert summary["curve"]["time"] == [*range(21), 20]
    page = write_report([session.folder], tmp_path / "page").html.read_text(encoding="utf-8")
    assert "J&amp;F@end" in page
    assert "@1000" not in page


def test_two_objects_have_twice_the_time(open_session, masks_of, clock):
    with open_session(max_time=10, sequences=["two"], max_nb_interactions=1) as session:
        session.next()
        session.get_scribbles()
        clock.now += 20
        session.submit_masks(masks_of("two"))
        assert len(session.get_report()) == 2 * FRAMES


def test_time_between_answers_counts_and_ends_the_sample_in_next(open_session, masks_of, clock):
    with open_session(max_time=10) as session:
        session.next()
        clock.now += 4
        session.get_scribbles()
        clock.now += 1
        session.submit_masks(masks_of("one"))
        assert set(session.get_report()["timing"]) == {1.0}
        clock.now += 5.5
        session.next()
        assert frames_with_lines(session.get_scribbles()[1]) == (3,)


def test_a_sample_is_given_up_when_its_time_is_over_without_an_answer(
    open_session, masks_of, clock
):
    with open_session(max_time=10, sequences=["one"]) as session:
        session.next()
        session.get_scribbles()
        clock.now += 10
        assert session.next()  # exactly the time is not over: the same scribbles still wait
        with pytest.raises(ProtocolViolation, match="no masks for the last scribbles"):
            session.get_scribbles()
        clock.now += 0.1
        assert session.next()
        sequence, scribbles, is_new = session.get_scribbles()
        assert (sequence, is_new, frames_with_lines(scribbles)) == ("one", True, (3,))
        session.submit_masks(masks_of("one", shift=0))
        assert session.get_report()["scribble_idx"].unique().to_list() == [2]
    with open_session(max_time=10, sequences=["one"]) as again:
        assert not again.next()  # given up stays given up
        assert again.get_report()["scribble_idx"].unique().to_list() == [2]


def test_a_sample_never_answered_in_time_counts_nothing(open_session, masks_of, clock):
    with open_session(max_time=10, sequences=["one"]) as session:
        session.next()
        session.get_scribbles()
        clock.now += 11
        with pytest.warns(UserWarning, match="dropped"):
            session.submit_masks(masks_of("one", shift=0))
        session.next()
        session.get_scribbles()
        clock.now += 1
        session.submit_masks(masks_of("one", shift=0))
        assert not session.next()
        assert session.get_global_summary()["curve"]["J_AND_F"] == [0, 0.5, 0.5, 0.5, 0.5]


def test_a_robot_with_nothing_to_draw_ends_the_sample(open_session, masks_of, clock):
    with open_session() as session:
        counts = {}
        for sequence, _, is_new in session.scribbles_iterator():
            counts[sequence] = counts.get(sequence, 0) + 1
            assert is_new
            session.submit_masks(masks_of(sequence, shift=0))
    assert counts == {"one": 2, "two": 1}


def test_candidates_are_where_the_robot_draws_and_impossible_ones_are_left_out(
    open_session, masks_of
):
    def frame_after(session, candidates):
        session.submit_masks(masks_of("two"), next_scribble_frame_candidates=candidates)
        session.next()
        return frames_with_lines(session.get_scribbles(only_last=True)[1])

    with open_session(sequences=["two"], max_nb_interactions=6) as session:
        session.next()
        (first,) = frames_with_lines(session.get_scribbles()[1])
        assert first == 0
        with pytest.warns(
            UserWarning, match=r"expected frame indices 0 to 3, ignored \[99, -1, 4\]"
        ):
            assert frame_after(session, [99, 3, -1, 4]) == (3,)
        with pytest.raises(InvalidInput, match="expected frame indices"):
            session.submit_masks(masks_of("two"), next_scribble_frame_candidates=[0.5])
        with pytest.raises(InvalidInput, match="expected frame indices"):
            session.submit_masks(masks_of("two"), next_scribble_frame_candidates=[[1], [2, 3]])
        assert frame_after(session, np.array([3, 2])) == (2,)
        assert frame_after(session, []) == (1,)
        with pytest.warns(UserWarning, match=r"ignored \[77\]"):
            assert len(frame_after(session, [77])) == 1  # all were used; the session goes on


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        (np.zeros((FRAMES, HEIGHT, WIDTH + 1), np.uint8), "expected a mask of shape"),
        (np.zeros((FRAMES - 1, HEIGHT, WIDTH), np.uint8), "expected a mask of shape"),
        (np.full((FRAMES, HEIGHT, WIDTH), 3), "object ids 0 to 2, got 3"),
        (np.full((FRAMES, HEIGHT, WIDTH), 3.0), "object ids 0 to 2, got 3"),
        (np.full((FRAMES, HEIGHT, WIDTH), np.inf), "infinity"),
        ([[0], [0, 0]], "expected one array of object ids"),
        (np.full((FRAMES, HEIGHT, WIDTH), -1), "labels 0..255"),
        (np.full((FRAMES, HEIGHT, WIDTH), 0.5), "labels 0..255"),
        (np.full((FRAMES, HEIGHT, WIDTH), np.nan), "NaN"),
        ("mask", "expected a mask of shape"),
    ],
)
def test_impossible_masks_are_refused_and_the_session_goes_on(
    open_session, masks_of, clock, masks, expected
):
    with open_session(sequences=["two"], max_nb_interactions=1) as session:
        session.next()
        session.get_scribbles()
        clock.now += 1
        with pytest.raises(PredictionInvalid, match=expected):
            session.submit_masks(masks)
        clock.now += 1
        session.submit_masks(masks_of("two"))
        assert set(session.get_report()["timing"]) == {2.0}
        assert not session.next()


def test_calls_out_of_order_are_refused_and_the_session_goes_on(open_session, masks_of):
    with pytest.raises(ProtocolViolation, match="was not entered"):
        open_session().next()
    with open_session(max_nb_interactions=1) as session:
        with pytest.raises(RuntimeError, match=r"call next\(\) first"):
            session.get_scribbles()
        session.next()
        with pytest.raises(RuntimeError, match=r"call get_scribbles\(\) first"):
            session.submit_masks(masks_of("one"))
        assert session.next()  # asking again changes nothing
        session.get_scribbles()
        with pytest.raises(RuntimeError, match="no masks for the last scribbles"):
            session.get_scribbles()
        assert session.next()
        session.submit_masks(masks_of("one"))
        with pytest.raises(RuntimeError, match=r"call get_scribbles\(\) first"):
            session.submit_masks(masks_of("one"))
        with pytest.raises(RuntimeError, match=r"call next\(\) first"):
            session.get_scribbles()
        assert session.next()


def test_a_session_that_was_left_refuses_calls_until_it_is_entered_again(
    open_session, masks_of, tmp_path
):
    session = open_session(sequences=["two"], max_nb_interactions=2)
    with session:
        session.next()
        session.get_scribbles()
        session.submit_masks(masks_of("two"))
    for call in (
        session.next,
        session.get_scribbles,
        lambda: session.submit_masks(masks_of("two")),
    ):
        with pytest.raises(ProtocolViolation, match="was left"):
            call()
    with session:
        assert session.next()
        assert session.get_scribbles()[2]
        session.submit_masks(masks_of("two"))
        assert not session.next()
    assert len(session.get_report()) == 2 * FRAMES * 2
    with pytest.raises(StoreError, match="cannot be written"):
        session.get_global_summary(save_file=__file__ + "/summary.json")
    assert "auc" in session.get_global_summary(save_file=tmp_path / "new" / "summary.json")


def test_an_answer_is_on_disk_when_it_was_taken(open_session, masks_of, tmp_path):
    with open_session(sequences=["two"]) as session:
        for count in (1, 2):
            session.next()
            session.get_scribbles()
            session.submit_masks(masks_of("two"))
            assert (
                len((tmp_path / "session" / "submissions.jsonl").read_text().splitlines()) == count
            )
            (report,) = (tmp_path / "session").glob("result_*.tmp.csv")
            assert len(report.read_text().splitlines()) == 1 + count * FRAMES * 2


def test_sessions_that_begin_at_once_have_reports_of_their_own(
    open_session, masks_of, clock, tmp_path
):
    for name in ("first", "second", "third"):
        with open_session(folder=tmp_path / name, report_save_dir=tmp_path / "reports") as session:
            if name != "second":  # which is left under way
                answer_all(session, masks_of, clock)
    assert len(list((tmp_path / "reports").glob("result_*.csv"))) == 3
    whole = [
        path for path in (tmp_path / "reports").glob("result_*.csv") if ".tmp" not in path.name
    ]
    assert len({pl.read_csv(path)["session_id"][0] for path in whole}) == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"host": "https://server"}, "expected https://host/challenges/NAME"),
        ({"max_nb_interactions": None}, "at least one of them"),
        ({"max_time": 0}, "max_time: expected a number above 0"),
        ({"max_time": "240"}, "max_time: expected a number above 0, got '240'"),
        ({"max_nb_interactions": 2.5}, "whole number above 0, got 2.5"),
        ({"shuffle": True, "seed": -1}, "seed: expected a whole number of at least 0"),
        ({"metric_to_optimize": "IoU"}, "'J', 'F', 'J_AND_F'"),
        ({"protocol": "mine"}, "'careful', 'published'"),
        ({"davis_root": "x"}, "got both"),
        ({"dataset": None}, "DATASET_DAVIS"),
        ({"dataset": None, "davis_root": "x", "subset": "test-dev"}, "a server evaluates"),
    ],
)
def test_impossible_arguments_are_value_errors(open_session, monkeypatch, options, expected):
    monkeypatch.delenv("DATASET_DAVIS", raising=False)
    with pytest.raises(ValueError, match=expected):
        open_session(**options)


def test_limits_above_the_largest_are_set_to_it(open_session):
    with pytest.warns(UserWarning, match="700 exceeds the limit; 600"):
        session = open_session(max_time=700)
    with pytest.warns(UserWarning, match="20 exceeds the limit; 16"):
        assert open_session(max_nb_interactions=20)._plan.benchmark.rounds == 16
    assert session._plan.benchmark.options["seconds_per_object"] == 600
    with pytest.raises(DatasetMissing, match="no sequence three"):
        open_session(sequences=["three"])


def test_the_order_is_drawn_from_the_seed(open_session, tmp_path):
    def first(seed):
        with open_session(shuffle=True, seed=seed, folder=tmp_path / f"session-{seed}") as session:
            session.next()
            return session.get_scribbles()[0]

    names = [first(seed) for seed in range(8)]
    assert set(names) == {"one", "two"}
    assert names == [first(seed) for seed in range(8)]


def play(session, masks_of, clock, most=None):
    """Answer up to `most` interactions, each slightly differently; return the scribbles."""
    shown = []
    while (most is None or len(shown) < most) and session.next():
        sequence, scribbles, _ = session.get_scribbles()
        shown.append((sequence, scribbles))
        clock.now += 3
        session.submit_masks(
            masks_of(sequence, shift=3 + len(scribbles["scribbles"][0])), [0, 1, 3]
        )
    return shown


# Before the first interaction, between two dialogues, within one, and after the last interaction.
KILLED_AFTER = (0, 3, 4, 9)


@pytest.mark.long
@pytest.mark.parametrize(
    "after",
    [
        number if number in KILLED_AFTER else pytest.param(number, marks=pytest.mark.long)
        for number in range(10)
    ],
)
def test_a_session_that_was_killed_goes_on_and_comes_to_the_same(
    open_session, masks_of, clock, tmp_path, after
):
    with open_session(
        folder=tmp_path / "whole", max_time=30, report_save_dir=tmp_path / "a"
    ) as session:
        shown = play(session, masks_of, clock)
        whole, summary = session.get_report(), session.get_global_summary()
    before = open_session(max_time=30, report_save_dir=tmp_path / "b").__enter__()
    play(before, masks_of, clock, most=after)
    before._connector._resources.close()  # the process is gone: nothing is finished, written or said
    clock.now += 1000
    with open_session(max_time=30, report_save_dir=tmp_path / "b") as session:
        assert shown[after:] == play(session, masks_of, clock)
        report, again = session.get_report(), session.get_global_summary()
    assert whole.drop("session_id").equals(report.drop("session_id"))
    assert summary.pop("segarena").pop("samples") == again.pop("segarena").pop("samples")
    assert summary == again
    (one,), (other,) = ((tmp_path / name).glob("*.csv") for name in "ab")
    without_id = [
        [row[:1] + row[2:] for row in csv.reader(path.read_text().splitlines())]
        for path in (one, other)
    ]
    assert without_id[0] == without_id[1]


def test_after_going_on_the_first_scribbles_are_all_of_the_sample(open_session, masks_of, clock):
    with open_session() as session:
        play(session, masks_of, clock, most=2)
    with open_session() as session:
        session.next()
        _, scribbles, is_new = session.get_scribbles(only_last=True)
        assert is_new
        assert scribbles["scribbles"][1][0] == drawn("one", 1, 1)["scribbles"][1][0]
        assert len(frames_with_lines(scribbles)) > 1


def test_time_that_was_spent_stays_spent_and_dropped_answers_stay_dropped(
    open_session, masks_of, clock
):
    with open_session(max_time=10) as session:
        session.next()
        session.get_scribbles()
        clock.now += 9
        session.submit_masks(masks_of("one"))
    with open_session(max_time=10) as session:
        session.next()
        session.get_scribbles()
        clock.now += 1.5
        with pytest.warns(UserWarning, match="dropped"):
            session.submit_masks(masks_of("one"))
    with open_session(max_time=10) as session:
        session.next()
        assert frames_with_lines(session.get_scribbles()[1]) == (3,)
        assert len(session.get_report()) == FRAMES


def test_a_line_that_was_cut_off_is_taken_away(open_session, masks_of, clock, tmp_path):
    with open_session() as session:
        play(session, masks_of, clock, most=2)
    journal = tmp_path / "session" / "submissions.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-30])
    with open_session() as session:
        session.next()
        assert len(session.get_report()) == FRAMES
        session.get_scribbles()
    assert journal.read_bytes() == whole[: whole.find(b"\n") + 1]


def test_no_flipped_bit_of_a_session_goes_unseen(open_session, masks_of, clock, tmp_path):
    with open_session() as session:
        play(session, masks_of, clock, most=2)
    draw = random.Random(0)
    for name in ("submissions.jsonl", "session.json"):
        file = tmp_path / "session" / name
        whole = file.read_bytes()
        for _ in range(12):
            changed = bytearray(whole)
            changed[draw.randrange(len(whole) - 1)] ^= 1 << draw.randrange(8)
            file.write_bytes(changed)
            with pytest.raises(StoreError, match="start a session in another folder"):
                open_session().__enter__()
        file.write_bytes(whole)
    with open_session() as session:
        session.next()
        assert len(session.get_report()) == 2 * FRAMES


def test_session_files_of_before_checksums_are_taken_as_they_are(
    open_session, masks_of, clock, tmp_path
):
    with open_session() as session:
        play(session, masks_of, clock, most=2)
    for name in ("submissions.jsonl", "session.json"):
        file = tmp_path / "session" / name
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        for entry in entries:
            entry.pop("crc", None)
            entry.pop("sha256", None)
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    with open_session() as session:
        session.next()
        assert len(session.get_report()) == 2 * FRAMES


def test_another_session_in_the_folder_is_refused(open_session):
    with open_session(), pytest.raises(RunConflict, match="in use"):
        open_session().__enter__()
    with pytest.raises(RunConflict, match="another --out"):
        open_session(preset="server-2020").__enter__()


def test_the_csv_has_an_unnamed_index_first_and_grows_by_new_rows(
    open_session, masks_of, clock, tmp_path
):
    with open_session(report_save_dir=tmp_path / "reports") as session:
        play(session, masks_of, clock, most=1)
        (growing,) = (tmp_path / "reports").glob("*.tmp.csv")
        first = growing.read_bytes()
        play(session, masks_of, clock, most=1)
        assert growing.read_bytes().startswith(first)
        play(session, masks_of, clock)
    (file,) = (tmp_path / "reports").iterdir()
    assert re.fullmatch(r"result_\d{8}_\d{6}\.csv", file.name)
    rows = list(csv.reader(file.read_text().splitlines()))
    assert rows[0] == ["", *REPORT_COLUMNS]
    assert [row[0] for row in rows[1:]] == [str(number) for number in range(len(rows) - 1)]


def test_a_session_is_a_run_that_can_be_reported_on(open_session, masks_of, clock, tmp_path):
    with open_session() as session:
        answer_all(session, masks_of, clock)
        folder = session.folder
    run = RunFolder.open(folder)
    assert run.is_complete
    assert run.config.counts.rounds == 9
    assert write_report([folder], tmp_path / "page").html.is_file()


def test_published_judging_takes_time_from_the_sample(
    open_session, masks_of, clock, monkeypatch, tmp_path
):
    from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric

    judge = JaccardContourMetric.of

    def slow(self, comparison):
        clock.now += 6
        return judge(self, comparison)

    monkeypatch.setattr(JaccardContourMetric, "of", slow)
    for protocol, interactions in (("careful", 3), ("published", 1)):
        with open_session(protocol=protocol, max_time=10, folder=tmp_path / protocol) as session:
            session.next()
            answered = 0
            while frames_with_lines(session.get_scribbles(only_last=True)[1]) != (3,):
                clock.now += 1
                session.submit_masks(masks_of("one"))
                answered += 1
                session.next()
        assert answered == interactions


def test_published_lines_are_fractions_of_the_size_after_the_first_round(open_session, tmp_path):
    """The robot's line through a square that ends at the last pixels: 1 is reached only when that is what 1 means.

    First scribbles always count to the last pixel, as published files do.
    """

    class Corner(Videos):
        def load(self, sample_id):
            mask = np.zeros((FRAMES, HEIGHT, WIDTH), dtype=np.uint8)
            mask[:, -1:, 10:] = 1
            return replace(
                super().load(sample_id), targets=(Target(id="objects", mask=mask),), scribbles=()
            )

    lowest = {}
    for protocol in ("careful", "published"):
        with open_session(
            protocol=protocol, folder=tmp_path / protocol, dataset=Corner()
        ) as session:
            for interaction in (1, 2):
                assert session.next()
                lines = session.get_scribbles(only_last=True)[1]["scribbles"]
                ys = [y for frame in lines for line in frame for _, y in line["path"]]
                lowest[protocol, interaction] = max(ys)
                session.submit_masks(np.zeros((FRAMES, HEIGHT, WIDTH), dtype=np.uint8))
    to_size = pytest.approx((HEIGHT - 1) / HEIGHT)
    assert lowest == {
        ("careful", 1): 1.0,
        ("careful", 2): 1.0,
        ("published", 1): 1.0,
        ("published", 2): to_size,
    }


def test_samples_that_were_not_run_count_in_the_published_summary_alone(
    open_session, masks_of, clock, tmp_path
):
    for protocol, expected in (("careful", 1.0), ("published", 0.25)):
        with open_session(protocol=protocol, folder=tmp_path / protocol) as session:
            session.next()
            session.get_scribbles()
            session.submit_masks(masks_of("one", shift=0))
            summary = session._connector.summary()
        assert summary["curve"]["J_AND_F"][1] == expected


class Broken(Videos):
    """The first sequence cannot be read."""

    def load(self, sample_id):
        if sample_id == "one":
            raise DatasetMissing("one: expected 4 masks, found 3")
        return super().load(sample_id)


def test_a_sequence_that_cannot_be_read_is_passed_over_and_said(open_session, masks_of, clock):
    with open_session(dataset=Broken()) as session:
        with pytest.warns(UserWarning, match="expected 4 masks, found 3"):
            assert session.next()
        assert session.get_scribbles()[0] == "two"


class Misdrawn(Videos):
    """A folder of videos in which the first person of sequence "one" drew outside the frame."""

    def load(self, sample_id):
        sample = super().load(sample_id)
        if sample_id == "two":
            return sample
        wrong = drawn("one", 1, 1)
        wrong["scribbles"][1][0]["path"][0] = [1.5, 0.5]
        return replace(sample, scribbles=(wrong, drawn("renamed", 3, 1)))


def test_scribbles_that_cannot_be_end_the_sample_and_the_session_goes_on(
    open_session, masks_of, clock
):
    with open_session(dataset=Misdrawn()) as session:
        with pytest.warns(UserWarning, match="expected x and y from 0 to 1"):
            assert session.next()
        sequence, scribbles, _ = session.get_scribbles()
        assert (sequence, scribbles["sequence"]) == ("one", "renamed")
        session.submit_masks(masks_of("one"))
        assert len(play(session, masks_of, clock)) == 2 + 3
        assert session.get_global_summary()["segarena"]["samples"] == 2
    assert RunFolder.open(session.folder).config.counts.failures == 1


@pytest.mark.parametrize("protocol", ["careful", "published"])
def test_candidates_that_were_all_drawn_in_have_their_turn_again(open_session, masks_of, protocol):
    with open_session(sequences=["two"], max_nb_interactions=6, protocol=protocol) as session:
        frames = []
        for _, scribbles, _ in session.scribbles_iterator(only_last=True):
            frames += frames_with_lines(scribbles)
            session.submit_masks(masks_of("two"), next_scribble_frame_candidates=[1, 3])
    assert frames == {"careful": [0, 1, 3, 1, 3, 1], "published": [0, 1, 3, 1, 1, 1]}[protocol]


def test_published_a_robot_with_nothing_to_draw_gives_empty_scribbles(open_session, masks_of):
    with open_session(sequences=["two"], protocol="published") as session:
        frames = []
        for _, scribbles, _ in session.scribbles_iterator(only_last=True):
            frames.append(frames_with_lines(scribbles))
            session.submit_masks(masks_of("two", shift=0))
    assert frames == [(0,), (), ()]


def test_after_an_error_nothing_is_taken_for_finished(open_session, masks_of, monkeypatch):
    with open_session(max_nb_interactions=1) as session:
        monkeypatch.setattr(RunFolder, "write", lambda *_: (_ for _ in ()).throw(OSError("no")))
        for _ in range(2):
            session.next()
            session.get_scribbles()
            session.submit_masks(masks_of("one"))
        with pytest.raises(OSError, match="no"):
            session.next()
        with pytest.raises(StoreError, match="start it again"):
            session.next()
    monkeypatch.undo()
    with open_session(max_nb_interactions=1) as session:
        assert session.next()
        assert session.get_scribbles()[0] == "two"


SCRIPT = """
from davisinteractive.session import DavisInteractiveSession

with DavisInteractiveSession(host='localhost',
                             user_key=None,
                             davis_root=DAVIS_ROOT,
                             subset='val',
                             shuffle=False,
                             max_time=8 * 30,
                             max_nb_interactions=2,
                             metric_to_optimize='J_AND_F',
                             report_save_dir=REPORT_SAVE_DIR) as sess:
    while sess.next():
        sequence, scribbles, first_scribble = sess.get_scribbles(only_last=True)
        pred_masks = model(sequence, scribbles, first_scribble)
        sess.submit_masks(pred_masks, next_scribble_frame_candidates=[0, 1, 2])
    report = sess.get_report()
    summary = sess.get_global_summary(save_file=SUMMARY_FILE)
"""


@pytest.fixture
def davis_root(tmp_path):
    from PIL import Image

    for sequence in ("one", "two"):
        sample = Videos().load(sequence)
        for kind, stack, ending in (
            ("JPEGImages", np.zeros((FRAMES, HEIGHT, WIDTH, 3), np.uint8), "jpg"),
            ("Annotations", sample.targets[0].mask, "png"),
        ):
            folder = tmp_path / "DAVIS" / kind / "480p" / sequence
            folder.mkdir(parents=True)
            for number, picture in enumerate(stack):
                Image.fromarray(picture).save(folder / f"{number:05d}.{ending}")
        folder = tmp_path / "DAVIS" / "Scribbles" / sequence
        folder.mkdir(parents=True)
        for number in (1, 2, 3):
            text = json.dumps(drawn(sequence, number, Videos().objects[sequence]))
            (folder / f"{number:03d}.json").write_text(text)
    lists = tmp_path / "DAVIS" / "ImageSets" / "2017"
    lists.mkdir(parents=True)
    (lists / "val.txt").write_text("one\ntwo\n")
    return tmp_path / "DAVIS"


def test_a_script_for_the_published_package_runs_with_another_import(
    davis_root, masks_of, tmp_path
):
    calls = []

    def model(sequence, scribbles, is_first):
        calls.append((sequence, is_first))
        return masks_of(sequence).astype(np.int64)

    names = {
        "model": model,
        "DAVIS_ROOT": str(davis_root),
        "REPORT_SAVE_DIR": str(tmp_path / "out"),
        "SUMMARY_FILE": str(tmp_path / "summary.json"),
    }
    exec(
        SCRIPT.replace(
            "from davisinteractive.session import",
            "from segarena.systems.videos.session.davis import",
        ),
        names,
    )
    assert calls == [
        (name, first) for name in ("one", "two") for _ in range(3) for first in (True, False)
    ]
    assert len(names["report"]) == 2 * 3 * FRAMES * (1 + 2)
    assert json.loads((tmp_path / "summary.json").read_text()) == names["summary"]
    assert len(list((tmp_path / "out").glob("result_*.csv"))) == 1


def test_the_root_can_come_from_the_environment(davis_root, monkeypatch, tmp_path):
    monkeypatch.setenv("DATASET_DAVIS", str(davis_root))
    with DavisInteractiveSession(sequences=["two"], report_save_dir=tmp_path / "out") as session:
        session.next()
        assert session.get_scribbles()[0] == "two"
