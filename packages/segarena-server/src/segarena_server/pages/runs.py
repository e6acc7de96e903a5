"""Pages of runs: the visitor's own runs, and every round of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.api.queue_position import run_queue_position, turn_queue_position
from segarena_server.auth.permissions import record_visitor_event, require_role, site_of, visitor_of
from segarena_server.auth.teams import is_own, team_of
from segarena_server.challenges.challenge_repository import description_of, find_phase
from segarena_server.challenges.integrity_audit import (
    BLIND_IOU_NOTE,
    KNOWLEDGE_NOTE,
    audit_single_run,
)
from segarena_server.challenges.score_visibility import board_cutoff, shows_own_scores
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, Run, RunSample, Team
from segarena_server.http.request_body import Form
from segarena_server.pages.rendering import render_page
from segarena_server.runs.delayed_replies import as_participant_sees, delayed_turns
from segarena_server.runs.run_repository import (
    INTERACTIVE_KINDS,
    check_shows_samples,
    own_run,
    request_end,
)
from segarena_server.runs.run_views import Visibility
from segarena_server.runs.sample_view_builder import (
    SAMPLES_PER_PAGE,
    SampleViewBuilder,
    list_samples,
)
from segarena_server.runs.scores import visible_scores, withheld_reason
from segarena_server.runs.turn_repository import charged_seconds

router = APIRouter(include_in_schema=False)
MOST_LISTED = 200
"""Maximum number of runs in a list, newest first."""

_WATCH_S = 5
_DRAWN_S = 2.0
"""Seconds that a page waits for its images before it reports that they are being rendered."""

_MOST_PLACES = 10**6
PageNumber = Annotated[int, Query(alias="page", ge=1, le=_MOST_PLACES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunListRow:
    """A run in a list.

    Attributes:
        run: row of the run.
        challenge: slug of the challenge.
        team: name of the team that owns the run.
        person: name of the person who started it.
        places, over: number of its samples, and of those that are over.
    """

    run: Run
    challenge: str
    team: str
    person: str
    places: int
    over: int


@router.get("/runs")
@require_role("participant")
def show_runs(request: Request) -> Response:
    """List the runs of the visitor and the visitor's team."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = listed_runs(session, site.now(), person_id=visitor.person_id)
    return render_page(request, "runs.html", title="My runs", runs=found, most_listed=MOST_LISTED)


@router.get("/runs/{run_id}")
@require_role("participant")
def show_run(
    request: Request,
    run_id: str,
    page_number: PageNumber = 1,
) -> Response:
    """Show the progress of a run, and a list of its samples."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        run = own_run(session, run_id, visitor.person_id, organises=visitor.organises)
        is_organiser = visitor.organises(run.challenge_id)
        challenge = session.get_one(Challenge, run.challenge_id)
        phase = find_phase(challenge, run.phase)
        team = session.get_one(Team, run.team_id)
        person = session.get_one(Person, run.person_id)
        is_ours = is_own(run, team_of(session, visitor.person_id or 0), visitor.person_id)
        untold = {} if is_organiser else delayed_turns(session, [run.id], site.now())
        if untold:
            queue = turn_queue_position(session, next(iter(untold.values())))
        else:
            queue = run_queue_position(session, run)
        counts = _counts(session, [run.id], untold)[run.id]
        is_shown = is_organiser or run.kind in INTERACTIVE_KINDS
        eyes = Visibility.of(phase, is_organiser=is_organiser)
        places = list_samples(session, run, eyes, page_number, untold) if is_shown else []
        charged_s = charged_seconds(session, run.id)
        found = audit_single_run(session, run) if is_organiser else None
        run = as_participant_sees(session, run, untold)
    moment = utc_datetime(site.now())
    context: dict[str, Any] = {
        "places": places,
        "queue": queue,
        "challenge": challenge,
        "phase": phase,
    }
    context |= {"counts": counts, "charged_s": charged_s, "page_number": page_number}
    context["pages"] = -(-sum(counts.values()) // SAMPLES_PER_PAGE) if is_shown else 1
    scores = visible_scores(run, phase, site.now(), sees_all=is_organiser)
    shows = shows_own_scores(phase, moment)
    own: dict[str, Any] = {
        "is_own": is_ours,
        "is_organiser": is_organiser,
        "team": team,
        "person": person,
    }
    context |= {
        "held_back": withheld_reason(run, phase, site.now()),
        "found": found,
        "blind": BLIND_IOU_NOTE,
        "knowledge": KNOWLEDGE_NOTE,
    }
    own["may_choose"] = is_ours and _may_choose(challenge, run, site.now())
    own["is_watched"] = "every" in request.query_params and run.state != "over"
    answer = render_page(
        request,
        "run.html",
        title=run.name,
        run=run,
        scores=scores,
        shows=shows,
        **own,
        **context,
    )
    if own[
        "is_watched"
    ]:  # refreshed only on request, so that the page does not change while somebody reads it
        answer.headers["refresh"] = str(_WATCH_S)
    return answer


@router.get("/runs/{run_id}/samples/{place_number:int}")
@require_role("participant")
def show_place(
    request: Request,
    run_id: str,
    place_number: int,
    page_number: PageNumber = 1,
) -> Response:
    """Show every round about a sample of a run: prompts, answers, times, and what else the visitor may see."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        run = own_run(session, run_id, visitor.person_id, organises=visitor.organises)
        is_organiser = visitor.organises(run.challenge_id)
        if place_number <= _MOST_PLACES:
            place = session.get(RunSample, (run.id, place_number - 1))
        else:
            place = None
        if place is None:
            raise http_errors.unknown()
        if not is_organiser:
            check_shows_samples(run)
        challenge = session.get_one(Challenge, run.challenge_id)
        phase = find_phase(challenge, run.phase)
        view = SampleViewBuilder(
            session, site, run, place, Visibility.of(phase, is_organiser=is_organiser), page_number
        )
        last = sum(_counts(session, [run.id])[run.id].values())
    context: dict[str, Any] = {"run": run, "challenge": challenge, "phase": phase, "last": last}
    context |= {
        "page_number": page_number,
        "place": view.shown(_DRAWN_S),
        "is_organiser": is_organiser,
    }
    return render_page(
        request, "sample_rounds.html", title=f"{run.name}, sample {place_number}", **context
    )


