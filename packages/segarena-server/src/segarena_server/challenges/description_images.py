"""Images that organisers upload for the description of a challenge.

They are few and small, so the database stores them. Every server of a site and every backup
therefore has them.
"""

from __future__ import annotations

import io
import re
import warnings

from PIL import Image, ImageOps
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena_server.challenges.markdown import MarkdownImage
from segarena_server.db.orm_models import Challenge, ChallengeImage

MOST_IMAGE_BYTES = 2 * 2**20
MOST_IMAGES = 20
"""Maximum number of images of a challenge."""
MOST_PIXELS = 16_000_000
"""Maximum number of pixels of an image; decoded as RGB, they take 48 MB."""

_LONGEST_STEM = 50
_ENDINGS = {"PNG": ".png", "JPEG": ".jpg"}
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": ("PNG", "image/png"),
    b"\xff\xd8\xff": ("JPEG", "image/jpeg"),
}
"""Formats by their first bytes. SVG is excluded because it can contain scripts."""


def add_image(
    session: Session,
    challenge: Challenge,
    name: str,
    content: bytes,
    now: float,
) -> ChallengeImage:
    """Store an image, replacing one with the same name.

    Args:
        session: a session for writing.
        challenge: the challenge that shows the image.
        name: name of the uploaded file; in lower case, with dashes for other characters, it becomes the name in the
            description.
        content: a PNG or JPEG file, which is re-encoded without metadata such as the location of a photograph.
        now: the current time.

    Raises:
        InvalidInput: the image is too large, of another format or damaged; its name has no Latin letter
            or digit; or there are too many images.
    """
    kind, media_type = _format_of(content)
    clean_name = _clean_name(name, kind)
    pixels, width, height = _rewritten(content, kind)
    found = session.get(ChallengeImage, (challenge.id, clean_name))
    if found is None:
        of_challenge = ChallengeImage.challenge_id == challenge.id
        count = session.scalar(select(func.count()).select_from(ChallengeImage).where(of_challenge))
        if (count or 0) >= MOST_IMAGES:
            raise InvalidInput(
                f"expected at most {MOST_IMAGES} images of a challenge; delete an unused one"
            )
        found = ChallengeImage(challenge_id=challenge.id, name=clean_name)
        session.add(found)
    found.media_type = media_type
    found.width = width
    found.height = height
    found.sha256 = sha256(pixels)
    found.content = pixels
    found.made_at = now
    return found


def images_of(session: Session, challenge: Challenge) -> list[ChallengeImage]:
    """Return the images of a challenge, sorted by name."""
    found = select(ChallengeImage).where(ChallengeImage.challenge_id == challenge.id)
    return list(session.scalars(found.order_by(ChallengeImage.name)))


def markdown_images(session: Session, challenge: Challenge) -> dict[str, MarkdownImage]:
    """Return the URLs of uploaded images by name; a URL changes with the content, so that caches stay correct."""
    columns = (
        ChallengeImage.name,
        ChallengeImage.sha256,
        ChallengeImage.width,
        ChallengeImage.height,
    )
    # Do not load the contents, which pages do not need.
    rows = session.execute(select(*columns).where(ChallengeImage.challenge_id == challenge.id))
    images: dict[str, MarkdownImage] = {}
    for name, digest, width, height in rows:
        address = f"/challenges/{challenge.slug}/images/{name}?{digest[:16]}"
        images[name] = MarkdownImage(address, width, height)
    return images


def _clean_name(name: str, kind: str) -> str:
    # Some browsers send a full path.
    base = re.split(r"[/\\]", name)[-1].lower()
    stem = re.sub(r"\.(png|jpe?g)$", "", base)
    clean = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:_LONGEST_STEM].strip("-")
    if not clean:
        raise InvalidInput(
            f"expected a file name with Latin letters or digits, got {name[:60]!r}; rename the file"
        )
    return clean + _ENDINGS[kind]


def _format_of(content: bytes) -> tuple[str, str]:
    """Return Pillow's name for the format, and the media type.

    A file that is too large or of another format is rejected before anything is decoded.
    """
    if len(content) > MOST_IMAGE_BYTES:
        raise InvalidInput(
            f"expected at most {MOST_IMAGE_BYTES // 2**20} MB, got {len(content) / 2**20:.1f} MB; reduce the size "
            "of the image"
        )
    for signature, found in _SIGNATURES.items():
        if content.startswith(signature):
            return found
    raise InvalidInput(
        "expected a PNG or JPEG file, got content of another format; convert the file"
    )


def _rewritten(content: bytes, kind: str) -> tuple[bytes, int, int]:
    """Re-encode an image upright and without metadata; return the file, its width and its height."""
    try:
        with warnings.catch_warnings():
            # This module's limit is lower than the one at which Pillow warns.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            # Pillow may only try this one decoder, so that its rarely used formats cannot be
            # attacked.
            opened = Image.open(io.BytesIO(content), formats=[kind])
        with opened as image:
            # The header contains the size, so that images that are too large are never decoded.
            if image.width * image.height > MOST_PIXELS:
                raise InvalidInput(
                    f"expected at most {MOST_PIXELS:,} pixels, got {image.width} x {image.height}; reduce the size "
                    "of the image"
                )
            image.load()
            upright = ImageOps.exif_transpose(image)
    except InvalidInput:
        raise
    except Image.DecompressionBombError as error:
        raise InvalidInput(
            f"expected at most {MOST_PIXELS:,} pixels, got many more; reduce the size of the image"
        ) from error
    except Exception as error:  # Pillow's decoders raise many types for damaged data
        raise InvalidInput(
            "expected a readable image, got a damaged one; export it again"
        ) from error
    mode = _mode_to_store(upright, kind)
    plain = upright.convert(mode)
    # The encoders would copy metadata from here into the new file.
    plain.info = {}
    buffer = io.BytesIO()
    if kind == "PNG":
        plain.save(buffer, format=kind, optimize=True)
    else:
        plain.save(buffer, format=kind, quality=88, optimize=True)
    return buffer.getvalue(), plain.width, plain.height


def _mode_to_store(image: Image.Image, kind: str) -> str:
    if kind == "PNG" and image.has_transparency_data:
        return "RGBA"
    return "L" if image.mode in ("1", "L") else "RGB"
