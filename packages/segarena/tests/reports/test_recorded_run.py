import numpy as np
import pytest

from segarena.errors import InvalidInput, RunConflict, RunMissing
from segarena.reports.recorded_run import read_runs


def test_dialogues_come_in_the_order_of_the_run_whatever_the_order_of_the_rows(
    make_run, make_ramps
):
    dialogues = make_ramps()
    forwards, backwards = read_runs([make_run(dialogues, "a"), make_run(dialogues[::-1], "b")])
    names = [d.key for d in forwards.dialogues]
    assert names == sorted(names)
    assert sorted(d.key for d in backwards.dialogues) == names
    assert [d.sample for d in backwards.dialogues] == [
        s for s in backwards.samples for _ in range(4)
    ]


def test_values_prompts_and_attributes_are_read_back(make_run, make_dialogue):
    attributes = {"size": "small", "area_px": 12.5}
    path = make_run(
        [
            make_dialogue(
                "photo-0", "disc-0", "centre", [0.25, 0.5], label="a cat", attributes=attributes
            )
        ]
    )
    (run,) = read_runs([path])
    (dialogue,) = run.dialogues
    assert dialogue.values["iou"] == (0.25, 0.5)
    assert dialogue.attributes == attributes
    assert dialogue.label == "a cat"
    assert run.kinds == {"click"}
    assert [click.position for (click,) in dialogue.prompts] == [(11, 20), (12, 20)]
    assert dialogue.efforts == (1.0, 2.0)


def test_curves_hold_the_last_value_and_leave_out_what_is_not_defined(make_run, make_dialogue):
    said = [
        make_dialogue("photo-0", f"disc-{k}", "centre", v)
        for k, v in enumerate([[0.5, 0.6], [0.7, None], [0.9]])
    ]
    failed = make_dialogue("photo-1", "disc-0", "centre", [0.5], failure="no")
    (run,) = read_runs([make_run([*said, failed])])
    dialogues, values = run.curves("centre", "iou")
    assert [dialogue.target for dialogue in dialogues] == ["disc-0", "disc-2"]
    assert values.tolist() == [[0.5, 0.6, 0.6, 0.6], [0.9, 0.9, 0.9, 0.9]]
    assert len(run.curves("centre", "dice")[0]) == len(run.curves("nobody", "iou")[0]) == 0


def test_a_failed_dialogue_is_not_among_the_finished(make_run, make_dialogue):
    good = make_dialogue("photo-0", "disc-0", "centre", [0.5, 0.6])
    bad = make_dialogue("photo-0", "disc-1", "centre", [0.5], failure="predict: ValueError: no")
    (run,) = read_runs([make_run([good, bad])])
    assert [d.target for d in run.finished()] == ["disc-0"]
    assert [(d.target, d.failure) for d in run.failures] == [("disc-1", "predict: ValueError: no")]


def test_masks_are_read_for_one_dialogue_by_round(make_run, make_ramps):
    (run,) = read_runs([make_run(make_ramps())])
    masks = run.masks(("photo-1", "disc-0", "edge", 0))
    assert sorted(masks) == [1, 2, 3, 4]
    assert [int(mask.sum()) for mask in masks.values()] == [25 * rows for rows in (11, 12, 13, 14)]
    assert run.masks(("photo-1", "disc-0", "nobody", 0)) == {}


def test_encoder_passes_are_apart_from_rounds(make_run, make_ramps):
    (run,) = read_runs([make_run(make_ramps(), predict_s=0.25)])
    assert run.encode_seconds().tolist() == [1.0] * 4
    np.testing.assert_array_equal(run.seconds_per_round("centre"), np.full(4 * 2 * 4, 0.25))


def test_runs_are_named_by_their_segmenter_and_what_differs(make_run, make_ramps):
    def options(**values):
        return {"segmenter": {"name": "models/mine.py:Mine", "options": values}}

    paths = [
        make_run(make_ramps(), f"run-{i}", **options(size=4, depth=d))
        for i, d in enumerate((1, 2, 2))
    ]
    assert [run.label for run in read_runs(paths)] == [
        "Mine(depth=1)",
        "Mine(depth=2) #1",
        "Mine(depth=2) #2",
    ]
    assert read_runs(paths[:1])[0].label == "Mine"


def test_statistics_that_need_more_rounds_are_left_out(make_run, make_dialogue):
    summary = [
        {"name": f"IoU@{k}", "kind": "at_round", "metric": "iou", "round": k} for k in (1, 7, 9)
    ]
    dialogue = make_dialogue("photo-0", "disc-0", "centre", [0.5])
    (run,) = read_runs([make_run([dialogue], benchmark={"summary": summary})])
    assert [(one.name, one.round) for one in run.summary] == [("IoU@1", 1), ("IoU@4", 4)]
    assert run.left_out == ("IoU@7", "IoU@9")


def test_a_value_after_the_last_round_appears_once(make_run, make_dialogue):
    summary = [
        {"name": f"IoU@{k}", "kind": "at_round", "metric": "iou", "round": k} for k in (4, 9)
    ]
    dialogue = make_dialogue("photo-0", "disc-0", "centre", [0.5])
    (run,) = read_runs([make_run([dialogue], benchmark={"summary": summary})])
    assert run.statistic_names == ("IoU@4",)


def test_a_run_with_undone_samples_is_partial(make_run, make_ramps):
    (run,) = read_runs([make_run(make_ramps(), undone=["photo-8", "photo-9"])])
    assert not run.is_complete
    assert (run.done, len(run.samples)) == (4, 6)


def test_a_folder_without_a_run_is_missing(tmp_path):
    with pytest.raises(RunMissing, match=r"run\.json"):
        read_runs([tmp_path])


def test_no_folder_at_all_is_refused():
    with pytest.raises(InvalidInput, match="at least one"):
        read_runs([])


@pytest.mark.parametrize(
    "changes",
    [{"benchmark": {"name": "other"}}, {"benchmark": {"protocol": "published"}}, {"rounds": 3}],
    ids=["name", "protocol", "rounds"],
)
def test_runs_under_different_rules_cannot_share_a_report(make_run, make_ramps, changes):
    first = make_run(make_ramps(), "first")
    other = make_run(make_ramps(), "other", **changes)
    with pytest.raises(
        RunConflict, match=f"benchmark {next(iter(changes.get('benchmark', changes)))} is"
    ):
        read_runs([first, other])


@pytest.mark.parametrize("rounds_per_block", [1, 3, 10_000])
def test_a_run_that_is_read_in_blocks_is_the_same(
    make_run, make_dialogue, monkeypatch, rounds_per_block
):
    monkeypatch.setattr("segarena.reports.round_table._ROUNDS_PER_BLOCK", rounds_per_block)
    values = {
        ("photo-2", "b"): [0.1, 0.2, 0.3],
        ("photo-2", "a"): [0.4],
        ("photo-0", "a"): [0.5, 0.6],
        ("photo-1", "a"): [0.7, 0.8],
    }
    dialogues = [make_dialogue(*key, "centre", ious) for key, ious in values.items()]
    (run,) = read_runs([make_run(dialogues)], trust=True)
    order = list(run.samples)
    expected = sorted(values, key=lambda key: (order.index(key[0]), key[1]))
    assert [(one.sample, one.target) for one in run.dialogues] == expected
    for dialogue in run.dialogues:
        ious = values[dialogue.sample, dialogue.target]
        assert dialogue.values["iou"] == pytest.approx(ious)
        assert len(dialogue.prompts) == dialogue.rounds == len(ious)
    assert run.target_count("centre") == len(values)
