"""16-bit pictures (PNG, TIFF, DICOM): stored unchanged, and displayed with window and level.

Everything that needs an 8-bit picture (browsers, thumbnails, segmenters) gets the picture in its
first window: the window of the DICOM header, or the 0.5 and 99.5 percentiles.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.quantization import Quantization, fit_quantization, quantize
from segarena.files.images import read_deep_grey, read_image
from segarena.systems.scenes.files.label_png import encode_png
from segarena.work.lru_cache import LruCache
from segarena_studio.annotation.dicom_pictures import MAGIC, MAGIC_AT, read_dicom_picture

DEEP = "; depth=16"
"""End of the media type of a 16-bit picture in the database."""
DICOM = "application/dicom"
_CACHE_BYTES = 64 * 2**20

_cache: LruCache[str, bytes] = LruCache(max_bytes=_CACHE_BYTES)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeepPicture:
    """A grey picture of up to 16 bits.

    Attributes:
        codes: uint16 (H, W); value = offset + step * code.
        levels: the mapping to values, and the values that are black and white at first.
        modality: DICOM modality; "" for other files.
        is_inverted: whether low values are bright.
    """

    codes: NDArray[np.uint16]
    levels: Quantization
    modality: str = ""
    is_inverted: bool = False

    def render(self) -> NDArray[np.uint8]:
        """Render the picture in its initial window, uint8 (H, W, 3)."""
        low, high = self.levels.low, self.levels.high
        table = self.levels.offset + self.levels.step * np.arange(2**16)
        greys = np.clip((table - low) * (255 / max(high - low, 1e-6)), 0, 255).round()
        if self.is_inverted:
            greys = 255 - greys
        grey = greys.astype(np.uint8)[self.codes]
        return np.repeat(grey[:, :, None], 3, axis=2)


def is_deep(kind: str) -> bool:
    """Return whether a media type in the database is that of a 16-bit picture."""
    return kind.endswith(DEEP)


def is_dicom(content: bytes) -> bool:
    """Return whether a file begins like a DICOM file."""
    return content[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


def read_deep_picture(name: str, content: bytes) -> DeepPicture | None:
    """Return a DICOM or 16-bit grey picture from the content of its file; None for any other picture.

    Raises:
        InvalidInput: the file is damaged or too large, or a DICOM file of an unsupported kind.
        MissingExtra: the file is DICOM, and pydicom is not installed.
    """
    if is_dicom(content):
        return _from_dicom(name, content)
    grey = read_deep_grey(Path(name), data=content)
    if grey is None:
        return None
    levels = fit_quantization(grey.pixels[None])
    return DeepPicture(
        codes=quantize(grey.pixels, levels),
        levels=levels,
        is_inverted=grey.has_white_zero,
    )


def read_display_pixels(path: Path) -> NDArray[np.uint8]:
    """Return a stored picture as uint8 (H, W, 3), upright; a 16-bit picture is rendered in its initial window."""
    content = path.read_bytes()
    deep = read_deep_picture(path.name, content)
    if deep is not None:
        return deep.render()
    return read_image(path, data=content)


def display_png(path: Path, sha256: str) -> bytes:
    """Return a 16-bit picture as PNG, rendered in its initial window; `sha256` is the hash of the file."""
    with _lock:
        known = _cache.get(sha256)
    if known is not None:
        return known
    content = encode_png(read_display_pixels(path))
    with _lock:
        _cache.put(sha256, content, len(content))
    return content


def _from_dicom(name: str, content: bytes) -> DeepPicture:
    found = read_dicom_picture(name, content)
    stored = fit_quantization(found.pixels[None])
    first = found.intercept + found.slope * stored.low
    last = found.intercept + found.slope * stored.high
    if found.window is not None:
        centre, width = found.window
        first, last = centre - width / 2, centre + width / 2
    levels = replace(
        stored,
        offset=found.intercept + found.slope * stored.offset,
        step=found.slope * stored.step,
        low=min(first, last),
        high=max(first, last),
    )
    return DeepPicture(
        codes=quantize(found.pixels, stored),
        levels=levels,
        modality=found.modality,
        is_inverted=found.is_inverted,
    )
