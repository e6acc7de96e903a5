"""Attributes of regions: a project's lines, the drawing, and the export."""

import json

import pytest
from annotation_fixtures import box, project_of, scene, someone, text_of

from segarena.errors import InvalidInput
from segarena.systems.scenes.files.formats import format_losses, read_scenes, write_scenes
from segarena.systems.scenes.model.scene import SceneSet
from segarena_studio.annotation.draft_patch import ScenePatch, patch_document
from segarena_studio.annotation.projects import read_rules
from segarena_studio.annotation.region_attributes import (
    RegionAttribute,
    describe_values,
    format_attributes,
    parse_attributes,
)
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Project

LINES = "occluded: checkbox\nnumber plate: text\nview: front, side,  rear"
PARSED = (
    RegionAttribute(name="occluded", kind="checkbox"),
    RegionAttribute(name="number plate", kind="text"),
    RegionAttribute(name="view", kind="choice", choices=("front", "side", "rear")),
)
VALUES = {"occluded": True, "view": "side"}


def test_lines_become_attributes_and_lines_again(site):
    assert parse_attributes(f"\n {LINES} \n\n") == PARSED
    assert parse_attributes(format_attributes(PARSED)) == PARSED
    assert parse_attributes("") == ()
    project = project_of(site, someone(site, "Lea"), attributes=LINES)
    with site.database.reading() as session:
        rules = read_rules(session.get_one(Project, project))
    assert parse_attributes(rules.attributes) == PARSED


@pytest.mark.parametrize(
    "line",
    [
        "occluded",
        ": text",
        "view: front",
        "view: front, front",
        "view: front,, rear",
        "a: text\na: text",
        "a:",
    ],
)
def test_a_line_that_is_no_attribute_is_rejected(line):
    with pytest.raises(InvalidInput, match="attributes: expected"):
        parse_attributes(line)


def test_values_are_described_for_people():
    values = {"occluded": True, "lit": False, "view": "side", "note": ""}
    assert describe_values(values) == "occluded, view: side"
    assert describe_values({}) == ""


def drawn():
    document = scene(box(10, 10, 60, 60), box(50, 20, 110, 80))
    document["regions"][0]["attributes"] = VALUES
    return document


def test_attributes_of_a_drawing_are_checked():
    document = read_document(text_of(drawn()))
    assert [region.attributes for region in document.regions] == [VALUES, {}]
    for wrong in ({"view": 3}, {"": True}, ["view"], {"view": "x" * 3000}):
        broken = drawn()
        broken["regions"][0]["attributes"] = wrong
        with pytest.raises(InvalidInput, match="scene: "):
            read_document(text_of(broken))


def test_a_patch_changes_attributes():
    before = drawn()
    region = {**before["regions"][0], "attributes": {"view": "rear"}}
    patched = json.loads(
        patch_document(text_of(before), ScenePatch(length=8, regions=(region,), next_id=3))
    )
    assert patched["regions"][0]["attributes"] == {"view": "rear"}


@pytest.mark.parametrize(("file_format", "ending"), [("coco-amodal", ".json"), ("coco", ".json")])
def test_attributes_are_exported_with_their_region(tmp_path, file_format, ending):
    document = read_document(text_of(drawn()))
    scenes = SceneSet(scenes=(document_to_scene(document, name="a.png", shape=(90, 120)),))
    path = tmp_path / f"scenes{ending}"
    write_scenes(scenes, path, file_format)
    (back,) = read_scenes(path, file_format=file_format).scenes
    found = {region.name: region.attributes.get("attributes") for region in back.regions}
    assert found == {"thing 1": VALUES, "thing 2": None}
    assert not any("attributes" in loss for loss in format_losses(scenes, file_format))
    assert any("attributes" in loss for loss in format_losses(scenes, "csv"))
