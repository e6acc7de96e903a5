"""Image and mask files to arrays, and one clear line for everything that can be wrong with a file.

Both kinds are read the way a viewer shows them: turned upright by their EXIF orientation. Nothing is scaled,
thresholded or resized here.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from segarena.errors import InvalidImage, InvalidInput, InvalidMask
from segarena.files.limits import check_pixels, most_pixels

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)
"""Files with other endings are not taken for images or masks."""

LOSSY_SUFFIXES = frozenset({".jpeg", ".jpg"})

_EIGHT_BIT_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})
_ORIENTATION = 0x0112
_TURNED = (5, 6, 7, 8)


class _Decoded(NamedTuple):
    image: Image.Image
    has_16_bits: bool


def list_files(folder: Path) -> list[Path]:
    """Return the image files under `folder`, nested ones too, sorted by path; hidden ones are left out."""
    found = (
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()
    )
    return sorted(path for path in found if not _is_hidden(path.relative_to(folder)))


def read_image(path: Path, *, data: bytes | None = None) -> NDArray[np.uint8]:
    """Return an image file as uint8 (H, W, 3), RGB, upright.

    Grey is repeated over three channels, palettes are looked up, alpha is dropped, CMYK is converted without a
    colour profile, and of 16-bit colour the high byte is kept. 16-bit and floating grey is refused: which of
    its values are black and white only its owner knows.

    Args:
        path: the file.
        data: what the file holds, where it came another way; `path` then only names it in errors.

    Raises:
        InvalidImage: missing, damaged, too large, of several frames, or grey of more than 8 bits.
    """
    image, _ = _decode(path, InvalidImage, data)
    if image.mode not in _EIGHT_BIT_MODES:
        raise InvalidImage(
            f"{path}: expected 8 bits per channel, got pillow mode {image.mode}; "
            "scale it to 0..255 and save it as 8-bit PNG"
        )
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return np.array(image.convert("RGB"), dtype=np.uint8)


def read_values(
    path: Path, *, palette_must_agree: bool = False, data: bytes | None = None
) -> NDArray[np.int32]:
    """Return a mask file as its stored numbers, int32 (H, W).

    1-bit masks give 0 and 1, palette masks their indices, RGB masks of three equal channels that channel, and
    16-bit masks all 16 bits.

    Args:
        path: the file.
        palette_must_agree: refuse a palette in which an index is 0 where its colour is not black, or the
            other way round, because then nobody can tell which of the two is the background.
        data: what the file holds, where it lies in another file; `path` then only names it in errors.

    Raises:
        InvalidMask: missing, damaged, coloured, partly transparent, of floating point, or as said above.
    """
    image, has_16_bits = _decode(path, InvalidMask, data)
    if image.mode == "P":
        if palette_must_agree:
            _check_palette(image, path)
        return np.asarray(image, dtype=np.int32)
    _check_opaque(image, path)
    if image.mode.startswith("I") or image.mode in ("1", "L"):
        return np.asarray(image, dtype=np.int32)
    if image.mode == "LA" and not has_16_bits:
        return np.asarray(image.getchannel("L"), dtype=np.int32)
    if image.mode in ("RGB", "RGBA", "RGBX") and not has_16_bits:
        return _equal_channel(np.asarray(image.convert("RGB")), path)
    bits = "16-bit " if has_16_bits else ""
    raise InvalidMask(
        f"{path}: expected a grey or palette mask, got {bits}pillow mode {image.mode}; save it as grey PNG"
    )


def read_colours(path: Path) -> NDArray[np.uint8]:
    """Return a mask file as its colours, uint8 (H, W, 3), RGB; palettes are looked up, grey is repeated.

    Raises:
        InvalidMask: missing, damaged, partly transparent, or of more than 8 bits per channel.
    """
    image, has_16_bits = _decode(path, InvalidMask)
    if has_16_bits or image.mode not in _EIGHT_BIT_MODES:
        raise InvalidMask(
            f"{path}: expected 8 bits per channel, got a 16-bit or floating mask (pillow mode {image.mode}); "
            "save it with 8 bits, or use encoding='index' for 16-bit object numbers"
        )
    _check_opaque(image, path)
    return np.array(image.convert("RGB"), dtype=np.uint8)


def read_grey(path: Path) -> NDArray[np.uint8 | np.uint16]:
    """Return a grey file as its stored numbers, (H, W), uint8 or uint16 by the bits of the file; 1 bit as 0 and 255.

    Raises:
        InvalidMask: missing, damaged, coloured, with a palette or alpha, or of floating point.
    """
    image, has_16_bits = _decode(path, InvalidMask)
    if not (image.mode.startswith("I") if has_16_bits else image.mode in ("1", "L")):
        raise InvalidMask(
            f"{path}: expected a grey file of 8 or 16 bits, got pillow mode {image.mode}"
        )
    if has_16_bits:
        return np.asarray(image).astype(np.uint16)
    return np.array(image.convert("L"), dtype=np.uint8)


def read_size(path: Path, *, error: type[InvalidInput] = InvalidImage) -> tuple[int, int]:
    """Return the (H, W) of an image file upright, from its header alone.

    Raises:
        InvalidImage: or `error`: missing, damaged, or with more pixels than `files.limits` allows.
    """
    with _opened(path, error) as image:
        is_turned = image.getexif().get(_ORIENTATION) in _TURNED
        return (image.width, image.height) if is_turned else (image.height, image.width)


def read_stored_size(path: Path, *, error: type[InvalidInput] = InvalidImage) -> tuple[int, int]:
    """Return the (H, W) that decoding an image file will make, before it is turned upright, from its headers alone.

    Raises:
        InvalidImage: as `read_size`.
    """
    with _opened(path, error) as image:
        return image.height, image.width


def check_same_shape(
    mask: NDArray[Any], path: Path, image: NDArray[np.uint8], image_path: Path
) -> None:
    """Raise unless a mask has the rows and columns of its image.

    Raises:
        InvalidMask: they differ; the message says how, and when they are only turned against each other.
    """
    shape = mask.shape[:2]
    expected = image.shape[:2]
    if shape == expected:
        return
    hint = "resize the mask without interpolation, or find the right one"
    if shape == expected[::-1]:
        hint = (
            "one of them is turned by 90 degrees: images are shown as their EXIF orientation says, "
            "so turn the mask or remove the tag"
        )
    raise InvalidMask(
        f"{path}: expected the size of {image_path.name}, {expected[1]} x {expected[0]} pixels, "
        f"got {shape[1]} x {shape[0]}; {hint}"
    )


def _decode(path: Path, error: type[InvalidInput], data: bytes | None = None) -> _Decoded:
    with _opened(path, error, data) as image:
        frames = int(getattr(image, "n_frames", 1))
        # Phones write MPO: a photograph followed by previews of it.
        if frames > 1 and image.format != "MPO":
            raise error(
                f"{path}: expected one image, got a file of {frames} frames; save one frame per file"
            )
        has_16_bits = ";16" in str(getattr(image, "tile", ""))
        image.load()
        return _Decoded(ImageOps.exif_transpose(image), has_16_bits)


@contextmanager
def _opened(
    path: Path, error: type[InvalidInput], data: bytes | None = None
) -> Generator[Image.Image]:
    """Give an image whose header was read and whose size is allowed; what is raised meanwhile becomes `error`."""
    # Ours is the limit that counts: Pillow's is a warning, and an error only at twice as much.
    Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, most_pixels())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            opened = Image.open(path if data is None else BytesIO(data))
        with opened as image:
            check_pixels(image.width * image.height, path, error=error)
            yield image
    except InvalidInput:
        raise
    except FileNotFoundError as cause:
        raise error(
            f"{path}: expected an image file here, got none; restore it or leave the sample out"
        ) from cause
    except Image.DecompressionBombError as cause:
        raise error(
            f"{path}: expected at most {most_pixels():,} pixels; scale it down. {cause}"
        ) from cause
    except Exception as cause:  # over damage Pillow's decoders raise whatever it leads them to
        came = str(cause).replace(str(path), "the file") or type(cause).__name__
        raise error(
            f"{path}: expected a readable image file, got: {came}; copy or export it again"
        ) from cause


def _check_opaque(image: Image.Image, path: Path) -> None:
    if not image.has_transparency_data:
        return
    lowest, _ = image.convert("RGBA").getchannel("A").getextrema()
    if lowest != 255:
        raise InvalidMask(
            f"{path}: expected an opaque mask, got one with transparent pixels, so that the object may be the colour "
            "or the opacity; save it without alpha"
        )


def _check_palette(image: Image.Image, path: Path) -> None:
    indices = np.asarray(image)
    is_coloured = np.asarray(image.convert("RGB")).any(axis=2)
    if not np.array_equal(indices != 0, is_coloured):
        raise InvalidMask(
            f"{path}: expected a palette whose colour 0 alone is black, got another one, so that the background "
            "is unclear; save it as grey PNG, or use encoding='index' or 'colour'"
        )


def _equal_channel(pixels: NDArray[np.uint8], path: Path) -> NDArray[np.int32]:
    if not (pixels == pixels[:, :, :1]).all():
        raise InvalidMask(
            f"{path}: expected a grey mask, got colours; use encoding='colour', or save it as grey PNG"
        )
    return pixels[:, :, 0].astype(np.int32)


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in relative.parts)
