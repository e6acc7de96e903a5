"""Reader of image and mask files, with a one-line error for every problem of a file.

Images and masks are rotated upright according to their EXIF orientation, as in image viewers. They
are not scaled, thresholded or resized.
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
from segarena.files.limits import check_pixels, pixel_limit

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)
"""Suffixes of image and mask files; all other files are ignored."""

LOSSY_SUFFIXES = frozenset({".jpeg", ".jpg"})

# Pillow's modes with at most 8 bits per channel.
_EIGHT_BIT_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})
_ORIENTATION = 0x0112  # the EXIF tag
_UPRIGHT = 1
_QUARTER_TURNS = (5, 6, 7, 8)  # orientations that swap rows and columns
_LAST_ORIENTATION = 8
_PHOTOMETRIC = 0x0106  # the TIFF tag PhotometricInterpretation
_WHITE_IS_ZERO = 0


class DeepGrey(NamedTuple):
    """A 16-bit greyscale image.

    Attributes:
        pixels: stored values, int32 (H, W), from -32,768 to 65,535.
        has_white_zero: whether low values are bright (TIFF's WhiteIsZero).
    """

    pixels: NDArray[np.int32]
    has_white_zero: bool


class _Decoded(NamedTuple):
    image: Image.Image
    has_16_bits: bool


def list_image_files(folder: Path, suffixes: frozenset[str] = IMAGE_SUFFIXES) -> list[Path]:
    """Return all image files below `folder`, sorted by path, without hidden files."""
    images: list[Path] = []
    for path in folder.rglob("*"):
        if path.suffix.lower() not in suffixes or not path.is_file():
            continue
        if not _is_hidden(path.relative_to(folder)):
            images.append(path)
    return sorted(images)


def read_image(
    path: Path,
    *,
    data: bytes | None = None,
    first_page: bool = False,
) -> NDArray[np.uint8]:
    """Return an image file as uint8 (H, W, 3), RGB, upright.

    Greyscale is repeated over three channels, palettes are resolved, alpha is dropped, CMYK is
    converted without a colour profile, and 16-bit colour keeps its high byte. 16-bit and
    floating-point greyscale raises an error, because the file does not define black and white
    values.

    Args:
        path: the file.
        data: the content of the file, if already read; `path` is then only used in messages.
        first_page: read the first page of a TIFF of several pages, instead of raising an error.

    Raises:
        InvalidImage: the file is missing, damaged, too large, has several frames, or is grey with more than 8 bits.
    """
    image, _ = _decode(path, InvalidImage, data, first_page=first_page)
    if image.mode not in _EIGHT_BIT_MODES:
        raise InvalidImage(
            f"{path}: expected 8 bits per channel, got pillow mode {image.mode}; "
            "scale it to 0..255 and save it as 8-bit PNG"
        )
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return np.array(image.convert("RGB"), dtype=np.uint8)


def read_mask_values(
    path: Path,
    *,
    palette_must_agree: bool = False,
    data: bytes | None = None,
) -> NDArray[np.int32]:
    """Return the stored values of a mask file, int32 (H, W).

    1-bit masks give 0 and 1, palette masks their indices, RGB masks with three equal channels that
    channel, and 16-bit masks all 16 bits.

    Args:
        path: the file.
        palette_must_agree: raise an error for a palette unless index 0, and no other, is black, because
            otherwise the background is ambiguous.
        data: the content, if it is stored in another file; `path` is then only used in messages.

    Raises:
        InvalidMask: the file is missing, damaged, too large, coloured, partly transparent or floating-point,
            or has several frames or an ambiguous palette.
    """
    image, has_16_bits = _decode(path, InvalidMask, data)
    if image.mode == "P":
        if palette_must_agree:
            _check_palette(image, path)
        return np.asarray(image, dtype=np.int32)
    _check_opaque(image, path)
    # Pillow opens 16-bit greyscale as "I;16" or, in some formats, as "I".
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


def read_mask_colours(path: Path) -> NDArray[np.uint8]:
    """Return the colours of a mask file, uint8 (H, W, 3), RGB; palettes are resolved, greyscale is repeated.

    Raises:
        InvalidMask: the file is missing, damaged, too large or partly transparent, or has several frames or
            more than 8 bits per channel.
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
    """Return the stored values of a greyscale file, (H, W), uint8 or uint16 by bit depth; 1-bit values as 0 and 255.

    Raises:
        InvalidMask: the file is missing, damaged, too large, coloured or floating-point, or has several frames,
            a palette or alpha.
    """
    image, has_16_bits = _decode(path, InvalidMask)
    is_grey = image.mode in ("1", "L")
    if has_16_bits:
        is_grey = image.mode.startswith("I")
    if not is_grey:
        raise InvalidMask(
            f"{path}: expected a grey file of 8 or 16 bits, got pillow mode {image.mode}"
        )
    if has_16_bits:
        return np.asarray(image).astype(np.uint16)
    return np.array(image.convert("L"), dtype=np.uint8)


def read_deep_grey(path: Path, *, data: bytes | None = None) -> DeepGrey | None:
    """Return the stored values of a grey PNG or TIFF with 16 bits; None for every other image.

    Of a TIFF of several pages the first is read. `data` is the content, as in `read_image`.

    Raises:
        InvalidImage: the file is missing, damaged or too large, or an orientation tag rotates it,
            because its stored pixels are then not those that other programs show.
    """
    with _opened(path, InvalidImage, data) as image:
        if image.format not in ("PNG", "TIFF") or not image.mode.startswith("I"):
            return None
        if ";16" not in str(getattr(image, "tile", "")):
            return None
        if image.getexif().get(_ORIENTATION, _UPRIGHT) != _UPRIGHT:
            raise InvalidImage(
                f"{path}: expected a 16-bit image without an orientation tag, got a rotated one; "
                "rotate its pixels and remove the tag"
            )
        tags: Any = getattr(image, "tag_v2", {})
        has_white_zero = tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
        image.load()
        return DeepGrey(np.asarray(image).astype(np.int32), has_white_zero)


def has_more_pages(path: Path, *, data: bytes | None = None) -> bool:
    """Return whether an image file is a TIFF of several pages; `data` is the content, as in `read_image`.

    Raises:
        InvalidImage: the file is missing, damaged or too large.
    """
    with _opened(path, InvalidImage, data) as image:
        if image.format != "TIFF":
            return False
        try:
            image.seek(1)
        except EOFError:
            return False
        return True


def read_opacity(path: Path, data: bytes) -> NDArray[np.uint8]:
    """Return the opacity of each pixel, uint8 (H, W), where 0 is transparent; `data` is the content of the file.

    Raises:
        InvalidMask: the file is damaged, or has no transparency.
    """
    image, _ = _decode(path, InvalidMask, data)
    if not image.has_transparency_data:
        raise InvalidMask(
            f"{path}: expected transparent pixels around the object, got an image without transparency"
        )
    return np.array(image.convert("RGBA").getchannel("A"), dtype=np.uint8)


def read_size(path: Path, *, error: type[InvalidInput] = InvalidImage) -> tuple[int, int]:
    """Return (H, W) of an image file in its upright orientation, from its header alone.

    Raises:
        InvalidImage: the file is missing, damaged, or above the pixel limit; `error` replaces the type.
    """
    with _opened(path, error) as image:
        orientation = image.getexif().get(_ORIENTATION)
        # A picture that is stored on its side has height and width exchanged when upright.
        if orientation in _QUARTER_TURNS:
            return image.width, image.height
        return image.height, image.width


def read_stored_size(
    path: Path,
    *,
    error: type[InvalidInput] = InvalidImage,
    data: bytes | None = None,
) -> tuple[int, int]:
    """Return (H, W) of an image file as stored, before it is rotated upright, from its header alone.

    `data` is the content, as in `read_image`.

    Raises:
        InvalidImage: see `read_size`.
    """
    with _opened(path, error, data) as image:
        return image.height, image.width


def read_orientation(path: Path, *, data: bytes | None = None) -> int | None:
    """Return the EXIF orientation of an image file, 1 to 8, from its header alone; None if unknown.

    None: the file has no such tag, another value, or cannot be opened. `data` is the content, as in `read_image`.
    """
    try:
        with _opened(path, InvalidImage, data) as image:
            orientation = image.getexif().get(_ORIENTATION)
    except InvalidImage:
        return None
    is_valid = isinstance(orientation, int) and _UPRIGHT <= orientation <= _LAST_ORIENTATION
    return orientation if is_valid else None


def keeps_shape(path: Path, orientation: int | None) -> bool:
    """Return whether rotating this image file upright moves its pixels and keeps its height and width.

    True for half turns, mirror images, and every rotation of a square image. A mask of the stored
    pixels then fits the upright image in shape, but not in content.
    """
    if orientation is None or orientation == _UPRIGHT:
        return False
    if orientation not in _QUARTER_TURNS:
        return True
    height, width = read_stored_size(path)
    return height == width


def turn_upright(pixels: NDArray[Any], orientation: int | None) -> NDArray[Any]:
    """Return stored pixels (H, W) or (H, W, C) rotated upright by an EXIF orientation; None is upright.

    Source: Exif 3.0, tag Orientation; the same rotations as `PIL.ImageOps.exif_transpose`.
    """
    match orientation:
        case 2:
            return pixels[:, ::-1]
        case 3:
            return pixels[::-1, ::-1]
        case 4:
            return pixels[::-1]
        case 5:
            return pixels.swapaxes(0, 1)
        case 6:
            return np.rot90(pixels, -1)
        case 7:
            return np.rot90(pixels, 2).swapaxes(0, 1)
        case 8:
            return np.rot90(pixels)
        case _:
            return pixels


def check_same_shape(
    mask: NDArray[Any],
    path: Path,
    image: NDArray[np.uint8],
    image_path: Path,
    *,
    if_turned: str = "rotate the mask or remove the tag",
) -> None:
    """Raise an error unless a mask has the height and width of its image.

    Args:
        mask: the mask, (H, W) or (H, W, C).
        path: file of the mask.
        image: the upright image.
        image_path: file of the image.
        if_turned: remedy if the mask has height and width exchanged.

    Raises:
        InvalidMask: the sizes differ; the message says how, and whether one is only rotated.
    """
    shape = mask.shape[:2]
    expected = image.shape[:2]
    if shape == expected:
        return
    hint = "resize the mask without interpolation, or find the right one"
    if shape == expected[::-1]:
        hint = (
            "one of them is rotated by 90 degrees: images are rotated by their EXIF orientation, "
            f"so {if_turned}"
        )
    raise InvalidMask(
        f"{path}: expected the size of {image_path.name}, {expected[1]} x {expected[0]} pixels, "
        f"got {shape[1]} x {shape[0]}; {hint}"
    )


def _decode(
    path: Path,
    error: type[InvalidInput],
    data: bytes | None = None,
    *,
    first_page: bool = False,
) -> _Decoded:
    with _opened(path, error, data) as image:
        is_first_page = first_page and image.format == "TIFF"
        frames = 1 if is_first_page else int(getattr(image, "n_frames", 1))
        # Phones write MPO: a photograph followed by its previews.
        if frames > 1 and image.format != "MPO":
            raise error(
                f"{path}: expected one image, got a file of {frames} frames; save one frame per file"
            )
        has_16_bits = ";16" in str(getattr(image, "tile", ""))
        image.load()
        return _Decoded(ImageOps.exif_transpose(image), has_16_bits)


@contextmanager
def _opened(
    path: Path,
    error: type[InvalidInput],
    data: bytes | None = None,
) -> Generator[Image.Image]:
    """Open an image within the pixel limit; convert exceptions in the block to `error`."""
    # Our limit replaces Pillow's, which only warns, and raises an error at twice its value.
    Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, pixel_limit())
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
            f"{path}: expected at most {pixel_limit():,} pixels; scale it down. {cause}"
        ) from cause
    except MemoryError as cause:
        raise error(
            f"{path}: expected an image that fits into memory, got a larger or a damaged one; "
            "scale it down, or free memory"
        ) from cause
    except Exception as cause:  # Pillow's decoders raise many types for damaged data
        problem = str(cause).replace(str(path), "the file") or type(cause).__name__
        raise error(
            f"{path}: expected a readable image file, got: {problem}; copy or export it again"
        ) from cause


def _check_opaque(image: Image.Image, path: Path) -> None:
    if not image.has_transparency_data:
        return
    lowest, _ = image.convert("RGBA").getchannel("A").getextrema()
    if lowest != 255:
        raise InvalidMask(
            f"{path}: expected an opaque mask, got one with transparent pixels, so that the object may be given by the "
            "colour or by the opacity; save it without alpha"
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
