import numpy as np
import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.videos.measures.challenge_report import (
    REPORT_COLUMNS,
    SampleScore,
    report_table,
    sample_scores,
    unanswered,
)
from segarena.systems.videos.measures.challenge_summary import (
    CurveEnd,
    fill_missing_rounds,
    video_intervals,
    video_summary,
)

PUBLISHED = "published"


def score(sequence, scribble_idx, quality, seconds):
    return SampleScore(
        sequence=sequence,
        scribble_idx=scribble_idx,
        quality=np.array(quality, dtype=float),
        seconds=np.array(seconds, dtype=float),
    )


# One object in "a", three in "b"; the second sample of "a" stops after the first interaction.
A1 = score("a", 1, [[0.5, 0.9]], [10, 20])
A2 = score("a", 2, [[0.7]], [30])
B1 = score("b", 1, [[0.2, 0.4], [0.4, 0.6], [0.6, 0.8]], [20, 40])


def test_missing_interactions_hold_the_last_quality_and_take_no_time():
    quality, seconds = fill_missing_rounds(A2, 3)
    assert quality.tolist() == [[0.7, 0.7, 0.7]]
    assert seconds.tolist() == [30, 0, 0]


def test_an_interaction_missing_for_one_object_is_missing_for_all():
    gap = score("c", 1, [[0.2, np.nan, 0.6], [0.4, 0.9, 0.8]], [1, 2, 3])
    quality, seconds = fill_missing_rounds(gap, 3)
    assert quality.tolist() == [[0.2, 0.2, 0.6], [0.4, 0.4, 0.8]]
    assert seconds.tolist() == [1, 0, 3]


def test_before_the_first_answer_there_is_nothing():
    quality, seconds = fill_missing_rounds(score("c", 1, [[np.nan, 0.5]], [np.nan, 4]), 2)
    assert quality.tolist() == [[0, 0.5]]
    assert seconds.tolist() == [0, 4]


def test_summary_by_hand():
    summary = video_summary([A1, A2, B1], horizon=CurveEnd(seconds_per_object=60))
    # Interaction 1: (0.5 + 0.7 + 0.2 + 0.4 + 0.6) / 5 objects; 2: (0.9 + 0.7 + 0.4 + 0.6 + 0.8) / 5.
    assert summary.by_round == pytest.approx([0.48, 0.68])
    # Time: (10 + 30 + 20) / 3 samples, then + (20 + 0 + 40) / 3; end: 60 s for 5 / 3 objects.
    assert summary.time_s == pytest.approx([0, 20, 40, 100])
    assert summary.quality == pytest.approx([0, 0.48, 0.68, 0.68])
    assert summary.auc == pytest.approx((20 * 0.24 + 20 * 0.58 + 60 * 0.68) / 100)
    assert summary.at_threshold == pytest.approx(0.68)
    assert video_summary([A1, A2, B1], threshold_s=30).at_threshold == pytest.approx(0.58)
    assert video_summary([A1, A2, B1], threshold_s=5).at_threshold == pytest.approx(0.12)


def test_published_end_is_the_time_of_the_mean_sequence():
    horizon = CurveEnd(seconds_per_object=60, protocol=PUBLISHED)
    # "a" has one object, "b" three: two on average.
    assert video_summary([A1, A2, B1], horizon=horizon).time_s[-1] == 120


def test_without_limit_the_published_end_depends_on_the_slowest_interaction_alone():
    assert video_summary([A1, A2, B1]).time_s.tolist() == [0, 20, 40, 40]
    published = video_summary([A1, A2, B1], horizon=CurveEnd(protocol=PUBLISHED))
    assert published.time_s.tolist() == [0, 20, 40, 2 * 40]


def test_a_curve_that_runs_past_the_end_is_cut_there_and_published_turns_back():
    late = [score("a", 1, [[0.4, 0.8]], [10, 30])]
    cut = video_summary(late, horizon=CurveEnd(seconds_per_object=20))
    assert cut.time_s.tolist() == [0, 10, 20, 20]
    assert cut.quality == pytest.approx([0, 0.4, 0.4 + 0.4 / 3, 0.4 + 0.4 / 3])
    assert cut.auc == pytest.approx((10 * 0.2 + 10 * (0.4 + 0.4 / 6)) / 20)
    turned = video_summary(late, horizon=CurveEnd(seconds_per_object=20, protocol=PUBLISHED))
    assert turned.time_s.tolist() == [0, 10, 40, 20]
    assert turned.auc == pytest.approx((10 * 0.2 + 30 * 0.6 - 20 * 0.8) / 40)


def test_an_answer_later_than_the_end_is_read_on_the_line_from_nothing():
    cut = video_summary([score("a", 1, [[0.8]], [40])], horizon=CurveEnd(seconds_per_object=20))
    assert cut.quality == pytest.approx([0, 0.4, 0.4])


def test_samples_that_were_not_run_count_nothing_as_published_and_are_left_out_otherwise():
    missing = unanswered("b", 1, 3)
    assert video_summary([A1], not_run=[missing]).by_round.tolist() == [0.5, 0.9]
    summary = video_summary([A1], not_run=[missing], horizon=CurveEnd(protocol=PUBLISHED))
    assert summary.by_round == pytest.approx([0.5 / 4, 0.9 / 4])
    assert summary.time_s[1:3] == pytest.approx([5, 15])
    assert (summary.samples, summary.planned) == (2, 2)
    counted = video_summary([A1], not_run=[missing], counts_not_run=True)
    assert counted.by_round == pytest.approx([0.5 / 4, 0.9 / 4])