@router.post("/runs/{run_id}/finish")
@require_role("participant")
def finish_run(
    request: Request,
    run_id: str,
    form: Form,
) -> Response:
    """End one of the visitor's runs early; dialogues that are still open fail."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        run = own_run(session, run_id, visitor.person_id)
        if request_end(session, run, site.now()):
            record_visitor_event(request, session, "run ended early", run.id)
    site.hurry()
    return RedirectResponse(f"/runs/{run.id}", 303)


@router.post("/runs/{run_id}/choose")
@require_role("participant")
def choose_run(
    request: Request,
    run_id: str,
    form: Form,
) -> Response:
    """Choose a run for the board, until the board is frozen or the phase closes; the last choice counts."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        run = own_run(session, run_id, visitor.person_id)
        challenge = session.get_one(Challenge, run.challenge_id)
        if not _may_choose(challenge, run, site.now()):
            raise http_errors.conflict(
                "this run cannot be chosen: it is not over, has no result or is unranked, or the board is final or "
                "frozen"
            )
        run.chosen_at = site.now()
        record_visitor_event(request, session, "run chosen", run.id)
    return RedirectResponse(f"/runs/{run.id}", 303)


def _may_choose(
    challenge: Challenge,
    run: Run,
    now: float,
) -> bool:
    """Return whether the team may choose this run for the board now."""
    moment = utc_datetime(now)
    is_still = find_phase(challenge, run.phase).is_closed(moment) or board_cutoff(
        description_of(challenge), moment
    )
    is_complete = run.state == "over" and bool(run.extract) and not run.fault
    return is_complete and not run.unranked and not is_still


def listed_runs(
    session: Session,
    now: float,
    person_id: int | None = None,
    challenges: Collection[int] | None = None,
) -> list[RunListRow]:
    """Return the newest runs: of a person and their team, or of everyone; in some challenges, or in all."""
    found = select(Run, Challenge.slug, Team.name, Person.name).join(
        Challenge, Challenge.id == Run.challenge_id
    )
    found = found.join(Team, Team.id == Run.team_id).join(Person, Person.id == Run.person_id)
    if person_id is not None:
        found = found.where(
            (Run.team_id == team_of(session, person_id)) | (Run.person_id == person_id)
        )
    if challenges is not None:
        found = found.where(Run.challenge_id.in_(challenges))
    rows = session.execute(found.order_by(Run.made_at.desc()).limit(MOST_LISTED)).all()
    run_ids = [run.id for run, *_ in rows]
    untold = {} if person_id is None else delayed_turns(session, run_ids, now)
    counts = _counts(session, run_ids, untold)
    return [
        RunListRow(
            run=as_participant_sees(session, run, untold),
            challenge=slug,
            team=team,
            person=person,
            places=sum(counts[run.id].values()),
            over=counts[run.id]["over"],
        )
        for run, slug, team, person in rows
    ]


def _counts(
    session: Session,
    run_ids: list[str],
    untold: Collection[tuple[str, int]] = (),
) -> dict[str, dict[str, int]]:
    """Return the numbers of open and finished samples of each run.

    A sample with a withheld reply counts as open for its participant.
    """
    counted = select(RunSample.run_id, RunSample.state, func.count()).where(
        RunSample.run_id.in_(run_ids)
    )
    found = {run_id: {"open": 0, "over": 0} for run_id in run_ids}
    for run_id, state, count in session.execute(
        counted.group_by(RunSample.run_id, RunSample.state)
    ):
        found[run_id][state] = count
    for run_id, place in untold:
        if session.get_one(RunSample, (run_id, place)).state == "over":
            found[run_id]["over"] -= 1
            found[run_id]["open"] += 1
    return found
