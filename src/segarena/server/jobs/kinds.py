"""All kinds of jobs."""

from __future__ import annotations

from segarena.server.jobs.ending import EndRun
from segarena.server.jobs.judging import JudgeSent
from segarena.server.jobs.kind import Kind
from segarena.server.jobs.looking import LookAtSent

KINDS: dict[str, Kind] = {kind.name: kind for kind in (EndRun(), LookAtSent(), JudgeSent())}
"""By name. A new kind is a module beside this one with a unit and a `Kind`, and a place in this line."""
