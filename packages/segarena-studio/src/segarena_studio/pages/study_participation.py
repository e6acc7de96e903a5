"""Pages for participants of a study: consent, trials, end. They have no account, and IP addresses are not stored.

For each study, a signed cookie stores the key of the visit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

import msgspec
from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_people.prompts import DeviceKind
from segarena_server import http_errors
from segarena_server.auth.permissions import ANYONE, cookie_name, require_role, site_of
from segarena_server.http.request_body import Form, read_page_json
from segarena_server.site import Site
from segarena_studio.pages.rendering import studio_page
from segarena_studio.studies.description import decode_study
from segarena_studio.studies.display_modes import (
    decode_jpeg,
    displayed_mask,
    encode_jpeg,
    render_target,
)
from segarena_studio.studies.orm_models import StudyLink, StudyRow, StudyTrial
from segarena_studio.studies.trial_answers import MOST_BYTES, TrialAnswer
from segarena_studio.studies.trials import (
    OutOfOrder,
    begin_batch,
    begin_trial,
    check_and_judge,
    find_trial,
    item_mask,
    may_see_target,
    next_trial,
    take_answer,
    trial_after,
    trial_item,
)
from segarena_studio.studies.visits import (
    Visit,
    closed_reason,
    completion_code,
    delete_visit,
    find_link,
    find_visit,
    finish_visit,
    join_study,
    read_signed_key,
    sign_key,
)

_PATH = "/studio/take"
_LASTS_S = 30 * 86_400
_DEVICES = get_args(DeviceKind)


def _without_name(request: Request) -> None:
    """Keep the participant out of the access log."""
    # Participants were promised that nothing identifies them.
    request.state.is_nameless = True


router = APIRouter(include_in_schema=False, dependencies=[Depends(_without_name)])


class EmptyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request without contents."""


@router.get(_PATH + "/{link}")
@require_role(ANYONE)
def show_consent(request: Request, link: str) -> Response:
    """Show the consent form; participants who agreed already are redirected to the trials."""
    site = site_of(request)
    with site.database.reading() as session:
        row, found = _study_of(session, site, link)
        visit = _visit_of(request, session, row)
        why = closed_reason(row, found)
    if visit is not None:
        return RedirectResponse(f"{_PATH}/{link}/trials", 303)
    return _consent(request, link, row, why=why or "")


