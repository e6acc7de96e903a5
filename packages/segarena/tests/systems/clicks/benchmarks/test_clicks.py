"""The rules of the click benchmark, and the documented differences between its two protocols."""

import numpy as np
import pytest

import segarena
from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.statistics.round_statistics import statistic_values


class Perfect:
    """Recognizes the squares of the sample dataset by their grey value."""

    def encode(self, sample):
        return sample.image[:, :, 0] > 100

    def predict(self, encoded, dialogues):
        return [encoded for _ in dialogues]


def test_the_default_is_twenty_clicks_by_the_centre_clicker():
    rules = build("benchmark", "clicks")
    assert (rules.name, rules.rounds, rules.users) == ("clicks", 20, (PluginSpec("centre"),))
    assert [str(metric) for metric in rules.metrics] == ["iou", "boundary_iou"]
    assert rules.stop_at is None
    assert rules.options["solved_at_last"] == "solved"
    assert [s.name for s in rules.summary] == [
        "NoC@85",
        "NoC@90",
        "NoF@90",
        "IoU@1",
        "IoU@5",
        "IoU@20",
        "AuC",
        "BIoU@20",
    ]


@pytest.mark.parametrize(
    ("rounds", "names"), [(1, ["IoU@1"]), (3, ["IoU@1", "IoU@3"]), (5, ["IoU@1", "IoU@5"])]
)
def test_the_summary_asks_for_rounds_that_there_are(rounds, names):
    rules = build("benchmark", f"clicks(rounds={rounds})")
    assert [s.name for s in rules.summary if s.name.startswith("IoU@")] == names
    assert max(s.round for s in rules.summary) <= rounds


def test_every_statistic_of_the_summary_reads_a_column_that_is_measured():
    rules = build("benchmark", "clicks")
    columns = {column for name in rules.metrics for column in build("metric", name).columns}
    assert {statistic.metric for statistic in rules.summary} <= columns


def test_every_statistic_of_the_summary_can_be_computed():
    values = np.linspace(0, 1, 20)[None]
    for statistic in build("benchmark", "clicks").summary:
        assert np.isfinite(statistic_values(statistic, values)).all()


def test_the_published_protocol_names_another_user_and_counts_the_last_click_as_failure():
    rules = build("benchmark", "clicks(protocol='published')")
    assert rules.protocol == "published"
    assert rules.users == (PluginSpec("centre", {"when_solved": "published"}),)
    assert rules.options["solved_at_last"] == "failure"


def test_after_perfection_a_dialogue_ends_or_clicks_the_first_pixel_as_published(tmp_path):
    data = "sample-squares(count=1)"
    runs = {
        protocol: segarena.evaluate(
            f"clicks(rounds=4, protocol={protocol!r})",
            segmenter=Perfect(),
            dataset=data,
            out=tmp_path / protocol,
        ).records()
        for protocol in ("careful", "published")
    }
    assert runs["careful"]["round"].to_list() == [1]
    assert runs["published"]["round"].to_list() == [1, 2, 3, 4]
    assert all(
        '"position":[0,0],"is_positive":false' in text for text in runs["published"]["prompts"][1:]
    )


def test_a_dialogue_may_end_at_a_wanted_iou(tmp_path):
    records = segarena.evaluate(
        "clicks(rounds=4, protocol='published', stop_at_iou=0.9)",
        segmenter=Perfect(),
        dataset="sample-squares(count=2)",
        out=tmp_path / "run",
    ).records()
    assert records["round"].to_list() == [1, 1]


def test_a_stop_rule_on_a_column_that_nobody_measures_is_refused(tmp_path):
    rules = segarena.Benchmark(
        name="b", users=("centre",), metrics=("dice",), rounds=2, summary=(), stop_at=("iou", 0.9)
    )
    with pytest.raises(
        InvalidInput, match=r"expected a column of the metrics \(dice.*\), got 'iou'"
    ):
        segarena.evaluate(
            rules, segmenter=Perfect(), dataset="sample-squares", out=tmp_path / "run"
        )
