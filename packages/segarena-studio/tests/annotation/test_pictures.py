"""Pictures: hostile files and names are rejected before decoding; all others are displayed upright."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from annotation_fixtures import picture, project_of, someone
from PIL import Image
from sqlalchemy import event, select

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena.files.images import read_image
from segarena_server.db.database import Database
from segarena_studio.annotation import pictures
from segarena_studio.annotation.pictures import add_picture, check_picture, remove_picture
from segarena_studio.orm_models import Picture, Project, Task


def bomb(width, height):
    """Return a small PNG file that declares a large picture."""

    def part(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(b"\0" * 1000))
        + part(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "name",
    ["../a.png", "/a.png", "a/../../b.png", "a\\b.png", "c:a.png", "con.png", "a\0.png", "", "a\n.png",
     "x" * 256 + ".png", "http://a/b.png", "a\u202egnp.exe", "a.svg", "a.png.exe", "."],
)  # fmt: skip
def test_names_that_lead_elsewhere_or_are_no_pictures_are_refused(name):
    with pytest.raises(InvalidInput, match="expected"):
        check_picture(name, picture())


def test_a_name_may_have_folders_and_any_letters():
    assert check_picture("Tag 1/猫 é.png", picture()).name == "Tag 1/猫 é.png"


@pytest.mark.parametrize(
    "content",
    [b"", b"GIF89a" + b"\0" * 99, b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run", b"<svg onload='alert(1)'/>", b"8BPS\0\1",
     b"RIFF\0\0\0\0WAVE", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, picture()[:300], picture(kind="JPEG")[:200],
     bomb(60_000, 60_000)],
)  # fmt: skip
def test_files_that_are_no_pictures_are_told_in_a_line(content):
    with pytest.raises(InvalidInput, match="expected") as told:
        check_picture("a.png", content)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "content", [b"%!PS-Adobe-3.0", b"GIF89a\1\0\1\0", bomb(60_000, 60_000), b"II*\0" + b"\xff" * 64]
)
def test_what_is_refused_is_never_decoded(content, monkeypatch):
    monkeypatch.setattr(Image.Image, "load", lambda *_: pytest.fail("it was decoded"))
    with pytest.raises(InvalidInput):
        check_picture("a.png", content)


def test_a_file_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_BYTES", 100)
    with pytest.raises(InvalidInput, match="at most 100 bytes"):
        check_picture("a.png", picture())


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_photograph_is_as_it_is_shown(orientation):
    content = picture(kind="JPEG", quality=95, exif=exif_of(orientation))
    found = check_picture("a.jpg", content)
    assert found.shape == ((120, 90) if orientation in (6, 8) else (90, 120))
    assert (found.content, found.kind) == (content, "image/jpeg")
    small = Image.open(io.BytesIO(found.thumbnail))
    assert (small.height, small.width) == found.shape
    assert small.getexif().get(0x0112) is None


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_only_jpeg_is_left_to_browsers_to_turn(kind):
    assert (
        check_picture("a.png", picture(kind=kind, exif=exif_of(1))).kind == f"image/{kind.lower()}"
    )
    content = picture(kind=kind, exif=exif_of(6))
    found = check_picture("a.png", content)
    assert (found.shape, found.kind) == ((120, 90), "image/png")
    np.testing.assert_array_equal(
        np.array(Image.open(io.BytesIO(found.content))), read_image(Path("a"), data=content)
    )


@pytest.mark.parametrize("kind", ["TIFF", "BMP", "PPM"])
def test_what_browsers_do_not_show_is_kept_as_png_with_the_same_pixels(kind, tmp_path):
    content = picture(3, kind=kind)
    found = check_picture(f"a.{kind.lower()}", content)
    assert found.kind == "image/png"
    (tmp_path / "a.png").write_bytes(found.content)
    (tmp_path / "b.png").write_bytes(picture(3))
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), read_image(tmp_path / "b.png"))


@pytest.mark.parametrize("mode", ["RGBA", "P", "LA", "CMYK"])
def test_colours_that_browsers_would_show_otherwise_are_made_plain(mode):
    made = Image.open(io.BytesIO(picture())).convert(mode)
    kind = "JPEG" if mode == "CMYK" else "PNG"
    buffer = io.BytesIO()
    made.save(buffer, format=kind)
    found = check_picture("a.png", buffer.getvalue())
    assert found.kind == "image/png"
    assert Image.open(io.BytesIO(found.content)).mode == "RGB"
    np.testing.assert_array_equal(
        read_image(Path("a"), data=found.content), read_image(Path("a"), data=buffer.getvalue())
    )


def test_the_same_picture_is_added_once_and_another_of_its_name_never(site):
    project_id = project_of(site, someone(site, "Anna"), annotators=3)
    with site.database.writing() as session:
        project = session.get_one(Project, project_id)
        storage = site.folder.photographs
        assert not add_picture(
            session, project, storage, check_picture("street-0.png", picture(0)), 0.0
        )
        assert add_picture(session, project, storage, check_picture("other.png", picture(0)), 0.0)
        with pytest.raises(InvalidInput, match="another picture of this name"):
            add_picture(session, project, storage, check_picture("street-0.png", picture(5)), 0.0)
    with site.database.reading() as session:
        rows = session.scalars(select(Picture).where(Picture.project_id == project_id)).all()
        assert {row.name for row in rows} == {"street-0.png", "other.png"}
        assert len({row.sha256 for row in rows}) == 1
        assert len(session.scalars(select(Task).where(Task.project_id == project_id)).all()) == 6


@pytest.mark.parametrize(
    ("first", "second"), [("a.png", "a.png/b.png"), ("s/a.png/b.png", "s/a.png")]
)
def test_no_picture_is_a_folder_of_another(site, first, second):
    project_id = project_of(site, someone(site, "Anna"), pictures=0)
    with site.database.writing() as session:
        project, storage = session.get_one(Project, project_id), site.folder.photographs
        add_picture(session, project, storage, check_picture(first, picture(0)), 0.0)
        with pytest.raises(InvalidInput, match=f"has {first}, and a file cannot be a folder"):
            add_picture(session, project, storage, check_picture(second, picture(1)), 0.0)
        assert add_picture(
            session, project, storage, check_picture("a.png2/b.png", picture(1)), 0.0
        )


def test_who_adds_a_picture_while_others_remove_it_keeps_its_file(site):
    anna = someone(site, "Anna")
    removed, added = (project_of(site, anna, pictures=0) for _ in range(2))
    checked, storage = check_picture("a.png", picture(321)), site.folder.photographs
    elsewhere = Database(site.folder.database)  # of another process

    def add(database, project):
        with database.writing() as session:
            add_picture(session, session.get_one(Project, project), storage, checked, 0.0)

    add(site.database, removed)
    with site.database.writing() as session:
        # Once it is removed, and before its files are deleted:
        event.listen(session, "after_commit", lambda _: add(elsewhere, added), once=True)
        remove_picture(
            session,
            storage,
            session.scalars(select(Picture).where(Picture.project_id == removed)).one(),
        )
    elsewhere.close()
    assert storage.path(sha256(checked.content)).is_file()
    assert storage.path(sha256(checked.thumbnail)).is_file()
