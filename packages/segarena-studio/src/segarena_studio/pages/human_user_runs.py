"""Pages for people in place of simulated users: the runs with human users, and their seats."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, RedirectResponse, Response

from segarena.engine.human_dialogue_files import PersonPrompts, SeatInfo
from segarena.engine.sample_preview import SamplePreview, read_preview
from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, read_page_json
from segarena_studio.human_user.personal_data import participant_name
from segarena_studio.human_user.prompting_page_messages import (
    RoundMessage,
    build_person_prompts,
    describe_seat,
    describe_state,
    elapsed_s,
)
from segarena_studio.human_user.run_registry import ServedRun, find_run, list_runs
from segarena_studio.human_user.target_assignment import SeatProgress, measure_progress, take_seat
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)

_MOST_BYTES = 2 * 2**20
_PATIENCE_S = 15.0
_LOOK_S = 0.02
# Index of a round or frame in an address; also used as a file name.
_Number = Annotated[int, Path(ge=0, le=10**6)]
# The files of a sample never change, because the address contains the run.
_YEAR = "private, max-age=31536000, immutable"


@router.get("/studio/seats")
@require_role("participant")
def show_waiting_runs(request: Request) -> Response:
    """List the runs that request prompts from people."""
    runs: list[tuple[ServedRun, SeatProgress]] = []
    for run in list_runs(site_of(request).folder):
        runs.append((run, measure_progress(run.seats, _person(request, run))))
    return studio_page(request, "seats.html", title="Take a seat", runs=runs)


@router.get("/studio/seats/{run}")
@require_role("participant")
def show_seat(request: Request, run: str) -> Response:
    """Show a seat; the page requests its contents."""
    found = _run(request, run)
    return studio_page(request, "seat.html", title=found.title, run=found)


@router.get("/studio/seats/{run}/dialogues")
@require_role("organiser")
def show_dialogues(request: Request, run: str) -> Response:
    """Show the state of each dialogue to an organiser."""
    found = _run(request, run)
    rows: list[tuple[SeatInfo, dict[str, Any]]] = []
    for name in found.seats.names():
        info = found.seats.seat(name)
        if info is not None:
            rows.append((info, _dialogue_state(found, info)))
    return studio_page(
        request,
        "seat_dialogues.html",
        title=found.title,
        run=found,
        rows=rows,
    )


@router.post("/studio/seats/{run}/dialogues/{seat}/free")
@require_role("organiser")
def free_seat(
    request: Request,
    run: str,
    seat: str,
    form: Form,
) -> Response:
    """Free a seat that somebody took without giving a prompt."""
    found = _run(request, run)
    found.seats.free(_seat(found, seat).seat)
    return RedirectResponse(f"/studio/seats/{run}/dialogues", 303)


@router.post("/studio/seats/{run}/dialogues/{seat}/end")
@require_role("organiser")
def end_dialogue(
    request: Request,
    run: str,
    seat: str,
    form: Form,
) -> Response:
    """End an abandoned dialogue as it stands."""
    found = _run(request, run)
    info = _seat(found, seat)
    person = found.seats.person(info.seat)
    if not person or found.seats.is_over(info.seat):
        raise http_errors.conflict("this dialogue is not in progress; reload the page")
    # Ending a dialogue is recorded as prompts of None, as when the person finds nothing left to
    # correct.
    ended = PersonPrompts(
        id="",
        prompts=None,
        person=person,
        user_s=0.0,
        note="ended by the organiser of the run",
    )
    found.seats.give(info.seat, _count_rounds(found, info) + 1, ended)
    return RedirectResponse(f"/studio/seats/{run}/dialogues", 303)


class _Nothing(msgspec.Struct, frozen=True):
    pass


@router.post("/studio/seats/{run}/take")
@require_role("participant")
async def take(request: Request, run: str) -> Response:
    """Assign a seat to the visitor: the one they left, or another one; report if none is free."""
    await read_page_json(request, _Nothing)
    found = _run(request, run)
    person = _person(request, found)
    seat = await run_in_threadpool(take_seat, found.seats, person)
    there = await run_in_threadpool(measure_progress, found.seats, person)
    info = {"seat": seat, "mine": there.mine, "over": there.over, "seats": there.seats}
    return _json({**info, "is_answered": found.is_answered})


@router.get("/studio/seats/{run}/{seat}/about")
@require_role("participant")
def about(
    request: Request,
    run: str,
    seat: str,
) -> Response:
    """Describe a seat."""
    found, info = _own(request, run, seat)
    return _json(describe_seat(found.seats, info, _seen(found, info)))


@router.get("/studio/seats/{run}/{seat}/state")
@require_role("participant")
def state(
    request: Request,
    run: str,
    seat: str,
) -> Response:
    """Return the state of the dialogue at a seat."""
    found, info = _own(request, run, seat)
    return _json(describe_state(found.seats, info))


@router.put("/studio/seats/{run}/{seat}/rounds/{number}")
@require_role("participant")
async def give(
    request: Request,
    run: str,
    seat: str,
    number: _Number,
) -> Response:
    """Store the prompts of a round, and wait for a limited time for the prediction.

    Prompts are final: repeating the same request changes nothing, and other prompts for the same
    round are rejected.
    """
    came = await read_page_json(request, RoundMessage, _MOST_BYTES)
    found, info = await run_in_threadpool(_own, request, run, seat)
    given = await run_in_threadpool(_give, request, found, info, number, came)
    # If one person uses two windows, the first prompts count.
    if given.id != came.id:
        raise http_errors.conflict(
            "this round was already answered in another window; reload the page"
        )
    until = time.monotonic() + _PATIENCE_S
    # Files are the only connection to the run, which may be a process on another host.
    while found.seats.answered(info.seat, number) is None and time.monotonic() < until:
        await asyncio.sleep(_LOOK_S)
    return _json(await run_in_threadpool(describe_state, found.seats, info))


@router.get("/studio/seats/{run}/{seat}/picture/{number}")
@require_role("participant")
def picture(
    request: Request,
    run: str,
    seat: str,
    number: _Number,
) -> Response:
    """Return an image, or a frame of a video."""
    found, info = _own(request, run, seat)
    file = found.seats.sample_folder(info.place) / f"{number:05d}.png"
    if not file.is_file():
        raise http_errors.unknown()
    return FileResponse(file, media_type="image/png", headers={"cache-control": _YEAR})


@router.get("/studio/seats/{run}/{seat}/voxels")
@require_role("participant")
def voxels(
    request: Request,
    run: str,
    seat: str,
) -> Response:
    """Return the 16-bit voxels of a volume."""
    found, info = _own(request, run, seat)
    file = found.seats.sample_folder(info.place) / "voxels.gz"
    if not file.is_file():
        raise http_errors.unknown()
    headers = {"cache-control": _YEAR, "content-encoding": "gzip"}
    return FileResponse(file, media_type="application/octet-stream", headers=headers)


def _give(
    request: Request,
    run: ServedRun,
    info: SeatInfo,
    number: int,
    came: RoundMessage,
) -> PersonPrompts:
    there = run.seats.given(info.seat, number)
    if there is not None:
        return there
    if number != _count_rounds(run, info) + 1 or run.seats.is_over(info.seat):
        raise http_errors.conflict(f"expected the next round, got round {number}; reload the page")
    # A person corrects the previous prediction; without it there is nothing to correct.
    if number > 1 and run.seats.answered(info.seat, number - 1) is None:
        raise http_errors.conflict("the previous round is not answered yet; wait for its answer")
    try:
        most = run.seats.info().most_prompts
        elapsed = elapsed_s(run.seats, info.seat, number)
        given = build_person_prompts(came, info, most, _person(request, run), elapsed)
    except InvalidInput as error:
        raise http_errors.invalid(str(error)) from error
    return run.seats.give(info.seat, number, given)


def _count_rounds(run: ServedRun, info: SeatInfo) -> int:
    return sum(1 for _ in run.seats.rounds(info.seat))


def _run(request: Request, id_: str) -> ServedRun:
    found = find_run(site_of(request).folder, id_)
    if found is None:
        raise http_errors.unknown()
    return found


def _seat(run: ServedRun, name: str) -> SeatInfo:
    info = run.seats.seat(name)
    if info is None:
        raise http_errors.unknown()
    return info


def _own(
    request: Request,
    run: str,
    seat: str,
) -> tuple[ServedRun, SeatInfo]:
    """Return a run and the visitor's seat; for other people's seats, respond as for a missing page."""
    found = _run(request, run)
    info = _seat(found, seat)
    if found.seats.person(info.seat) != _person(request, found):
        raise http_errors.unknown()
    return found, info


def _person(request: Request, run: ServedRun) -> str:
    return participant_name(site_of(request), run, visitor_of(request).person_id)


def _seen(run: ServedRun, info: SeatInfo) -> SamplePreview:
    seen = read_preview(run.seats.sample_folder(info.place))
    if seen is None:
        raise http_errors.unknown()
    return seen


def _dialogue_state(run: ServedRun, info: SeatInfo) -> dict[str, Any]:
    given = _count_rounds(run, info)
    person = run.seats.person(info.seat)
    is_over = run.seats.is_over(info.seat)
    return {"person": person, "given": given, "is_over": is_over, "is_free": not person}


def _json(info: Any) -> Response:
    return Response(msgspec.json.encode(info), media_type="application/json")
