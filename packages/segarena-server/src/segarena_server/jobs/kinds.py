"""All kinds of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from segarena_server.extensions.site_sections import rooms
from segarena_server.jobs.challenge_preparation import (
    ChangeChallenge,
    MakeChallenge,
    PreviewChallenge,
)
from segarena_server.jobs.challenge_rehearsal import RehearseChallenge
from segarena_server.jobs.forget_name import RemoveName
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.run_audit import AuditRun
from segarena_server.jobs.run_folder_jobs import EndRun
from segarena_server.jobs.submission_inspection import InspectSubmission
from segarena_server.jobs.submission_judging import JudgeSubmission

_OF_RUNS = (EndRun(), AuditRun(), RemoveName(), InspectSubmission(), JudgeSubmission())
_OF_CHALLENGES = (PreviewChallenge(), MakeChallenge(), ChangeChallenge(), RehearseChallenge())


@cache
def job_kinds() -> Mapping[str, JobKind]:
    """Return all kinds by name: ours, and those of rooms.

    A new kind of ours is a module beside this one with a unit and a `Kind`, and a place among these.
    """
    brought = [kind for room in rooms().values() for kind in room.kinds]
    return {kind.name: kind for kind in (*_OF_RUNS, *_OF_CHALLENGES, *brought)}
