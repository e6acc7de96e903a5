"""Access of roles: which of them get the ground truth, which arrays they can write, and the name of an offender."""

import numpy as np
import polars as pl
import pytest

from segarena.arrays.rle import decode_rle
from segarena.engine.mutation_guard import forbid_mutation
from segarena.errors import SharedArrayModified
from segarena.readonly import ReadOnlyFrames, read_only, read_only_sample, without_truth
from segarena.samples import ImageSample, Support, Target, VideoSample


def failures(folder):
    return set(folder.records()["failure"].drop_nulls())


def test_a_segmenter_that_copies_the_truth_gets_none(small_run, plugin):
    folder = small_run(plugin("CopiesTruth"), rounds=1)
    assert folder.records()["iou"].max() < 1
    assert not folder.config.segmenter.sees_truth


def test_one_that_declares_it_gets_the_truth_and_reports_say_so(small_run, plugin):
    from segarena.reports.recorded_run import read_runs

    folder = small_run(plugin("Peeks"), rounds=1)
    assert folder.records()["iou"].to_list() == [1.0] * 4
    assert folder.config.segmenter.sees_truth
    (run,) = read_runs([folder.path])
    assert run.label == "Peeks (SEES THE TRUTH)"


@pytest.mark.parametrize("role", ["PaintsSample", "PaintsPrevious"])
def test_a_segmenter_cannot_write_into_what_it_is_given(small_run, plugin, role):
    assert any("read-only" in why for why in failures(small_run(plugin(role), rounds=2)))


def test_a_user_cannot_write_into_the_target(small_run, plugin, tmp_path):
    whole = small_run(users=["sample-first-pixel"], out=tmp_path / "alone").records()
    folder = small_run(users=[plugin("PaintsTarget"), "sample-first-pixel"], out=tmp_path / "both")
    assert all("read-only" in why for why in failures(folder))
    assert folder.records().filter(pl.col("user") == "sample-first-pixel").equals(whole)


def test_a_metric_cannot_write_into_its_comparison(small_run, plugin):
    assert all(
        "read-only" in why for why in failures(small_run(metrics=[plugin("PaintsComparison")]))
    )


@pytest.mark.parametrize(
    ("roles", "offender"),
    [
        (
            {"segmenter": ("PaintsSample", {"force": True})},
            "segmenter PaintsSample changed ImageSample.image",
        ),
        ({"segmenter": ("PaintsPrevious", {"force": True})}, "segmenter PaintsPrevious changed"),
        ({"users": ("PaintsTarget", {"force": True})}, "PaintsTarget"),
        ({"metrics": ("PaintsComparison", {"force": True})}, "metric PaintsComparison changed"),
    ],
)
def test_checking_names_who_writes_past_the_flag(small_run, plugin, roles, offender):
    ((role, (name, options)),) = roles.items()
    written = plugin(name, **options)
    folder = small_run(**{role: written if role == "segmenter" else [written]}, check_plugins=True)
    assert failures(folder)
    assert all(offender in why for why in failures(folder))
    assert folder.records()["failure"].null_count() == 0, (
        "no number of a sample that was written into is kept"
    )


def test_checking_finds_nothing_where_nothing_is_wrong_and_changes_no_record(small_run, tmp_path):
    plain, checked = (
        small_run(out=tmp_path / str(check), check_plugins=check).records()
        for check in (False, True)
    )
    assert plain.equals(checked)


def test_one_buffer_for_all_answers_changes_no_answer_that_was_given(small_run, plugin):
    folder = small_run(plugin("OneBuffer"), keep_rounds=(1, 2, 3))
    assert failures(folder) == set()
    masks = folder.masks().select("rle", "shape").iter_rows()
    assert [decode_rle(rle, tuple(shape)).sum() for rle, shape in masks] == [
        1
    ] * folder.records().height


def test_a_list_is_taken_as_the_mask_it_is(small_run, plugin, tmp_path):
    lists, arrays = (
        small_run(plugin(name), out=tmp_path / name).records() for name in ("AnswersLists", "Good")
    )
    assert lists.equals(arrays)


def sample_with_truth():
    mask = np.ones((4, 4), bool)
    image = np.zeros((4, 4, 3), np.uint8)
    example = Support(ImageSample(id="b", image=image), mask)
    return ImageSample(
        id="a", image=image, targets=(Target(id="t", mask=mask),), supports={"t": (example,)}
    )


def test_without_truth_nothing_about_the_targets_is_left():
    shown = without_truth(sample_with_truth())
    assert shown.targets == ()
    assert not shown.supports
    video = VideoSample(
        id="v", frames=[], frame_shape=(4, 4), targets=sample_with_truth().targets, scribbles=({},)
    )
    assert (without_truth(video).targets, without_truth(video).scribbles) == ((), ())


def test_a_read_only_sample_shares_memory_and_leaves_its_owner_able_to_write():
    sample = sample_with_truth()
    shown = read_only_sample(sample)
    for given, own in (
        (shown.image, sample.image),
        (shown.targets[0].mask, sample.targets[0].mask),
    ):
        assert np.shares_memory(given, own)
        with pytest.raises(ValueError, match="read-only"):
            given[:] = 0
    sample.image[:] = 7
    assert shown.image.max() == 7


def test_frames_are_read_only_however_they_are_reached():
    frames = ReadOnlyFrames([np.full((2, 2, 3), number, np.uint8) for number in range(4)])
    assert len(frames) == 4
    assert [frame.max() for frame in frames[1:3]] == [1, 2]
    assert not any(frame.flags.writeable for frame in (*frames, *frames[:2], frames[-1]))


def test_a_change_is_told_even_when_the_call_fails():
    array = np.zeros(3)

    def write_and_fail():
        with forbid_mutation("user a", {"x": array}, is_on=True):
            array[0] = 1
            raise ZeroDivisionError

    with pytest.raises(SharedArrayModified, match="user a changed"):
        write_and_fail()


def test_read_only_arrays_are_not_wrapped_again():
    array = read_only(np.zeros(3))
    assert read_only(array) is array
