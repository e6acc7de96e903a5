"""The rules of RClicks, and whole runs of it."""

import json

import numpy as np
import polars as pl
import pytest

import segarena
from segarena.errors import RunConflict
from segarena.registry import build
from segarena.systems.clicks.crowd.clicks_table import write_clicks

pytestmark = pytest.mark.usefixtures("quick_workers")


class Discs:
    """Predicts a disc around every positive click, independent of the image."""

    def __init__(self):
        self.encodes = 0

    def encode(self, sample):
        self.encodes += 1
        return np.indices(sample.shape)

    def predict(self, encoded, dialogues):
        masks = []
        for dialogue in dialogues:
            mask = np.zeros(encoded.shape[1:], dtype=bool)
            for click in dialogue.clicks:
                mask[
                    np.hypot(encoded[0] - click.position[0], encoded[1] - click.position[1]) < 4
                ] = click.is_positive
            masks.append(mask)
        return masks


@pytest.fixture
def table(tmp_path):
    """A clicks table: five first clicks on square-0, two on square-1, none on the others."""
    rows = [
        {
            "dataset": "squares", "image_stem": f"square-{index}", "object_stem": "", "model_type": "",
            "click_type": "first", "full_stem": f"square-{index}", "device": "pc", "x": 8 + k, "y": 9, "w": 32, "h": 32,
        }
        for index, count in ((0, 5), (1, 2))
        for k in range(count)
    ]  # fmt: skip
    path = tmp_path / "clicks.csv"
    write_clicks(pl.DataFrame(rows), path)
    return str(path)


def users_of(rules):
    return {spec.name: spec for spec in rules.users}


def test_by_default_the_centre_and_ten_groups_click_twenty_times():
    rules = build("benchmark", "rclicks")
    users = users_of(rules)
    assert list(users) == ["centre", *(f"G{k}" for k in range(1, 11))]
    assert [(user.options["low"], user.options["high"]) for user in list(users.values())[1:]] == [
        (k / 10, (k + 1) / 10) for k in range(10)
    ]
    assert rules.rounds == 20
    assert [str(metric) for metric in rules.metrics] == ["iou", "boundary_iou"]
    assert rules.stop_at is None


def test_options_say_which_user_plays_which_part(table):
    options = build("benchmark", f"rclicks(groups=2, clicks={table!r})").options
    assert options["base"] == "centre"
    assert options["groups"] == [
        {"user": "G1", "low": 0.0, "high": 0.5},
        {"user": "G2", "low": 0.5, "high": 1.0},
    ]
    assert (options["real"], options["sampled"]) == ("real", "sampled")
    assert len(options["clicks"]["sha256"]) == 64
    assert build("benchmark", "rclicks").options["real"] is None


def test_the_published_protocol_changes_what_the_published_code_does_otherwise(table):
    rules = build("benchmark", f"rclicks(protocol='published', clicks={table!r})")
    users = users_of(rules)
    assert users["centre"].options == {"when_solved": "published"}
    assert users["G3"].options["groups"] == users["G3"].options["when_solved"] == "published"
    assert users["real"].options["other_size"] == "published"
    assert rules.options["solved_at_last"] == "failure"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("groups=3", "even number of at least 2, got 3"),
        ("groups=0", "even number of at least 2, got 0"),
        ("protocol='paper'", "expected one of 'careful', 'published'"),
        ("clicks='nowhere.csv'", "nowhere.csv: expected an existing file"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build("benchmark", f"rclicks({options})")


def test_one_run_holds_all_users_with_one_encode_per_image(table, tmp_path):
    segmenter = Discs()
    run = segarena.evaluate(
        f"rclicks(rounds=4, groups=4, clicks={table!r})",
        segmenter=segmenter, dataset="sample-squares(count=3)", repeats=2, out=tmp_path / "run",
    )  # fmt: skip
    records = run.records()
    assert segmenter.encodes == 3
    assert records["failure"].is_null().all()
    dialogues = records.group_by("sample", "user").agg(
        pl.col("repeat").n_unique(), pl.col("round").max()
    )
    counts = {
        (sample, user): (repeats, rounds) for sample, user, repeats, rounds in dialogues.iter_rows()
    }
    assert counts["square-0", "centre"] == (1, 4)  # the same again would say nothing
    assert counts["square-2", "G1"] == (2, 4)
    assert counts["square-0", "real"] == counts["square-0", "sampled"] == (5, 1)
    assert counts["square-1", "real"] == (2, 1)
    assert ("square-2", "real") not in counts
    assert run.config.counts.targets_without == {"real": 1, "sampled": 1}
    real = records.filter(user="real", sample="square-0").sort("repeat")
    assert [json.loads(text)[0]["position"] for text in real["prompts"]] == [
        [9, 8 + k] for k in range(5)
    ]


def test_results_do_not_depend_on_workers_or_on_who_else_takes_part(tmp_path):
    module = tmp_path / "discs.py"
    module.write_text(_DISCS, encoding="utf-8")
    options = {"segmenter": f"{module}:Discs", "dataset": "sample-squares(count=2)"}
    rules = "rclicks(rounds=3, groups=2, click_model='saliency-crop')"
    here = segarena.evaluate(rules, out=tmp_path / "a", **options).records()
    there = segarena.evaluate(rules, out=tmp_path / "b", workers=2, **options).records()
    assert here.equals(there)
    alone = segarena.evaluate(
        rules,
        users=["G2=group(click_model='saliency-crop', low=0.5)"],
        out=tmp_path / "c",
        **options,
    ).records()
    assert here.filter(user="G2").equals(alone)


_DISCS = """
import numpy as np


class Discs:
    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        masks = []
        for dialogue in dialogues:
            mask = np.zeros(encoded, dtype=bool)
            for click in dialogue.clicks:
                row, column = click.position
                mask[max(0, row - 3) : row + 4, max(0, column - 3) : column + 4] = click.is_positive
            masks.append(mask)
        return masks
"""


def test_another_table_or_other_weights_are_another_run(table, tmp_path):
    options = {"segmenter": Discs(), "dataset": "sample-squares(count=1)", "out": tmp_path / "run"}
    rules = f"rclicks(rounds=1, groups=2, clicks={table!r})"
    segarena.evaluate(rules, **options)
    text = (tmp_path / "clicks.csv").read_text(encoding="utf-8")
    (tmp_path / "clicks.csv").write_text(text.replace(",8,9,", ",9,9,"), encoding="utf-8")
    with pytest.raises(RunConflict, match=r"sha256|options|clicks"):
        segarena.evaluate(rules, **options)
