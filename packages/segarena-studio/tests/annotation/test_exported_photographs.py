"""Photographs of an export are upright, and their extension is that of their content."""

import io
import json
import zipfile

import numpy as np
import pytest
from annotation_fixtures import box, give_task, picture, project_of, scene, someone, text_of
from deep_files import RAMP, encoded
from PIL import Image

from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.export_contents import ExportOptions, collect_export
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.project_export import export_archive, export_project
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Picture, Project, Task

HALF_TURN = 3
EXPORT = ExportOptions(which="begun", with_photographs=True)


def turned(orientation):
    """Return a JPEG with an EXIF orientation, and its upright pixels as other programs decode them."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = picture(4, kind="JPEG", quality=95, exif=exif.tobytes())
    stored = np.array(Image.open(io.BytesIO(content)))
    return content, stored[::-1, ::-1]


def cmyk():
    """Return a CMYK JPEG, which the studio stores as PNG."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture(5))).convert("CMYK").save(buffer, format="JPEG")
    return buffer.getvalue()


@pytest.fixture
def project(site):
    """A project with a drawing on each of its pictures."""
    lea = someone(site, "Lea")
    project = project_of(site, lea, pictures=0)
    contents = {
        "city/turned.jpg": turned(HALF_TURN)[0],
        "city/turned.png": picture(1),
        "print.jpg": cmyk(),
        "plain.JPG": picture(2, kind="JPEG", quality=95),
    }
    with site.database.writing() as session:
        row = session.get_one(Project, project)
        for name, content in contents.items():
            add_picture(session, row, site.folder.photographs, check_picture(name, content), 0.0)
        tasks = session.query(Task).where(Task.project_id == project).all()
    drawn = scene(box(10, 10, 60, 60))
    for task in tasks:
        give_task(site, task, lea)
        with site.database.writing() as session:
            row = session.get_one(Task, task.id)
            document = read_document(text_of(drawn))
            add_revision(session, row, text_of(drawn), document, 1.0, client_id="x")
            row.state = "finished"
    return project


def test_photographs_are_upright_and_named_after_their_content(site, project, tmp_path):
    out = tmp_path / "out"
    export_project(site, project, out, EXPORT)
    files = {
        path.relative_to(out / "images").as_posix(): path for path in (out / "images").rglob("*.*")
    }
    # turned.png is taken, so the turned photograph keeps its old extension before the new one.
    assert set(files) == {"city/turned.jpg.png", "city/turned.png", "print.png", "plain.JPG"}
    for name, path in files.items():
        with Image.open(path) as image:
            assert image.format == ("JPEG" if name.endswith("JPG") else "PNG")
            assert image.getexif().get(0x0112, 1) == 1
    upright = np.array(Image.open(files["city/turned.jpg.png"]))
    np.testing.assert_array_equal(upright, turned(HALF_TURN)[1])
    assert files["plain.JPG"].read_bytes() == picture(2, kind="JPEG", quality=95)
    named = {
        image["file_name"] for image in json.loads((out / "scenes.json").read_text())["images"]
    }
    assert named == set(files)
    readme = (out / "README.txt").read_text()
    assert "images/print.png was print.jpg in the project" in readme
    assert "rotated by their EXIF orientation" in readme


def test_an_archive_holds_the_same_files_and_bytes_each_time(site, project, tmp_path):
    out = tmp_path / "out"
    export_project(site, project, out, EXPORT)
    with site.database.reading() as session:
        contents = collect_export(session, session.get_one(Project, project), EXPORT, 0.0)
    for name in ("1.zip", "2.zip"):
        export_archive(contents, site.folder.photographs, tmp_path / name)
    with (
        zipfile.ZipFile(tmp_path / "1.zip") as archive,
        zipfile.ZipFile(tmp_path / "2.zip") as again,
    ):
        images = [name for name in archive.namelist() if name.startswith("images/")]
        assert len(images) == 4
        for name in images:
            assert archive.read(name) == (out / name).read_bytes() == again.read(name)


def test_without_photographs_pictures_keep_their_names(site, project, tmp_path):
    export_project(site, project, tmp_path / "out", ExportOptions(which="begun"))
    named = json.loads((tmp_path / "out" / "scenes.json").read_text())["images"]
    with site.database.reading() as session:
        names = {row.name for row in session.query(Picture).where(Picture.project_id == project)}
    assert {image["file_name"] for image in named} == names


def test_pictures_of_16_bits_are_exported_unchanged_and_told(site, tmp_path):
    lea = someone(site, "Lea")
    project = project_of(site, lea, pictures=0)
    content = encoded(RAMP, "TIFF")
    with site.database.writing() as session:
        row = session.get_one(Project, project)
        checked = check_picture("deep.tif", content)
        add_picture(session, row, site.folder.photographs, checked, 0.0)
        (task,) = session.query(Task).where(Task.project_id == project).all()
    give_task(site, task, lea)
    drawn = text_of(scene(box(10, 10, 60, 60)))
    with site.database.writing() as session:
        add_revision(
            session,
            session.get_one(Task, task.id),
            drawn,
            read_document(drawn),
            1.0,
            client_id="c",
        )
    out = tmp_path / "out"
    export_project(site, project, out, EXPORT)
    assert (out / "images" / "deep.tif").read_bytes() == content
    told = "images/deep.tif is the unchanged file of a 16-bit picture"
    assert told in (out / "README.txt").read_text()
