"""A folder with images/ and masks/: only images are pictures, and drawings can start from the masks."""

import io

import numpy as np
import pytest
from annotation_fixtures import picture, someone
from PIL import Image
from sqlalchemy import select

from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.annotation.drafts import read_newest_draft
from segarena_studio.annotation.folder_masks import (
    has_mask_layout,
    list_pictures_with_masks,
    start_from_masks,
)
from segarena_studio.annotation.picture_import import add_files, sync_folder
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Picture, Task

WIDTH, HEIGHT = 120, 90


@pytest.fixture
def site(tmp_path):
    made = open_site(tmp_path / "data", Settings(port=0, workers=0))
    yield made
    made.database.close()


def png(values):
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, format="PNG")
    return buffer.getvalue()


def two_boxes(first=1, second=2):
    """Return the values of a mask with a large and a small box."""
    values = np.zeros((HEIGHT, WIDTH), np.uint8)
    values[10:70, 5:65] = first
    values[20:40, 80:110] = second
    return values


def folder_of(tmp_path, images, masks):
    folder = tmp_path / "scenes"
    for name, content in {
        **{f"images/{name}": content for name, content in images.items()},
        **{f"masks/{name}": content for name, content in masks.items()},
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def names_in(site, project):
    with site.database.reading() as session:
        query = select(Picture.name).where(Picture.project_id == project)
        return set(session.scalars(query))


def regions_of(site, project):
    """Return name and pixels of the regions of each begun picture, front first."""
    found = {}
    with site.database.reading() as session:
        query = select(Task, Picture).join(Picture).where(Task.project_id == project)
        for task, shown in session.execute(query):
            if not task.revision:
                continue
            document = read_document(bytes(read_newest_draft(session, task).scene))
            scene = document_to_scene(document, name=shown.name, shape=(shown.height, shown.width))
            rows = [
                (region.name, round(abs(_area(polygon))))
                for region in scene.regions
                for polygon in scene.polygons(region)
            ]
            found[shown.name] = rows
    return found


def _area(polygon):
    """Return the area of a polygon by the shoelace formula."""
    rows, columns = np.asarray(polygon).T
    return 0.5 * float(np.dot(rows, np.roll(columns, -1)) - np.dot(columns, np.roll(rows, -1)))


def test_masks_are_no_pictures_to_annotate(site, tmp_path):
    images = {"a.png": picture(1), "city/b.png": picture(2)}
    folder = folder_of(tmp_path, images, {"a.png": png(two_boxes(255, 255))})
    assert has_mask_layout(folder)
    added = sync_folder(site, someone(site, "Lea"), folder)
    assert (added.new, added.refused) == (2, [])
    assert names_in(site, added.project_id) == {"images/a.png", "images/city/b.png"}
    again = sync_folder(site, someone(site, "Lea"), folder)
    assert (again.new, again.known, again.project_id) == (0, 2, added.project_id)


def test_a_folder_named_masks_without_images_beside_it_has_pictures(site, tmp_path):
    folder = tmp_path / "carnival"
    (folder / "masks").mkdir(parents=True)
    (folder / "masks" / "venice.png").write_bytes(picture(1))
    assert not has_mask_layout(folder)
    added = sync_folder(site, someone(site, "Lea"), folder)
    assert names_in(site, added.project_id) == {"masks/venice.png"}


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        # The small box is in front. Its pixels, 20 x 30, and those of the large one, 60 x 60, are exact.
        ({"a.png": png(two_boxes(1, 2))}, ["2", "1"]),
        (
            {"a__cat.png": png(two_boxes(0, 255)), "a__dog.png": png(two_boxes(255, 0))},
            ["cat", "dog"],
        ),
        (
            {"a.png": png(np.stack([two_boxes(255, 0), two_boxes(0, 128), two_boxes(0, 0)], 2))},
            ["#008000", "#ff0000"],
        ),
        ({"a.png": png(two_boxes(255, 255))}, ["", ""]),
    ],
)
def test_objects_of_masks_become_regions(site, tmp_path, mask, names):
    folder = folder_of(tmp_path, {"a.png": picture(1), "b.png": picture(2)}, mask)
    project = sync_folder(site, someone(site, "Lea"), folder).project_id
    assert list_pictures_with_masks(site, project, folder) == ["images/a.png"]
    steps = []
    started = start_from_masks(site, project, folder, steps.append)
    assert (started.tasks, started.unknown, started.told, steps) == (1, 0, [], [1])
    found = regions_of(site, project)
    assert list(found) == ["images/a.png"]
    assert [name for name, _ in found["images/a.png"]] == names
    assert sorted(area for _, area in found["images/a.png"]) == [600, 3600]
    # Begun drawings are left alone.
    assert list_pictures_with_masks(site, project, folder) == []
    assert start_from_masks(site, project, folder).tasks == 0


def test_a_damaged_mask_is_named_and_the_others_are_used(site, tmp_path):
    images = {f"{name}.png": picture(number) for number, name in enumerate("abc")}
    masks = {f"{name}.png": png(two_boxes()) for name in "ab"}
    masks["c.png"] = b"\x89PNG\r\n\x1a\n damaged"
    folder = folder_of(tmp_path, images, masks)
    project = sync_folder(site, someone(site, "Lea"), folder).project_id
    started = start_from_masks(site, project, folder)
    assert started.tasks == 2
    assert len(started.told) == 1
    assert "c.png" in started.told[0]


def test_a_mask_of_another_size_is_no_start(site, tmp_path):
    folder = folder_of(tmp_path, {"a.png": picture(1)}, {"a.png": png(two_boxes()[:50])})
    project = sync_folder(site, someone(site, "Lea"), folder).project_id
    started = start_from_masks(site, project, folder)
    assert (started.tasks, len(started.told)) == (0, 1)


def test_the_same_bytes_under_two_names_are_reported(site, tmp_path):
    project = sync_folder(
        site, someone(site, "Lea"), folder_of(tmp_path, {"a.png": picture(1)}, {})
    ).project_id
    added = add_files(
        site, project, [("b.png", picture(2)), ("c.png", picture(2)), ("d.png", picture(1))]
    )
    assert added.new == 3
    assert added.same == [
        "c.png has the same content as b.png",
        "d.png has the same content as images/a.png",
    ]
    # Sent again under the same name, it is known, and nothing new is reported.
    again = add_files(site, project, [("c.png", picture(2))])
    assert (again.known, again.same) == (1, [])
