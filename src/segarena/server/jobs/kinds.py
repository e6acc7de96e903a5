"""All kinds of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from segarena.server.jobs.ending import EndRun
from segarena.server.jobs.finding import FindOut
from segarena.server.jobs.forgetting import ForgetName
from segarena.server.jobs.judging import JudgeSent
from segarena.server.jobs.kind import Kind
from segarena.server.jobs.laying import ChangeChallenge, LookAtChallenge, MakeChallenge
from segarena.server.jobs.looking import LookAtSent
from segarena.server.jobs.rehearsing import RehearseChallenge
from segarena.server.rooms import rooms

_OF_RUNS = (EndRun(), FindOut(), ForgetName(), LookAtSent(), JudgeSent())
_OF_CHALLENGES = (LookAtChallenge(), MakeChallenge(), ChangeChallenge(), RehearseChallenge())


@cache
def kinds() -> Mapping[str, Kind]:
    """Return all kinds by name: ours, and those of rooms.

    A new kind of ours is a module beside this one with a unit and a `Kind`, and a place among these.
    """
    brought = [kind for room in rooms().values() for kind in room.kinds]
    return {kind.name: kind for kind in (*_OF_RUNS, *_OF_CHALLENGES, *brought)}
