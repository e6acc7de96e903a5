"""Pages of rehearsals: start the job, and show the result as participants will see it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server.api.queue_position import job_queue_position
from segarena_server.auth.permissions import (
    record_visitor_event,
    require_organiser_of,
    site_of,
)
from segarena_server.challenges.challenge_repository import (
    cached_description,
    cached_info,
    find_challenge,
    find_phase,
)
from segarena_server.challenges.rehearsal import default_segmenter
from segarena_server.extensions.allowed_plugins import plugin_fault
from segarena_server.http.request_body import Form
from segarena_server.jobs.job_queue import enqueue_job, find_job
from segarena_server.pages.rendering import render_page
from segarena_server.workers.kinds.challenge_rehearsal import REHEARSAL_SAMPLES, RehearseChallenge

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/rehearsal")
@require_organiser_of("slug")
def show_rehearsal(request: Request, slug: str) -> Response:
    """Show the last rehearsal of a challenge, with a form to start another."""
    return _rehearsal(request, slug)


@router.post("/organise/challenges/{slug}/rehearsal")
@require_organiser_of("slug")
def begin_rehearsal(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Start a rehearsal with an installed segmenter."""
    site = site_of(request)
    segmenter = form.get("segmenter", "").strip()
    if fault := plugin_fault("segmenter", segmenter, site.settings.roots):
        return _rehearsal(request, slug, fault=fault, segmenter=segmenter)
    with site.database.writing() as session:
        phase = find_phase(find_challenge(session, slug), form.get("phase", ""))
        enqueue_job(
            session,
            RehearseChallenge.name,
            slug,
            site.now(),
            json.dumps({"phase": phase.name, "segmenter": segmenter}),
        )
        about = f"{slug}/{phase.name} by {segmenter}"
        record_visitor_event(request, session, "rehearsed", about)
    site.hurry()
    return RedirectResponse(f"/organise/challenges/{slug}/rehearsal", 303)


def _rehearsal(
    request: Request,
    slug: str,
    *,
    fault: str = "",
    segmenter: str = "",
) -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        challenge = find_challenge(session, slug)
        job = find_job(session, RehearseChallenge.name, slug)
        if job and job.state in ("waiting", "leased"):
            queue = job_queue_position(session, job)
        else:
            queue = None
    shown = cached_info(challenge.description)
    described = cached_description(challenge.description)
    if job:
        outcome: Any = json.loads(job.told)
    else:
        outcome = {
            "phase": shown.phases[0].name,
            "segmenter": segmenter or default_segmenter(described),
        }
    phase = next((one for one in shown.phases if one.name == outcome["phase"]), shown.phases[0])
    said: Any = json.loads(job.said) if job and job.state == "done" and job.said else None
    values: dict[str, Any] = {
        "challenge": challenge,
        "shown": shown,
        "phase": phase,
        "job": job,
        "said": said,
    }
    values |= {
        "queue": queue,
        "fault": fault,
        "segmenter": segmenter if fault else outcome["segmenter"],
    }
    status = 422 if fault else 200
    answer = render_page(
        request,
        "rehearsal.html",
        title=f"Rehearsal of {shown.title}",
        status=status,
        samples=REHEARSAL_SAMPLES,
        **values,
    )
    if queue is not None:
        answer.headers["refresh"] = "2"
    return answer