@router.post(_PATH + "/{link}")
@require_role(ANYONE)
def agree(
    request: Request,
    link: str,
    form: Form,
) -> Response:
    """Add a participant who agrees."""
    site = site_of(request)
    device = form.get("device", "")
    with site.database.reading() as session:
        row, _ = _study_of(session, site, link)
        # The form was submitted twice.
        if _visit_of(request, session, row) is not None:
            return RedirectResponse(f"{_PATH}/{link}/trials", 303)
    if form.get("agrees") != "yes" or device not in _DEVICES:
        return _consent(
            request,
            link,
            row,
            fault="Please tick the box to agree, and choose your device.",
            status=422,
        )
    try:
        with site.database.writing() as session:
            row, found = _study_of(session, site, link)
            _, key = join_study(session, site, found, cast("DeviceKind", device))
    except InvalidInput as error:
        return _consent(request, link, row, fault=str(error), status=422)
    answer = RedirectResponse(f"{_PATH}/{link}/trials", 303)
    # Participants may come back from a platform's site, from which browsers do not send strict cookies.
    answer.set_cookie(
        _cookie_name(site, row),
        sign_key(site, key),
        max_age=_LASTS_S,
        path=_PATH,
        secure=site.settings.is_secure,
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get(_PATH + "/{link}/trials")
@require_role(ANYONE)
def show_trials(request: Request, link: str) -> Response:
    """Show the page of the trials."""
    site = site_of(request)
    with site.database.reading() as session:
        row, _ = _study_of(session, site, link)
        visit = _visit_of(request, session, row)
    if visit is None:
        return RedirectResponse(f"{_PATH}/{link}", 303)
    return studio_page(
        request,
        "study_trials.html",
        title=visit.study.title,
        link=link,
        study=visit.study,
        arm=visit.arm,
    )


@router.get(_PATH + "/{link}/next")
@require_role(ANYONE)
def say_next(request: Request, link: str) -> Response:
    """Return the next step of the participant."""
    site = site_of(request)
    with site.database.writing() as session:
        visit = _need_visit(request, session, link, is_to_change=True)
        return JSONResponse(_visit_state(session, site, visit, f"{_PATH}/{link}"))


@router.post(_PATH + "/{link}/batch")
@require_role(ANYONE)
async def begin_next_batch(request: Request, link: str) -> Response:
    """Begin the next batch, and return the state of the visit, with the first trial if there is one."""
    await read_page_json(request, EmptyBody)
    return await run_in_threadpool(_move_on, request, link, begin_batch)


@router.post(_PATH + "/{link}/finish")
@require_role(ANYONE)
async def stop_here(request: Request, link: str) -> Response:
    """End the participation between two batches; at any other time nothing happens."""
    await read_page_json(request, EmptyBody)

    def stop(
        session: Session,
        site: Site,
        visit: Visit,
    ) -> None:
        if visit.visitor.state == "ready" and visit.visitor.batches:
            finish_visit(session, site, visit)

    return await run_in_threadpool(_move_on, request, link, stop)


def _move_on(
    request: Request,
    link: str,
    move: Callable[[Session, Site, Visit], object],
) -> Response:
    """Change the state of a visit, and return its next state."""
    site = site_of(request)
    with site.database.writing() as session:
        visit = _need_visit(request, session, link, is_to_change=True)
        move(session, site, visit)
        return JSONResponse(_visit_state(session, site, visit, f"{_PATH}/{link}"))


@router.post(_PATH + "/{link}/trials/{trial}/begin")
@require_role(ANYONE)
async def begin(
    request: Request,
    link: str,
    trial: str,
) -> Response:
    """Record that the picture is now visible; return the seconds for which it has already been visible."""
    await read_page_json(request, EmptyBody)

    def begun() -> Response:
        site = site_of(request)
        with site.database.writing() as session:
            visit = _need_visit(request, session, link, is_to_change=True)
            try:
                elapsed_s = begin_trial(_need_trial(session, visit, trial), site.now())
                return JSONResponse({"elapsed_s": elapsed_s})
            except OutOfOrder as error:
                raise http_errors.conflict(str(error)) from error

    return await run_in_threadpool(begun)


@router.post(_PATH + "/{link}/trials/{trial}")
@require_role(ANYONE)
async def answer(
    request: Request,
    link: str,
    trial: str,
) -> Response:
    """Store an answer."""
    given = await read_page_json(request, TrialAnswer, MOST_BYTES)

    def taken() -> Response:
        site = site_of(request)
        with site.database.reading() as session:
            visit = _need_visit(request, session, link)
            item = trial_item(session, _need_trial(session, visit, trial))
        try:
            # Judge the answer outside the transaction: it may take long, and would block other
            # participants.
            judged = check_and_judge(visit, item, given)
            with site.database.writing() as session:
                visit = _need_visit(request, session, link, is_to_change=True)
                # Read the visit again under a lock, because the first read may be outdated.
                feedback = take_answer(
                    site,
                    visit,
                    _need_trial(session, visit, trial),
                    given,
                    judged,
                )
        except OutOfOrder as error:
            raise http_errors.conflict(str(error)) from error
        except InvalidInput as error:
            raise http_errors.invalid(str(error)) from error
        return JSONResponse({"feedback": feedback})

    return await run_in_threadpool(taken)


@router.get(_PATH + "/{link}/trials/{trial}/picture")
@require_role(ANYONE)
def give_trial_picture(
    request: Request,
    link: str,
    trial: str,
) -> Response:
    """Return the picture of a trial."""
    site = site_of(request)
    with site.database.reading() as session:
        visit = _need_visit(request, session, link)
        sha256 = trial_item(session, _need_trial(session, visit, trial)).sha256
    # The page prefetches the next picture and shows it from the cache.
    headers = {"cache-control": "private, max-age=3600"}
    return FileResponse(site.folder.samples.fetch(sha256), media_type="image/jpeg", headers=headers)


@router.get(_PATH + "/{link}/trials/{trial}/target")
@require_role(ANYONE)
def give_target(
    request: Request,
    link: str,
    trial: str,
) -> Response:
    """Return the target of a trial in the participant's display mode, until its display time is over."""
    site = site_of(request)
    with site.database.reading() as session:
        visit = _need_visit(request, session, link)
        found = _need_trial(session, visit, trial)
        # The server enforces the limit, because a manipulated page could request the target again.
        if not may_see_target(visit, found, site.now()):
            raise http_errors.closed(
                "the display time of the target is over; it is not shown again"
            )
        item = trial_item(session, found)
    picture = decode_jpeg(site.folder.samples.read(item.sha256))
    mask = displayed_mask(
        item_mask(item),
        (picture.shape[0], picture.shape[1]),
        is_turned=item.is_turned,
    )
    shown = render_target(picture, mask, visit.arm.mode)
    if shown is None:
        raise http_errors.unknown()
    return Response(encode_jpeg(shown), media_type="image/jpeg")


@router.post(_PATH + "/{link}/withdraw")
@require_role(ANYONE)
def delete_all(
    request: Request,
    link: str,
    form: Form,
) -> Response:
    """Delete all answers of a participant."""
    site = site_of(request)
    with site.database.writing() as session:
        visit = _need_visit(request, session, link, is_to_change=True)
        delete_visit(session, visit)
        row = visit.row
    answer = studio_page(request, "study_withdrawn.html", title="Your answers are deleted")
    answer.delete_cookie(_cookie_name(site, row), path=_PATH)
    return answer


def _study_of(
    session: Session,
    site: Site,
    text: str,
) -> tuple[StudyRow, StudyLink]:
    link = find_link(session, site, text)
    if link is None:
        raise http_errors.unknown()
    return session.get_one(StudyRow, link.study_id), link


def _visit_of(
    request: Request,
    session: Session,
    row: StudyRow,
    *,
    is_to_change: bool = False,
) -> Visit | None:
    site = site_of(request)
    cookie = request.cookies.get(_cookie_name(site, row), "")
    return find_visit(session, row.id, read_signed_key(site, cookie), is_to_change=is_to_change)


def _need_visit(
    request: Request,
    session: Session,
    link: str,
    *,
    is_to_change: bool = False,
) -> Visit:
    row, _ = _study_of(session, site_of(request), link)
    visit = _visit_of(request, session, row, is_to_change=is_to_change)
    if visit is None:
        raise http_errors.unknown()
    return visit


def _need_trial(
    session: Session,
    visit: Visit,
    trial: str,
) -> StudyTrial:
    found = find_trial(session, visit, trial)
    if found is None:
        raise http_errors.unknown()
    return found


def _cookie_name(site: Site, row: StudyRow) -> str:
    return f"{cookie_name(site)}-study-{row.id}"


def _consent(
    request: Request,
    link: str,
    row: StudyRow,
    *,
    why: str = "",
    fault: str = "",
    status: int = 200,
) -> Response:
    study = decode_study(row.description)
    values: dict[str, Any] = {
        "link": link,
        "study": study,
        "why": why,
        "fault": fault,
    }
    return studio_page(request, "study_consent.html", title=study.title, status=status, **values)


def _visit_state(
    session: Session,
    site: Site,
    visit: Visit,
    address: str,
) -> dict[str, Any]:
    """Return the current state of a visit for the page."""
    trial = next_trial(session, site, visit)
    visitor = visit.visitor
    study = visit.study
    values: dict[str, Any] = {
        "state": visitor.state,
        "batch": visitor.batches,
        "batches": study.batches,
    }
    if trial is None:
        code = completion_code(site, visit)
        return values | {
            "code": code,
            "return_link": study.return_link.replace("{code}", code) if code else "",
        }
    item = trial_item(session, trial)
    seconds = study.seconds_of(visit.arm.mode)
    after = trial_after(session, trial)
    is_training = trial.purpose == "training"
    return values | {
        "trial": trial.id,
        "is_training": is_training,
        "place": visitor.passed + 1 if is_training else trial.place,
        "of": study.training if is_training else study.batch + study.attention,
        "kind": visit.arm.kind,
        "goal": item.goal,
        # In the other modes the label would reveal the target.
        "words": item.label if visit.arm.mode == "text" else "",
        "size": [item.width, item.height],
        "is_turned": item.is_turned,
        "seconds": seconds._asdict(),
        **_addresses(address, visit, trial),
        "ahead": _addresses(address, visit, after) if after else None,
    }


def _addresses(
    address: str,
    visit: Visit,
    trial: StudyTrial,
) -> dict[str, Any]:
    own = f"{address}/trials/{trial.id}"
    return {
        "picture": f"{own}/picture",
        "target": None if visit.arm.mode == "text" else f"{own}/target",
    }
