"""Requirements of a table: found and missing files, and the rows that one run measures."""

from dataclasses import replace

import pytest

from segarena.errors import InvalidInput
from segarena.published import find_table
from segarena.published.table_types import ConditionEntry
from segarena.reproduction.local_files import LocalFiles
from segarena.reproduction.requirements import plan_jobs, select_names


@pytest.fixture
def places(tmp_path):
    """Folders with some of the files that tables need."""
    for name in (
        "data/ms_flair",
        "data/toss/tiers",
        "adapters/ritm/.venv/bin",
        "adapters/hsnet",
        "weights",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "adapters/ritm/adapter.py",
        "adapters/ritm/.venv/bin/python",
        "adapters/hsnet/adapter.py",
    ):
        (tmp_path / name).touch()
    (tmp_path / "weights" / "sam2_hiera_large.pt").touch()
    return LocalFiles(
        data=tmp_path / "data", weights=tmp_path / "weights", adapters=tmp_path / "adapters"
    )


def lacking(job):
    return {(need.kind, need.name) for need in job.lacks}


def test_conditions_that_differ_in_their_prompts_share_a_run():
    (job,) = plan_jobs(find_table("radioactive:3"), ["MedSam"], ["D1"], LocalFiles())
    assert len(job.rows) == 5
    assert job.options["prompts"] == [
        "b-prop",
        "3d-box-slices",
        "3b-inter",
        "5b-inter",
        "10b-inter",
    ]
    assert job.options["protocol"] == "published"


def test_corrections_of_another_kind_are_another_run():
    jobs = plan_jobs(find_table("radioactive:5"), ["SAM2"], ["D1"], LocalFiles())
    assert [(job.options["refine"], job.options["keeps_prompts"]) for job in jobs] == [
        ("1pps", False), ("1pps", True), ("scribble", False), ("scribble", True),
    ]  # fmt: skip
    assert jobs[-1].options["prompts"] == ["1-pps", "3b-inter"]
    assert [len(job.rows) for job in jobs] == [6, 6, 6, 12]


def test_what_is_there_goes_into_the_run(places, tmp_path):
    (job,) = plan_jobs(find_table("radioactive:3"), ["SAM2"], ["D1"], places)
    assert not job.lacks
    assert job.segmenter == f"sam2(weights='{tmp_path / 'weights' / 'sam2_hiera_large.pt'}')"
    assert job.data == f"nifti-folder(path='{tmp_path / 'data' / 'ms_flair'}')"


def test_what_is_missing_is_named_with_its_place_and_where_to_have_it(places):
    (job,) = plan_jobs(find_table("radioactive:3"), ["SAM"], ["D2"], places)
    assert lacking(job) == {("data", "D2"), ("weights", "SAM")}
    data = next(need for need in job.lacks if need.kind == "data")
    assert (data.wanted, data.get) == (
        "DATA/hanseg",
        "segarena data prepare hanseg --out DATA/hanseg",
    )


def test_an_adapter_needs_its_environment_and_the_models_weights(places, tmp_path):
    table = find_table("rclicks:4")
    (ritm,) = plan_jobs(table, ["RITM HR18 C+L"], ["DAVIS"], places)
    assert ("weights", "RITM HR18 C+L") in lacking(ritm)
    assert ("environment", "adapters/ritm") not in lacking(ritm)
    (tmp_path / "weights" / "coco_lvis_h18_baseline.pth").touch()
    (ritm,) = plan_jobs(table, ["RITM HR18 C+L"], ["DAVIS"], places)
    assert ritm.segmenter.startswith("worker(command='python adapter.py'")
    assert "coco_lvis_h18_baseline.pth" in ritm.segmenter
    (hsnet, *_) = plan_jobs(find_table("toss:4"), ["HSNet"], ["PASCAL-5i"], places)
    assert ("environment", "adapters/hsnet") in lacking(hsnet)
    (sam,) = plan_jobs(table, ["SAM ViT-B SA-1B"], ["DAVIS"], places)
    assert not {kind for kind, _ in lacking(sam)} & {"adapter", "environment"}


def test_random_weights_are_never_held_against_published_figures(places, tmp_path):
    python = tmp_path / "adapters" / "hsnet" / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (job,) = plan_jobs(find_table("toss:4"), ["HSNet"], ["PASCAL-5i"], places)
    assert {kind for kind, _ in lacking(job)} == {"data", "weights"}
    assert "options={}" in job.segmenter


def test_adapters_are_given_further_options(places):
    given = replace(places, options={"device": "cuda:0"})
    (job,) = plan_jobs(find_table("rclicks:4"), ["RITM HR18 C+L"], ["DAVIS"], given)
    assert "'device': 'cuda:0'" in job.segmenter


def test_a_folder_may_be_given_itself(tmp_path):
    (tmp_path / "toss" / "tiers").mkdir(parents=True)
    assert LocalFiles(data=tmp_path).in_data("toss/tiers") == tmp_path / "toss" / "tiers"
    assert LocalFiles(data=tmp_path / "toss").in_data("toss/tiers") == tmp_path / "toss" / "tiers"
    assert LocalFiles(data=tmp_path / "toss").in_data("toss") == tmp_path / "toss"
    assert LocalFiles(data=tmp_path).in_data("davis") is None


def test_conditions_that_cannot_be_measured_say_why():
    jobs = plan_jobs(find_table("toss:1"), ["PFENet"], ["PASCAL-5i, fixed pairs"], LocalFiles())
    reasons = [[need.get for need in job.lacks if need.kind == "method"] for job in jobs]
    assert [bool(reason) for reason in reasons] == [False, True, True]


def test_models_are_chosen_in_the_tables_order_in_capitals_or_not():
    assert select_names("model", ["sam2", "MedSam"], ("MedSam", "SAM", "SAM2")) == (
        "MedSam",
        "SAM2",
    )
    assert select_names("model", [], ("SAM", "SAM2")) == ("SAM", "SAM2")


def test_an_unknown_model_is_refused_with_near_names():
    with pytest.raises(InvalidInput, match=r"the table has no model 'SAM3'; did you mean 'SAM2'"):
        select_names("model", ["SAM3"], ("SAM2", "SegVol"))


def test_a_wrapper_around_the_model_is_a_run_of_its_own_wherever_its_row_stands():
    table = find_table("toss:3")
    options = {"rounds": 1}
    conditions = {
        "": ConditionEntry(options=options),
        "SSSI": ConditionEntry(options=options, around=table.conditions["SSSI"].around),
    }
    for rows in (table.rows, table.rows[::-1]):
        changed = replace(table, conditions=conditions, rows=rows)
        jobs = plan_jobs(changed, ["PFENet"], changed.own_datasets, LocalFiles())
        found = {tuple(row.condition for row in job.rows): job.around for job in jobs}
        assert found == {("",): "", ("SSSI",): "sssi(segmenter={segmenter})"}
