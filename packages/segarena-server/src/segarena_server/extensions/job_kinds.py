"""All kinds of jobs of the server and its extensions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from segarena_server.extensions.site_sections import site_sections
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.kinds.challenge_preparation import (
    ChangeChallenge,
    MakeChallenge,
    PreviewChallenge,
)
from segarena_server.workers.kinds.challenge_rehearsal import RehearseChallenge
from segarena_server.workers.kinds.run_audit import AuditRun
from segarena_server.workers.kinds.run_folder_jobs import EndRun, RemoveName
from segarena_server.workers.kinds.submission_inspection import InspectSubmission
from segarena_server.workers.kinds.submission_judging import JudgeSubmission

_OWN_KINDS = (
    EndRun(),
    AuditRun(),
    RemoveName(),
    InspectSubmission(),
    JudgeSubmission(),
    PreviewChallenge(),
    MakeChallenge(),
    ChangeChallenge(),
    RehearseChallenge(),
)
"""To add a kind, write a module in `workers/kinds/` with a task and a `JobKind`, and list it here."""


@cache
def job_kinds() -> Mapping[str, JobKind]:
    """Return all kinds of jobs of the server and its extensions, by name."""
    kinds = {kind.name: kind for kind in _OWN_KINDS}
    for section in site_sections().values():
        kinds |= {kind.name: kind for kind in section.kinds}
    return kinds
