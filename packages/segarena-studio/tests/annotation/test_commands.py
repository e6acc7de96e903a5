"""`segarena amodal export`: every format, from the folder of a running server."""

import csv
import json

import pytest
from annotation_fixtures import box, give_task, project_of, scene, someone, tasks_of, text_of
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.systems.scenes.files.formats import FORMATS
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Task

DRAWN = scene(box(10, 10, 60, 60), box(50, 20, 140, 80), names=("Straße", "cat"))


@pytest.fixture(scope="module")
def project(site):
    """A project with two drawings by Anna and one by Bert, of two pictures."""
    lea = someone(site, "Lea")
    people = [someone(site, name) for name in ("Anna", "Bert")]
    project = project_of(
        site, lea, dict.fromkeys(("Anna", "Bert"), "annotator"), pictures=2, annotators=2
    )
    for task, person in zip(
        tasks_of(site, project), (people[0], people[1], people[0], None), strict=True
    ):
        if person is None:
            continue
        give_task(site, task, person)
        with site.database.writing() as session:
            row = session.get_one(Task, task.id)
            add_revision(
                session, row, text_of(DRAWN), read_document(text_of(DRAWN)), 1.0, client_id="x"
            )
            row.state, row.spent = "finished", '{"r1": [61000, 60000], "r9": [5000, 0]}'
    return project


def run(site, *args):
    return CliRunner().invoke(
        app, ["amodal", "export", *map(str, args), "--data", str(site.folder.path)]
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_written(site, project, tmp_path, kind):
    ran = run(site, tmp_path / "out", "--to", kind, "--photographs")
    assert ran.exit_code == 0, ran.output
    assert "3 annotations of 2 images, 6 regions" in ran.output
    assert {"times.csv", "README.txt", "images"} < {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert len(list((tmp_path / "out" / "images").iterdir())) == 2


def test_regions_are_cut_at_the_frame_and_times_are_of_each(site, project, tmp_path):
    assert run(site, tmp_path / "out", "--project", project, "--annotator", "Bert").exit_code == 0
    (annotation,) = json.loads((tmp_path / "out" / "scenes.json").read_text())["annotations"]
    assert annotation["author"] == "Bert"
    assert annotation["regions"][1]["segmentation"] == [50, 20, 120, 20, 120, 80, 50, 80]
    assert annotation["regions"][0]["name"] == "Straße"
    assert annotation["depth_constraint"] == "1-2"
    rows = list(
        csv.DictReader((tmp_path / "out" / "times.csv").read_text(encoding="utf-8").splitlines())
    )
    assert [(row["name"], row["total_s"], row["points"]) for row in rows] == [
        ("Straße", "61.0", "4"), ("cat", "", "4"), ("(deleted regions)", "5.0", "0"),
    ]  # fmt: skip


def test_annotators_can_be_without_names(site, project, tmp_path):
    run(site, tmp_path / "out", "--nameless", "--project", "Street")
    text = (tmp_path / "out" / "scenes.json").read_text() + (
        tmp_path / "out" / "times.csv"
    ).read_text()
    assert "Anna" not in text
    assert "annotator " in text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--to", "gif"), "format 'gif'"),
        (("--which", "all"), "which 'all'"),
        (("--which", "approved"), "found none; choose begun to include unfinished ones"),
        (("--project", "Nowhere"), "expected one of"),
    ],
)
def test_what_cannot_be_exported_is_told_in_a_line(site, project, tmp_path, options, told):
    ran = run(site, tmp_path / "out", *options)
    assert (ran.exit_code, told in ran.output) == (2, True), ran.output
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert "new or empty folder" in run(site, tmp_path / "out").output
