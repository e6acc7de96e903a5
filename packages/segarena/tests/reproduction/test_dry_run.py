"""Dry runs: the substitute for each model, and models that answer themselves."""

from segarena.published import find_table
from segarena.reproduction.dry_run import dry_run_jobs
from segarena.reproduction.local_files import LocalFiles
from segarena.reproduction.requirements import plan_jobs


def test_a_dry_run_has_stand_ins_and_every_condition():
    table = find_table("radioactive:3")
    (dry,) = dry_run_jobs(table, plan_jobs(table, ["SAM"], table.own_datasets, LocalFiles()))
    assert (dry.segmenter, dry.data) == ("grabcut", "phantom")
    assert not dry.lacks
    assert {row.condition for row in dry.rows} == {
        row.condition for row in table.rows if row.model == "SAM"
    }


def test_a_segmenter_around_the_model_stands_around_the_stand_in_too():
    table = find_table("toss:3")
    dry = dry_run_jobs(table, plan_jobs(table, ["PFENet"], table.own_datasets, LocalFiles()))
    assert [job.segmenter for job in dry] == [
        "superpixel-prototypes",
        "sssi(segmenter='superpixel-prototypes')",
    ]


def test_what_needs_a_file_is_left_out_of_the_options():
    table = find_table("rclicks:12")
    (dry,) = dry_run_jobs(
        table, plan_jobs(table, ["SAM ViT-B SA-1B"], table.own_datasets, LocalFiles())
    )
    assert dry.options == {
        "protocol": "published",
        "click_model": "depth",
        "groups": 2,
        "rounds": 5,
    }


def test_a_chosen_model_with_an_adapter_answers_itself_with_random_weights(tmp_path):
    python = tmp_path / "ritm" / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / "ritm" / "adapter.py").touch()
    table = find_table("rclicks:4")
    places = LocalFiles(adapters=tmp_path)
    names = ["RITM HR18-IT C+L", "SimpleClick ViT-B C+L", "SAM ViT-B SA-1B"]
    jobs = plan_jobs(table, names, ["DAVIS"], places)
    ritm, others = dry_run_jobs(table, jobs, own_models=True)
    assert ritm.model == "RITM HR18-IT C+L, random weights"
    assert str(python) in ritm.segmenter
    assert "weights" not in ritm.segmenter
    assert others.segmenter == "graph"
    assert [job.segmenter for job in dry_run_jobs(table, jobs)] == ["graph"]


def test_where_nothing_stands_in_it_is_said():
    table = find_table("amodal:2")
    (dry, *_) = dry_run_jobs(
        table, plan_jobs(table, table.model_names, table.own_datasets, LocalFiles())
    )
    assert dry.lacks