def test_a_sample_begun_but_never_answered_in_time_counts_nothing():
    assert video_summary([A1, unanswered("b", 1, 1)]).by_round.tolist() == [0.25, 0.45]


def test_nothing_at_all_is_a_flat_line():
    summary = video_summary([])
    assert (summary.auc, summary.at_threshold, summary.by_round.tolist()) == (0, 0, [0])


def test_more_rounds_than_seen_hold_the_last():
    assert video_summary([A1], rounds=4).by_round.tolist() == [0.5, 0.9, 0.9, 0.9]
    with pytest.raises(InvalidInput, match="at least 1"):
        video_summary([A1], rounds=0)


def test_the_json_has_the_published_form():
    data = video_summary([A1], horizon=CurveEnd(seconds_per_object=100)).to_json("J")
    assert data == {
        "auc": pytest.approx((10 * 0.25 + 20 * 0.7 + 70 * 0.9) / 100),
        "metric_at_threshold": {"threshold": 60.0, "J": 0.9},
        "curve": {"time": [0, 10, 30, 100], "J": [0, 0.5, 0.9, 0.9]},
    }


def test_intervals_hold_the_value_and_draw_whole_sequences():
    few = video_intervals([A1, A2])
    assert np.isnan(few.auc).all()
    assert np.isnan(few.by_round).all()
    same = [score(name, 1, [[0.3, 0.6]], [10, 10]) for name in "abcd"]
    sure = video_intervals(same)
    assert sure.by_round == pytest.approx(np.array([[0.3, 0.6], [0.3, 0.6]]))
    assert sure.auc == pytest.approx((video_summary(same).auc,) * 2)
    spread = video_intervals([A1, A2, B1], rounds=2)
    # Draws are a alone (means 0.6 and 0.8 over its two samples), b alone (0.4, 0.6), or both.
    assert spread.by_round == pytest.approx(np.array([[0.4, 0.6], [0.6, 0.8]]))
    assert np.array_equal(
        video_intervals([A1, A2, B1]).by_time, video_intervals([A1, A2, B1]).by_time
    )


def test_where_objects_and_samples_have_one_mean_it_has_one_interval():
    values = [0.3, 0.9, 0.4, 0.6, 0.8]
    scores = [score("abccd"[n], n + 1, [[value]], [1]) for n, value in enumerate(values)]
    whole = bootstrap_mean(values, ["abccd"[n] for n in range(5)])
    assert video_summary(scores).by_round.tolist() == [pytest.approx(whole.mean)]
    assert video_intervals(scores).by_round[:, 0] == pytest.approx([whole.low, whole.high])


def parts_and_timings():
    key = {"sample": "a", "target": "objects", "user": "robot", "repeat": 1}
    parts = [
        {
            **key,
            "round": r,
            "object": o,
            "frame": f,
            "jaccard": 0.1 * r + 0.2 * o,
            "contour": 0.3 * f,
        }
        for r in (1, 2)
        for f in (0, 1)
        for o in (1, 2)
    ]
    timings = [{**key, "round": r, "predict_s": 2.0 * r} for r in (1, 2, 3)]
    encoding = {"sample": "a", "target": "", "user": "", "repeat": 0, "round": 0, "predict_s": 5.0}
    return pl.DataFrame(parts), pl.DataFrame([*timings, encoding])


def test_the_report_has_a_row_per_interaction_frame_and_object_and_encoding_is_part_of_the_first():
    report = report_table(*parts_and_timings(), session_id="s")
    assert report.columns == list(REPORT_COLUMNS)
    rows = report.rows()
    assert [row[3:6] for row in rows] == [(r, o, f) for r in (1, 2) for f in (0, 1) for o in (1, 2)]
    assert rows[0] == ("s", "a", 2, 1, 1, 0, pytest.approx(0.3), 0.0, pytest.approx(0.15), 7.0)
    assert rows[-1] == ("s", "a", 2, 2, 2, 1, pytest.approx(0.6), 0.3, pytest.approx(0.45), 4.0)


def test_scores_are_means_over_frames():
    (found,) = sample_scores(report_table(*parts_and_timings()), "jaccard")
    assert (found.sequence, found.scribble_idx, found.objects) == ("a", 2, 2)
    assert found.quality == pytest.approx(np.array([[0.3, 0.4], [0.5, 0.6]]))
    assert found.seconds.tolist() == [7.0, 4.0]
    (contours,) = sample_scores(report_table(*parts_and_timings()), "contour")
    assert contours.quality == pytest.approx(np.full((2, 2), 0.15))
    with pytest.raises(InvalidInput, match="one of jaccard, contour, j_and_f"):
        sample_scores(report_table(*parts_and_timings()), "dice")


def test_no_rows_give_an_empty_report_and_no_scores():
    parts, timings = parts_and_timings()
    report = report_table(parts.clear(), timings)
    assert report.schema == pl.Schema(REPORT_COLUMNS)
    assert sample_scores(report) == []
