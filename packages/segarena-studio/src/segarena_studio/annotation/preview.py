"""Previews: a small JPEG of a picture, which the editor shows until the picture itself has arrived."""

from __future__ import annotations

import io
import threading
import warnings
from pathlib import Path

from PIL import Image, ImageOps

from segarena.files.limits import pixel_limit
from segarena.work.lru_cache import LruCache
from segarena_studio.annotation.high_bit_depth_pictures import is_deep, read_display_pixels

PREVIEW_PX = 800
"""Longest side of a preview: nearly as wide as the picture in a window of 1400 pixels."""
LARGE_BYTES = 256 * 1024
"""Pictures up to this size are sent without a preview; this size takes about 5 s at 400 kbit/s."""
_QUALITY = 65
_CACHE_BYTES = 32 * 2**20

_cache: LruCache[str, bytes] = LruCache(max_bytes=_CACHE_BYTES)
_lock = threading.Lock()


def preview_jpeg(
    path: Path,
    sha256: str,
    kind: str = "",
) -> bytes:
    """Return an upright JPEG of at most 800 pixels per side, which browsers paint from coarse to fine.

    Args:
        path: the stored picture, which was validated when it was added.
        sha256: hash of its content, for the cache.
        kind: its media type in the database; "" for an 8-bit picture.
    """
    with _lock:
        known = _cache.get(sha256)
    if known is not None:
        return known
    upright = _open_small(path, kind)
    upright.thumbnail((PREVIEW_PX, PREVIEW_PX))
    buffer = io.BytesIO()
    upright.save(buffer, format="JPEG", quality=_QUALITY, progressive=True, optimize=True)
    content = buffer.getvalue()
    with _lock:
        _cache.put(sha256, content, len(content))
    return content


def _open_small(path: Path, kind: str) -> Image.Image:
    """Return a picture, upright and in RGB, at a fraction of its size if that is faster."""
    if is_deep(kind):
        return Image.fromarray(read_display_pixels(path))
    # The picture was within the limit when it was added, so Pillow's own limit does not matter.
    Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, pixel_limit())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        opened = Image.open(path)
    with opened as image:
        # JPEG decodes at a fraction of its size in a fraction of the time.
        image.draft("RGB", (PREVIEW_PX, PREVIEW_PX))
        return ImageOps.exif_transpose(image).convert("RGB")
