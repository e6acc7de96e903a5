"""Agreement in the studio equals that of `segarena amodal agreement`, and hardly depends on scaling."""

from dataclasses import replace

import pytest
from annotation_fixtures import someone

from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.agreement import measure_agreement
from segarena.systems.scenes.measures.drawings import drawing_of_scene
from segarena_studio.annotation import agreement
from segarena_studio.annotation.agreement import (
    agreement_by_annotator,
    agreement_table,
    compare_pending,
    find_pending_pairs,
    measure_pair,
    read_agreement,
)
from segarena_studio.annotation.demo_projects import create_projects
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Project, Task


@pytest.fixture(scope="module")
def drawings():
    (scene,) = demo_scenes(images=1, seed=5)
    return [drawing.scene for drawing in scene.drawings]


def test_a_small_picture_is_measured_as_it_is(drawings):
    one, other = drawings[1], drawings[4]
    (expected,) = measure_agreement([drawing_of_scene(one), drawing_of_scene(other)]).pairs
    assert measure_pair(one, other) == expected


def enlarged(scene, times):
    height, width = scene.shape
    vertices = tuple((row * times, column * times) for row, column in scene.vertices)
    image = replace(scene.image, shape=(times * height, times * width))
    return replace(scene, image=image, vertices=vertices)


@pytest.mark.long
def test_a_large_one_is_measured_small_and_says_nearly_the_same(drawings, monkeypatch):
    one, other = (enlarged(drawings[place], 3) for place in (1, 2))
    small = measure_pair(one, other)
    monkeypatch.setattr(agreement, "LONGEST_PX", 10**6)
    whole = measure_pair(one, other)
    assert (small.regions, small.order_same, small.order_pairs) == (
        whole.regions,
        whole.order_same,
        whole.order_pairs,
    )
    assert small.edges == pytest.approx(whole.edges, abs=0.02)
    assert small.edges != whole.edges


@pytest.mark.long
def test_what_is_opened_again_is_not_counted_until_it_is_finished_as_it_is_then(site):
    create_projects(site, someone(site, "Lea"))
    with site.database.reading() as session:
        project = session.query(Project).filter_by(name="Generated scenes").one().id
        before = read_agreement(session, project)
        pair = session.query(agreement.TaskAgreement).first()
    with site.database.writing() as session:
        session.get_one(Task, pair.one_id).state = "returned"
    with site.database.reading() as session:
        assert sum(len(one.pairs) for one in read_agreement(session, project)) < sum(
            len(one.pairs) for one in before
        )
    with site.database.writing() as session:
        task = session.get_one(Task, pair.one_id)
        empty = b'{"version": 1, "points": [], "regions": []}'
        add_revision(session, task, empty, read_document(empty), 9.0, client_id="empty")
        task.state = "finished"
    with site.database.reading() as session:
        assert len(find_pending_pairs(session, project)) >= 1
    compare_pending(site, project)
    with site.database.reading() as session:
        assert find_pending_pairs(session, project) == []
        assert session.get_one(agreement.TaskAgreement, (pair.one_id, pair.other_id)).regions == 0
        found = read_agreement(session, project)
    assert agreement_table(found).rows[0][1].mean < agreement_table(before).rows[0][1].mean + 1e-9
    assert min(mean for mean, _ in agreement_by_annotator(found).values()) < min(
        mean for mean, _ in agreement_by_annotator(before).values()
    )
    assert agreement_table(()) is None
