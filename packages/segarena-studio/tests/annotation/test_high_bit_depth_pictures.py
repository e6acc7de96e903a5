"""16-bit pictures keep their values and their bytes; hostile ones are rejected in one line."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from annotation_fixtures import picture
from deep_files import RAMP, dicom, encoded, tiff

from segarena.errors import InvalidInput, MissingExtra
from segarena.files import limits
from segarena.files.images import read_image
from segarena_studio.annotation.high_bit_depth_pictures import (
    display_png,
    read_deep_picture,
    read_display_pixels,
)
from segarena_studio.annotation.pictures import check_picture
from segarena_studio.annotation.preview import preview_jpeg

SIGNED = (RAMP.astype(np.int32) - 20000).astype("<i2")
needs_pydicom = pytest.mark.skipif(find_spec("pydicom") is None, reason="pydicom is not installed")


def values(deep):
    return deep.levels.offset + deep.levels.step * deep.codes


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (encoded(RAMP, "PNG"), RAMP),
        (encoded(RAMP, "TIFF"), RAMP),
        (encoded(RAMP, "TIFF", compression="tiff_lzw"), RAMP),
        (encoded(RAMP, "TIFF", compression="tiff_adobe_deflate"), RAMP),
        (tiff(RAMP.astype(">u2")), RAMP),
        (tiff(SIGNED, is_signed=True), SIGNED),
    ],
)
def test_16_bit_files_keep_their_values_and_bytes(content, expected):
    found = check_picture("a.tif", content)
    assert found.content == content
    assert found.kind.endswith("; depth=16")
    assert found.shape == expected.shape
    np.testing.assert_array_equal(values(read_deep_picture("a.tif", content)), expected)


def test_white_may_be_zero():
    plain, turned = (
        read_deep_picture("a.tif", tiff(RAMP, photometric=photometric)).render()
        for photometric in (1, 0)
    )
    assert (plain[0, 0, 0], plain[-1, -1, 0]) == (0, 255)
    np.testing.assert_array_equal(turned, 255 - plain)


def test_pictures_of_8_bits_and_colours_are_not_deep():
    for content in (picture(), picture(kind="TIFF"), picture(kind="JPEG")):
        assert read_deep_picture("a", content) is None


@pytest.mark.parametrize("pixels", [RAMP, (RAMP // 256).astype(np.uint8)])
def test_the_first_page_of_a_tiff_is_used_and_told(pixels):
    content = encoded(pixels, "TIFF", save_all=True, append_images=[])
    several = several_pages(pixels, pixels[::-1])
    assert check_picture("a.tif", content).note == ""
    found = check_picture("a.tif", several)
    assert found.note == "a.tif: the first of several pages is used"
    np.testing.assert_array_equal(
        check_picture("a.tif", content).thumbnail,
        found.thumbnail,
    )


def several_pages(first, *others):
    from PIL import Image

    pages = [Image.fromarray(page) for page in others]
    return encoded(first, "TIFF", save_all=True, append_images=pages)


def test_a_rotated_16_bit_file_is_rejected():
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    content = encoded(RAMP, "PNG", exif=exif.tobytes())
    with pytest.raises(InvalidInput, match="without an orientation tag"):
        check_picture("a.png", content)


@pytest.mark.long
@needs_pydicom
def test_dicom_has_values_by_slope_and_intercept_and_the_window_of_the_header():
    content = dicom(WindowCenter=[40, 600], WindowWidth=[400, 1500])
    found = check_picture("ct.dcm", content)
    assert (found.content, found.kind) == (content, "application/dicom; depth=16")
    deep = read_deep_picture("ct.dcm", content)
    np.testing.assert_array_equal(values(deep), RAMP * 2.0 - 1000)
    assert (deep.levels.low, deep.levels.high, deep.modality) == (-160, 240, "CT")
    at_centre = np.abs(values(deep) - 40).argmin()
    assert deep.render()[..., 0].flat[at_centre] == pytest.approx(127, abs=3)


@needs_pydicom
def test_dicom_without_a_window_starts_with_percentiles_and_monochrome1_is_inverted():
    plain = read_deep_picture("a.dcm", dicom())
    assert plain.levels.low == pytest.approx(2 * 239.95 - 1000)
    turned = read_deep_picture("a.dcm", dicom(PhotometricInterpretation="MONOCHROME1"))
    np.testing.assert_array_equal(turned.render(), 255 - plain.render())
    falling = read_deep_picture("a.dcm", dicom(RescaleSlope=-2, RescaleIntercept=0))
    np.testing.assert_array_equal(values(falling), -2.0 * RAMP)
    assert falling.levels.low < falling.levels.high


@needs_pydicom
def test_dicom_of_12_signed_bits_ignores_the_others():
    stored = np.array([[-2048, -1], [0, 2047]], dtype=np.int16)
    noisy = (stored.astype(np.uint16) & 0x0FFF) | 0x5000
    content = dicom(noisy, BitsStored=12, PixelRepresentation=1, RescaleSlope=1, RescaleIntercept=0)
    np.testing.assert_array_equal(values(read_deep_picture("a.dcm", content)), stored)


@needs_pydicom
@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ({"PixelData": b"\0\1"}, "bytes of pixels, got 2"),
        ({"Rows": 60_000, "Columns": 60_000}, "expected at most"),
        ({"NumberOfFrames": 30}, "one frame, got 30"),
        ({"PhotometricInterpretation": "RGB", "SamplesPerPixel": 3}, "expected a grey DICOM"),
        ({"PhotometricInterpretation": None}, "no photometric interpretation"),
        ({"BitsAllocated": 32, "BitsStored": 32}, "8 or 16 bits"),
        ({"RescaleSlope": "9e999"}, "finite"),
        ({"Rows": None}, "expected a readable DICOM file"),
        ({"PixelData": None}, "expected a readable DICOM file"),
    ],
)
def test_hostile_dicom_is_rejected_in_one_line(elements, problem):
    assert_rejected(dicom(**elements), problem)


@needs_pydicom
def test_damaged_and_compressed_dicom_is_rejected_in_one_line():
    assert_rejected(b"\0" * 128 + b"DICM" + b"\xff" * 400, "expected")
    for length in (140, 200, 300, 400):
        assert_rejected(dicom()[:length], "expected")
    compressed = dicom().replace(b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.5\0")
    assert_rejected(compressed, "uncompressed")


def assert_rejected(content, problem):
    with pytest.raises(InvalidInput, match=problem) as told:
        check_picture("a.dcm", content)
    assert "\n" not in str(told.value)
    assert str(told.value).startswith("a.dcm: ")


def test_without_pydicom_the_message_has_the_command(monkeypatch):
    content = b"\0" * 128 + b"DICM"
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(MissingExtra, match=r"pip install 'segarena\[radiology\]'$"):
        check_picture("a.dcm", content)


def test_a_file_that_claims_too_many_pixels_is_rejected_before_decoding(monkeypatch):
    monkeypatch.setenv(limits.PIXEL_LIMIT_VARIABLE, "1000")
    for content in (encoded(RAMP, "PNG"), tiff(RAMP)):
        with pytest.raises(InvalidInput, match="expected at most 1,000 pixels"):
            check_picture("a.png", content)


def test_browsers_previews_and_segmenters_get_the_first_window(tmp_path):
    content = encoded(RAMP, "PNG")
    shown = read_deep_picture("a", content).render()
    file = tmp_path / "0123"
    file.write_bytes(content)
    np.testing.assert_array_equal(read_display_pixels(file), shown)
    png = display_png(file, str(file))
    np.testing.assert_array_equal(read_image(Path("a.png"), data=png), shown)
    preview = read_image(Path("a.jpg"), data=preview_jpeg(file, str(file), "image/png; depth=16"))
    assert np.abs(preview.astype(int) - shown).max() < 24
    file.write_bytes(picture(3))
    np.testing.assert_array_equal(read_display_pixels(file), read_image(Path("a"), data=picture(3)))
