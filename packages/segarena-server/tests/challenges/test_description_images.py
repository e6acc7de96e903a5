"""Uploaded images: limits are checked before decoding, and metadata is removed."""

import io
import struct
import zlib

import pytest
from PIL import Image

from segarena.errors import InvalidInput
from segarena_server.challenges.description_images import (
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    add_image,
    images_of,
    markdown_images,
)
from segarena_server.db.orm_models import Challenge


def image_file(kind="PNG", size=(6, 4), mode="RGB", **options):
    file = io.BytesIO()
    Image.new(mode, size, 255).save(file, kind, **options)
    return file.getvalue()


def chunk(kind, content):
    crc = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + crc


def bomb(side):
    """Return a PNG file that declares a size with few pixels, so that decoding it would fail."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"x"))


@pytest.fixture
def challenge(database):
    with database.writing() as session:
        session.add(Challenge(slug="cats", description="", made_at=1.0))
    return "cats"


def add(database, name, content, challenge_id=1):
    with database.writing() as session:
        stored = add_image(session, session.get_one(Challenge, challenge_id), name, content, 2.0)
        return stored.name


def stored(database):
    with database.reading() as session:
        return images_of(session, session.get_one(Challenge, 1))


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("My Cat.PNG", "PNG", "my-cat.png"),
        ("C:\\pictures\\cat.jpeg", "JPEG", "cat.jpg"),
        ("../../etc/passwd", "PNG", "passwd.png"),
        ("cat.svg", "PNG", "cat-svg.png"),
        ('a"\r\nset-cookie: x.png', "PNG", "a-set-cookie-x.png"),
        ("x" * 300 + ".png", "PNG", "x" * 50 + ".png"),
    ],
)
def test_names_are_clean_and_end_as_the_content_is(database, challenge, name, kind, expected):
    assert add(database, name, image_file(kind)) == expected
    with database.reading() as session:
        found = markdown_images(session, session.get_one(Challenge, 1))
    assert found[expected].address.startswith(f"/challenges/cats/images/{expected}?")
    assert (found[expected].width, found[expected].height) == (6, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "PNG or JPEG"),
        (b"GIF89a", "PNG or JPEG"),
        (b"", "PNG or JPEG"),
        (b"<html><script>alert(1)</script>", "PNG or JPEG"),
        (b"\x89PNG\r\n\x1a\n<svg onload='alert(1)'/>", "damaged"),
        (image_file()[:-30], "damaged"),
        (bomb(5_000), "pixels"),
        (bomb(60_000), "pixels"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * MOST_IMAGE_BYTES, "at most 2 MB"),
    ],
    ids=["svg", "gif", "empty", "html", "disguised", "cut", "large-sides", "bomb", "large"],
)
def test_other_files_are_rejected(database, challenge, content, message):
    with pytest.raises(InvalidInput, match=message):
        add(database, "x.png", content)
    assert stored(database) == []


def test_metadata_and_what_follows_the_image_is_removed(database, challenge):
    exif = Image.Exif()
    exif[0x010E] = "SECRET PLACE"
    exif[0x0112] = 6
    content = image_file("JPEG", exif=exif) + b"<script>alert(1)</script>"
    add(database, "a.jpg", content)
    (kept,) = stored(database)
    assert b"SECRET" not in kept.content
    assert b"<script>" not in kept.content
    # Orientation 6 is a quarter turn: it is applied before it is removed.
    assert (kept.width, kept.height) == (4, 6)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "RGB"])
@pytest.mark.postgresql
def test_every_mode_is_stored_and_transparency_stays(database, challenge, mode):
    add(database, "a.png", image_file(mode=mode))
    with Image.open(io.BytesIO(stored(database)[0].content)) as image:
        image.load()
        assert image.has_transparency_data == (mode in ("LA", "RGBA"))


def test_an_image_of_the_same_name_is_replaced_and_their_number_is_limited(database, challenge):
    for number in range(MOST_IMAGES):
        add(database, f"{number}.png", image_file())
    add(database, "0.png", image_file(size=(9, 9)))
    assert len(stored(database)) == MOST_IMAGES
    with pytest.raises(InvalidInput, match=f"at most {MOST_IMAGES} images"):
        add(database, "more.png", image_file())
