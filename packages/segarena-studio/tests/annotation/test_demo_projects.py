"""The demo has photographs to annotate and drawings in every state; a folder becomes a project."""

from collections import Counter

import pytest
from annotation_fixtures import picture, someone
from sqlalchemy import select

from segarena.systems.scenes.checks.consensus import check_set
from segarena.systems.scenes.files import read_scenes
from segarena_studio.annotation.agreement import agreement_table, find_pending_pairs, read_agreement
from segarena_studio.annotation.demo_projects import DRAWN, PHOTOGRAPHS, TO_DRAW, create_projects
from segarena_studio.annotation.picture_import import sync_folder
from segarena_studio.annotation.project_export import ExportOptions, export_project
from segarena_studio.orm_models import Picture, Project, Task


@pytest.mark.long
def test_the_demo_has_drawings_in_every_state_which_agree_as_far_as_they_should(site, tmp_path):
    create_projects(site, someone(site, "Lea"))
    with site.database.reading() as session:
        projects = {project.name: project for project in session.scalars(select(Project))}
        assert {DRAWN, TO_DRAW} <= set(projects)
        to_draw = session.scalars(
            select(Task.state).where(Task.project_id == projects[TO_DRAW].id)
        ).all()
        assert Counter(to_draw) == {"clean": len(PHOTOGRAPHS) - 2, "finished": 1, "returned": 1}
        states = session.scalars(
            select(Task.state).where(Task.project_id == projects[DRAWN].id)
        ).all()
        assert set(states) == {"in progress", "finished", "in review", "returned", "approved"}
        assert find_pending_pairs(session, projects[DRAWN].id) == []
        rows = {
            row[0]: row[1].mean
            for row in agreement_table(read_agreement(session, projects[DRAWN].id)).rows
        }
    assert 0.8 < rows["region consistency, median F"] <= 1
    export_project(site, projects[DRAWN].id, tmp_path / "out", ExportOptions(which="approved"))
    scenes = read_scenes(tmp_path / "out" / "scenes.json")
    export_project(site, projects[TO_DRAW].id, tmp_path / "by hand", ExportOptions(which="begun"))
    by_hand = read_scenes(tmp_path / "by hand" / "scenes.json")
    assert [len(scene.regions) for scene in by_hand.scenes] == [9, 7]
    assert all(scene.shared_edges() for scene in by_hand.scenes)
    assert [str(one) for one in check_set(by_hand) if one.severity == "error"] == []
    assert len(scenes.scenes) == Counter(states)["approved"]
    assert [str(one) for one in check_set(scenes) if one.severity == "error"] == []


def test_a_folder_is_one_project_however_often_it_is_opened(site, tmp_path):
    person = someone(site, "Lea")
    folder = tmp_path / "My pictures"
    (folder / "more").mkdir(parents=True)
    (folder / "a.png").write_bytes(picture(1))
    (folder / "more" / "b.jpg").write_bytes(picture(2, kind="JPEG"))
    (folder / "wrong.png").write_bytes(b"GIF89a")
    (folder / ".hidden.png").write_bytes(picture(3))
    first = sync_folder(site, person, folder)
    assert (first.new, first.known, len(first.refused)) == (2, 0, 1)
    (folder / "c.png").write_bytes(picture(4))
    again = sync_folder(site, person, folder)
    assert (again.new, again.known) == (1, 2)
    with site.database.reading() as session:
        (project,) = session.scalars(select(Project).where(Project.name == "My pictures"))
        names = session.scalars(select(Picture.name).where(Picture.project_id == project.id)).all()
    assert set(names) == {"a.png", "more/b.jpg", "c.png"}
    assert sync_folder(site, person, tmp_path / "My pictures" / "more" / "..").known == 3
