"""All kinds of jobs."""

from __future__ import annotations

from segarena.server.jobs.ending import EndRun
from segarena.server.jobs.finding import FindOut
from segarena.server.jobs.forgetting import ForgetName
from segarena.server.jobs.judging import JudgeSent
from segarena.server.jobs.kind import Kind
from segarena.server.jobs.laying import ChangeChallenge, LookAtChallenge, MakeChallenge
from segarena.server.jobs.looking import LookAtSent
from segarena.server.jobs.rehearsing import RehearseChallenge

_OF_RUNS = (EndRun(), FindOut(), ForgetName(), LookAtSent(), JudgeSent())
_OF_CHALLENGES = (LookAtChallenge(), MakeChallenge(), ChangeChallenge(), RehearseChallenge())
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*_OF_RUNS, *_OF_CHALLENGES)}
"""By name. A new kind is a module beside this one with a unit and a `Kind`, and a place among these."""
