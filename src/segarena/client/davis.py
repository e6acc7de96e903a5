"""The session of the DAVIS Interactive Challenge, under the name that people's scripts import."""

from __future__ import annotations

from segarena.systems.videos.session.davis import DavisInteractiveSession

__all__ = ["DavisInteractiveSession"]
