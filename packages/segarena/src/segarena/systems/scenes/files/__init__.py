"""File formats of amodal annotations, one module each; `read_scenes` and `write_scenes` handle all of them."""

from __future__ import annotations

from segarena.systems.scenes.files.formats import (
    FORMATS,
    READABLE,
    format_losses,
    kept_scenes,
    read_scenes,
    write_scenes,
)

__all__ = ["FORMATS", "READABLE", "format_losses", "kept_scenes", "read_scenes", "write_scenes"]
