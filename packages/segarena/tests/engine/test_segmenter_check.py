"""The check finds segmenters whose answers depend on more than the prompts, and on what they depend."""

from pathlib import Path

import pytest

from segarena.engine.plan import make_plan
from segarena.engine.segmenter_check import (
    check_in_process,
    check_segmenter,
    compare_in_process,
    fitting_benchmark,
)
from segarena.errors import PluginInvalid, SegmenterError
from segarena.plugin_spec import PluginSpec

MOODY = Path(__file__).parent / "moody.py"
ALL = {"hidden state or randomness", "the instance", "batches", "order"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Steady", set()),
        ("Random", ALL),
        ("OfBatch", {"batches"}),
        ("OfOrder", {"batches", "order"}),
        ("Counting", ALL - {"the instance"}),
        ("CountingInModule", ALL - {"hidden state or randomness"}),
        ("OfProcess", set()),
    ],
)
def test_on_what_answers_depend_within_a_process(rules, name, expected):
    found = check_in_process(
        make_plan(rules, segmenter=f"{MOODY}:{name}", dataset="sample-squares(count=2)", repeats=2)
    ).dependences
    assert {each.on for each in found if each.found.differed} == expected
    assert {each.on for each in found} == ALL
    assert {each.found.asked for each in found} == {2 * 2 * 3}


@pytest.mark.long
def test_what_one_process_keeps_to_itself_is_found_on_the_demo_photographs(monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    found = check_segmenter(f"{MOODY}:OfHashSeed", samples=1)
    assert [each.on for each in found if each.found.differed] == ["the process"]
    assert found[-1].found.worst.startswith("sample ")


@pytest.mark.parametrize(
    ("segmenter", "benchmark"),
    [
        ("grabcut", "clicks"),
        ("superpixel-prototypes", "toss"),
        ("geodesic", "cvpr2025"),
        ("colour-flow", "davis"),
        ("slices(segmenter='graph')", "cvpr2025"),
    ],
)
def test_the_users_are_those_of_a_benchmark_that_fits(segmenter, benchmark):
    assert fitting_benchmark(PluginSpec.parse(segmenter)) == benchmark


def test_a_segmenter_that_no_benchmark_fits_is_refused(plugin, tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(
        "class Odd:\n    sample_kinds = {'smell'}\n    def encode(self, sample): ...\n    predict = encode\n"
    )
    with pytest.raises(
        PluginInvalid,
        match="no benchmark has matching users and samples; choose one with --benchmark",
    ):
        fitting_benchmark(PluginSpec.parse(f"{file}:Odd"))


def test_who_answers_nothing_is_refused_with_the_reason(rules, plugin):
    plan = make_plan(rules, segmenter=plugin("Silent"), dataset="sample-squares(count=1)")
    with pytest.raises(
        SegmenterError,
        match=r"the segmenter gave no answer; the first failure: predict: expected a list",
    ):
        check_in_process(plan)


def comparison(rules, one, other):
    plans = []
    for name in (one, other):
        written = f"{MOODY}:{name}"
        plans.append(make_plan(rules, segmenter=written, dataset="sample-squares(count=2)"))
    return compare_in_process(tuple(plans))


def test_a_segmenter_compared_with_itself_is_equal_and_as_fast(rules):
    found = comparison(rules, "Steady", "Steady")
    assert found.agreement.differed == 0
    assert found.mean_iou == found.agreement.worst_iou == 1.0
    assert found.differing_pixels == 0.0
    assert found.seconds_ratio > 0


def test_masks_of_another_size_differ_by_their_pixels(rules):
    found = comparison(rules, "Steady", "Wider")
    assert found.agreement.differed == found.agreement.asked > 0
    assert found.agreement.worst_iou <= found.mean_iou < 1
    # In the first round, squares of 7 and 9 pixels that the border may cut.
    assert 0 < found.differing_pixels < 0.5


def test_a_segmenter_that_answers_nothing_has_an_iou_of_zero(rules):
    found = comparison(rules, "Steady", "Failing")
    assert found.mean_iou == 0.0
    assert "no answer for you" in found.agreement.worst
