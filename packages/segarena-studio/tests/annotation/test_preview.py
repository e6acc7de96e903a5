"""Previews: small, upright, and like the picture."""

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from segarena_studio.annotation.preview import PREVIEW_PX, preview_jpeg

GRADIENT = np.linspace(0, 255, 2000, dtype=np.uint8)[None, :, None].repeat(1500, 0).repeat(3, 2)


def preview_of(tmp_path, name, **options):
    file = tmp_path / name
    Image.fromarray(GRADIENT).save(file, **options)
    return Image.open(io.BytesIO(preview_jpeg(file, f"{tmp_path}{name}")))


@pytest.mark.long
def test_a_preview_is_the_picture_scaled_down(tmp_path):
    for name in ("a.jpg", "a.png", "a.webp"):
        found = preview_of(tmp_path, name)
        assert (found.format, found.size) == ("JPEG", (PREVIEW_PX, 600))
        expected = Image.fromarray(GRADIENT).resize(found.size)
        assert np.abs(np.asarray(found).astype(int) - np.asarray(expected)).max() < 12


def test_a_preview_is_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    turned = preview_of(tmp_path, "turned.jpg", exif=exif)
    assert turned.size == (600, PREVIEW_PX)
    expected = ImageOps.exif_transpose(Image.open(tmp_path / "turned.jpg")).resize(turned.size)
    assert np.abs(np.asarray(turned).astype(int) - np.asarray(expected)).max() < 12


def test_a_small_picture_is_not_enlarged(tmp_path):
    file = tmp_path / "grey.png"
    Image.fromarray(GRADIENT[:30, :40, 0]).save(file)
    preview = Image.open(io.BytesIO(preview_jpeg(file, str(file))))
    assert (preview.size, preview.mode) == ((40, 30), "RGB")
