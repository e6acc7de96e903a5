"""Segmenter assistance: receives prompts about the picture of a task, and returns a mask as run lengths."""

from __future__ import annotations

import asyncio
import time

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import read_page_json
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.projects import read_segmenters
from segarena_studio.assistance.offered_segmenters import assistants_of
from segarena_studio.assistance.prompt_messages import PromptMessages
from segarena_studio.assistance.segmenter_process import AnswerRequest, AssistantAnswer, PictureFile

router = APIRouter(include_in_schema=False)
MOST_BYTES = 512 * 1024


class AssistanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All prompts about an object so far, and the name of the segmenter."""

    segmenter: str
    prompts: PromptMessages


class EncodeMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request to encode a picture with a segmenter, because somebody views it or soon will."""

    segmenter: str
    is_ahead: bool = False


@router.get("/studio/key")
@require_role("participant")
def give_key(request: Request) -> Response:
    """Return the session's form key and the person's id to a page that was opened in an earlier session."""
    visitor = visitor_of(request)
    return _json({"key": visitor.form_key, "person": visitor.person_id})


@router.post("/studio/tasks/{task_id:int}/ask")
@require_role("participant")
async def ask(request: Request, task_id: int) -> Response:
    """Answer prompts about an object in the picture of the visitor's own task."""
    came = time.perf_counter()
    asked = await read_page_json(request, AssistanceRequest, MOST_BYTES)
    picture = await run_in_threadpool(_picture, request, task_id, asked.segmenter)
    assistant = assistants_of(site_of(request)).of(asked.segmenter)
    # Identify the requester by task too, so that requests about two tasks do not replace each other.
    asker = (task_id, _person(request))
    answering = assistant.ask(AnswerRequest(picture, asked.prompts), asker=asker)
    answer, waited_s = await asyncio.wrap_future(answering)
    return _json(_answer_values(answer, waited_s, time.perf_counter() - came))


@router.post("/studio/tasks/{task_id:int}/encode")
@require_role("participant")
async def encode(request: Request, task_id: int) -> Response:
    """Encode the picture of the visitor's own task in advance, so that the first prediction is fast."""
    wanted = await read_page_json(request, EncodeMessage)
    picture = await run_in_threadpool(_picture, request, task_id, wanted.segmenter)
    assistants_of(site_of(request)).of(wanted.segmenter).encode(picture, is_ahead=wanted.is_ahead)
    return _json({}, 202)


def _picture(
    request: Request,
    task_id: int,
    segmenter: str,
) -> PictureFile:
    """Return the picture of the visitor's own task in a project that offers the segmenter.

    Raises:
        Refusal: the task belongs to somebody else, or the project does not offer the segmenter.
    """
    site = site_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, _person(request))
        is_own = found.is_own
        chosen = read_segmenters(found.project)
        sha256 = found.picture.sha256
    if not is_own:
        raise http_errors.unknown()
    offered = assistants_of(site).among(chosen)
    if segmenter not in offered:
        raise http_errors.invalid(
            f"segmenter: expected one that the project offers, {', '.join(offered) or 'none'}"
        )
    # Use the hash as key, so that a picture in several projects is encoded once.
    return PictureFile(site.folder.photographs.fetch(sha256), sha256)


def _person(request: Request) -> int | None:
    return visitor_of(request).person_id


def _answer_values(
    answer: AssistantAnswer,
    waited_s: float,
    total_s: float,
) -> dict[str, object]:
    return {
        "size": answer.shape,
        "counts": answer.runs.tolist(),
        "model_ms": _ms(answer.predict_s),
        "encode_ms": _ms(answer.encode_s),
        "waited_ms": _ms(waited_s),
        "total_ms": _ms(total_s),
    }


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _json(value: object, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(value),
        status,
        {"cache-control": "no-store"},
        "application/json",
    )
