"""Pages to create or change a challenge: a form, a preview, and the final step.

Opening samples takes time, so previews, creations and changes are jobs; the page of a draft shows
their progress.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena.errors import SegarenaError
from segarena.registry import plugins_by_name
from segarena_server import http_errors
from segarena_server.api.queue_position import job_queue_position
from segarena_server.auth.permissions import (
    Visitor,
    require_organiser_of,
    require_role,
    site_of,
    visitor_of,
)
from segarena_server.challenges.challenge_management import (
    change_faults,
    phases_with_runs,
    prepare_change,
    prepare_new_challenge,
    update_challenge,
)
from segarena_server.challenges.challenge_repository import description_of, find_challenge
from segarena_server.challenges.description import ChallengeDescription as Description
from segarena_server.challenges.description import Phase
from segarena_server.challenges.description_images import markdown_images
from segarena_server.challenges.form_fields import (
    MAX_PHASES,
    ParsedForm,
    form_texts,
    parse_form,
    phase_numbers,
)
from segarena_server.challenges.interfaces import interfaces
from segarena_server.challenges.markdown import MarkdownImage, render_markdown
from segarena_server.challenges.phase_fields import form_inputs
from segarena_server.challenges.run_sizes import warnings_about_ranks
from segarena_server.challenges.sample_pool import SamplePool
from segarena_server.db.orm_models import Challenge, Job
from segarena_server.extensions.allowed_plugins import plugin_faults
from segarena_server.http.request_body import Form, LargeForm
from segarena_server.jobs.job_queue import enqueue_job
from segarena_server.pages.rendering import render_page
from segarena_server.runs.submissions import sandbox_of
from segarena_server.site import Site
from segarena_server.workers.kinds.challenge_preparation import (
    ChallengeJobRequest,
    ChangeChallenge,
    MakeChallenge,
    PreviewChallenge,
    delete_old_drafts,
)

router = APIRouter(include_in_schema=False)
_FIRST = {
    "benchmark": "clicks",
    "dataset": "demo",
    "phases[0].name": "test",
}
"""Initial values of the form for a new challenge; valid except for the missing name."""
_LABELS = {
    "slug": "Short name",
    "text": "Description",
    "zone": "Time zone",
    "frozen": "Freeze the board from",
    "interfaces": "Also served by",
}
"""Labels of the fields of a challenge that differ from their names."""
DRAFTS = (PreviewChallenge.name, MakeChallenge.name, ChangeChallenge.name)
"""The kinds of jobs about drafts of challenges."""


@router.get("/organise/new")
@require_role("organiser")
def show_new(request: Request, draft: int = 0) -> Response:
    """Show the form of a new challenge; for a draft, with its values filled in."""
    if not draft:
        return _form(request, _FIRST, {})
    with site_of(request).database.reading() as session:
        job = _visible_draft(session, visitor_of(request), draft)
    job_request = ChallengeJobRequest.of(job)
    return _form(request, form_texts(job_request.challenge), {}, changes=job_request.changes)


@router.post("/organise/new")
@require_role("organiser")
def fill_in_new(request: Request, form: LargeForm) -> Response:
    """Add or remove a phase, show the description, or preview the challenge."""
    if form.get("do") == "describe":
        return _form(request, form, {}, shows_description=True)
    if _is_about_phases(form):
        return _form(request, _with_phases(form), {})
    filled = _filled(request, form, {})
    if filled.challenge is None:
        return _form(request, form, filled.faults)
    try:
        described = prepare_new_challenge(site_of(request), filled.challenge)
    except SegarenaError as error:
        return _form(request, form, _fault_of(error))
    return _to_draft(
        request, _post(request, PreviewChallenge.name, uuid.uuid4().hex, described, changes="")
    )


@router.get("/organise/challenges/{slug}/change")
@require_organiser_of("slug")
def show_change(request: Request, slug: str) -> Response:
    """Show the form of an existing challenge."""
    return _form(request, form_texts(_description(site_of(request), slug)), {}, changes=slug)


@router.post("/organise/challenges/{slug}/change")
@require_organiser_of("slug")
def fill_in_change(
    request: Request,
    slug: str,
    form: LargeForm,
) -> Response:
    """Add or remove a phase, show the description, or change the challenge.

    A change that needs new samples is first previewed in a job.
    """
    site = site_of(request)
    before = _description(site_of(request), slug)
    if form.get("do") == "describe":
        return _form(request, form, {}, changes=slug, shows_description=True)
    if _is_about_phases(form):
        return _form(request, _with_phases(form), {}, changes=slug)
    filled = _filled(request, form, {phase.name: phase.seed for phase in before.phases}, before)
    if filled.challenge is None:
        faults = filled.faults
    else:
        faults = change_faults(site, slug, filled.challenge)
    if filled.challenge is None or faults:
        return _form(request, form, faults, changes=slug)
    try:
        described, pools = prepare_change(site, slug, filled.challenge)
        if pools:
            return _to_draft(
                request,
                _post(request, PreviewChallenge.name, uuid.uuid4().hex, described, changes=slug),
            )
        with site.database.writing() as session:
            update_challenge(
                session, site.now(), described, SamplePool(rows=()), _by(visitor_of(request))
            )
    except SegarenaError as error:
        return _form(request, form, _fault_of(error), changes=slug)
    return RedirectResponse(f"/challenges/{slug}", 303)


@router.get("/organise/drafts/{draft:int}")
@require_role("organiser")
def show_draft(request: Request, draft: int) -> Response:
    """Show the progress and the result of a draft: the preview, creation or change of a challenge."""
    with site_of(request).database.reading() as session:
        job = _visible_draft(session, visitor_of(request), draft)
        queue = job_queue_position(session, job) if job.state in ("waiting", "leased") else None
    job_request = ChallengeJobRequest.of(job)
    said: Any = json.loads(job.said) if job.state == "done" and job.said else None
    values: dict[str, Any] = {
        "job": job,
        "job_request": job_request,
        "said": said,
        "queue": queue,
        "is_look": job.kind == DRAFTS[0],
        "rank_warnings": warnings_about_ranks(job_request.challenge),
    }
    answer = render_page(
        request, "challenge_draft.html", title=job_request.challenge.title, **values
    )
    if queue is not None:
        # The page reloads itself every two seconds, also without scripts.
        answer.headers["refresh"] = "2"
    return answer


@router.post("/organise/drafts/{draft:int}")
@require_role("organiser")
def make_draft(
    request: Request,
    draft: int,
    form: Form,
) -> Response:
    """Create or change the challenge of a draft, or repeat its preview; this also retries a failed job."""
    with site_of(request).database.reading() as session:
        job = _visible_draft(session, visitor_of(request), draft)
    job_request = ChallengeJobRequest.of(job)
    if form.get("do") == "look":
        return _to_draft(
            request,
            _post(
                request,
                PreviewChallenge.name,
                job.about,
                job_request.challenge,
                changes=job_request.changes,
            ),
        )
    kind = ChangeChallenge.name if job_request.changes else MakeChallenge.name
    return _to_draft(
        request,
        _post(
            request,
            kind,
            job_request.challenge.slug,
            job_request.challenge,
            changes=job_request.changes,
        ),
    )


def may_see_draft(
    session: Session,
    visitor: Visitor,
    wanted: ChallengeJobRequest,
) -> bool:
    """Return whether the visitor may see a draft.

    Organisers of a challenge see the drafts of its changes. Admins and the author see the draft of
    a new challenge.
    """
    if wanted.changes:
        changed = session.scalar(select(Challenge.id).where(Challenge.slug == wanted.changes))
        return changed is not None and visitor.organises(changed)
    return visitor.may("admin") or wanted.by.get("person_id") == visitor.person_id


def _visible_draft(
    session: Session,
    visitor: Visitor,
    draft: int,
) -> Job:
    """Return the job of a draft; raise `Refusal` if it does not exist, or belongs to somebody else."""
    job = session.get(Job, draft)
    if job is None or job.kind not in DRAFTS:
        raise http_errors.unknown()
    if not may_see_draft(session, visitor, ChallengeJobRequest.of(job)):
        raise http_errors.unknown()
    return job


def _form(
    request: Request,
    texts: Mapping[str, str],
    faults: Mapping[str, str],
    *,
    changes: str = "",
    shows_description: bool = False,
) -> Response:
    """Render the form with the submitted values, and with errors next to their fields."""
    site = site_of(request)
    begun: set[str] = set()
    images: dict[str, MarkdownImage] = {}
    if changes:
        with site.database.reading() as session:
            challenge = find_challenge(session, changes)
            begun = phases_with_runs(session, challenge.id)
            images = markdown_images(session, challenge)
    description = render_markdown(texts.get("text", ""), images) if shows_description else None
    context: dict[str, Any] = {
        "texts": defaultdict(str, {"zone": "UTC", **texts}),
        "faults": defaultdict(str, faults),
        "fault_labels": {name: _field_label(name) for name in faults},
        "phases": list(phase_numbers(texts)),
        "changes": changes,
        "begun": begun,
        "benchmarks": sorted(plugins_by_name("benchmark")),
        "datasets": sorted(plugins_by_name("dataset")),
        "roots": site.settings.roots,
        "interfaces": sorted(interfaces()),
        "most_phases": MAX_PHASES,
        "inputs": form_inputs(),
        "description": description,
    }
    title = f"Change {changes}" if changes else "A new challenge"
    return render_page(
        request, "challenge_form.html", title=title, status=422 if faults else 200, **context
    )


def _field_label(name: str) -> str:
    """Return the label of a field of the form, as in "Phase 2, Closes"."""
    phase, dot, own = name.rpartition(".")
    if not dot:
        return _LABELS.get(name, name.capitalize())
    number = int(phase.removeprefix("phases[").removesuffix("]")) + 1
    label = next((one.label for one in form_inputs() if one.name == own), own)
    return f"Phase {number}, {label}"


def _filled(
    request: Request,
    form: Mapping[str, str],
    seeds: Mapping[str, int],
    before: Description | None = None,
) -> ParsedForm:
    """Parse the challenge in a form, and check that pages may name its plug-ins.

    Plug-ins that the challenge already uses skip this check.
    """
    settings = site_of(request).settings
    filled = parse_form(_completed(form, before), zone=form.get("zone", "") or "UTC", seeds=seeds)
    if before:
        known = {before.benchmark, before.dataset, *(phase.dataset for phase in before.phases)}
    else:
        known = set[str]()
    texts = {field: text.strip() for field, text in form.items() if text.strip()}
    new = {
        field: text
        for field, text in texts.items()
        if text not in known and field not in filled.faults
    }
    faults = {**filled.faults, **plugin_faults(new, settings.roots)}
    if (
        before and len(before.phases) > MAX_PHASES
    ):  # phases that the form does not show would be lost
        faults["phases"] = (
            f"the challenge has {len(before.phases)}, more than a form can hold; use segarena challenge change"
        )
    for place, phase in enumerate(filled.challenge.phases if filled.challenge else ()):
        if "worker" in phase.takes and (why := sandbox_of(settings.sent).fault()):
            faults[f"phases[{place}].takes"] = (
                f"this server cannot run programs in a sandbox: {why}"
            )
    return ParsedForm(None, faults) if faults else filled


def _completed(form: Mapping[str, str], before: Description | None) -> dict[str, str]:
    """Return the fields of a form; missing fields take their values from the challenge before the change."""
    if before is None:
        return dict(form)
    texts = dict(form)
    there = form_texts(before)
    numbers = {phase.name: number for number, phase in enumerate(before.phases)}
    for field in Description.__struct_fields__:
        texts.setdefault(field, there.get(field, ""))
    for place in phase_numbers(form):
        number = numbers.get(form.get(f"phases[{place}].name", "").strip())
        for field in Phase.__struct_fields__ if number is not None else ():
            texts.setdefault(f"phases[{place}].{field}", there.get(f"phases[{number}].{field}", ""))
    return texts


def _fault_of(error: SegarenaError) -> dict[str, str]:
    """Return an error by field; an error that names no field is assigned to the benchmark."""
    field, _, why = str(error).partition(": ")
    name = field.partition("[")[0]
    known = name in Description.__struct_fields__ and bool(why)
    if known:
        return {name if name != "phases" else field: why}
    return {"benchmark": str(error)}


def _is_about_phases(form: Mapping[str, str]) -> bool:
    return form.get("do", "") == "add" or form.get("do", "").startswith("without-")


def _with_phases(form: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a form after adding or removing a phase."""
    count = len(phase_numbers(form))
    asked = form["do"]
    if asked == "add":
        if count < MAX_PHASES:
            return {**form, f"phases[{min(count, MAX_PHASES - 1)}].name": ""}
        return dict(form)
    gone = asked.removeprefix("without-")
    kept = [number for number in range(count) if str(number) != gone]
    texts = {field: text for field, text in form.items() if not field.startswith("phases[")}
    for place, number in enumerate(kept or range(count)):
        before = f"phases[{number}]."
        texts |= {
            f"phases[{place}].{field.removeprefix(before)}": t
            for field, t in form.items()
            if field.startswith(before)
        }
    return texts


def _post(
    request: Request,
    kind: str,
    about: str,
    described: Description,
    *,
    changes: str,
) -> int:
    """Enqueue a job about a challenge and return the job's id."""
    site = site_of(request)
    visitor = visitor_of(request)
    job_request = ChallengeJobRequest(described, _by(visitor), changes)
    with site.database.writing() as session:
        delete_old_drafts(session, site.now())
        number = enqueue_job(session, kind, about, site.now(), job_request.text()).id
    site.hurry()
    return number


def _to_draft(request: Request, number: int) -> Response:
    return RedirectResponse(f"/organise/drafts/{number}", 303)


def _description(site: Site, slug: str) -> Description:
    with site.database.reading() as session:
        challenge: Challenge = find_challenge(session, slug)
    return description_of(challenge)


def _by(visitor: Visitor) -> dict[str, Any]:
    return {"person_id": visitor.person_id, "address": visitor.address}
