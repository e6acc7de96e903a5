"""Files of amodal annotations, one module for each format; `read_scenes` and `write_scenes` know them all."""

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
