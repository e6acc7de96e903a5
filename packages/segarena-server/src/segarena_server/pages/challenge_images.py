"""Images in the description of a challenge: the page where organisers upload them, and the files themselves."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.auth.permissions import (
    ANYONE,
    record_visitor_event,
    require_organiser_of,
    require_role,
    site_of,
)
from segarena_server.challenges.challenge_repository import cached_info, find_challenge
from segarena_server.challenges.description_images import (
    MOST_IMAGE_BYTES,
    MOST_IMAGES,
    add_image,
    images_of,
    markdown_images,
)
from segarena_server.challenges.markdown import render_markdown
from segarena_server.db.orm_models import ChallengeImage
from segarena_server.http.request_body import Form, read_uploads
from segarena_server.pages.challenges import visible_challenge
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)
# The URL changes with the content; `private`, because a challenge may be hidden from strangers.
_CACHED = "private, max-age=31536000, immutable"


@router.get("/challenges/{slug}/images/{image}")
@require_role(ANYONE)
def image_file(
    request: Request,
    slug: str,
    image: str,
) -> Response:
    """Send an image to visitors who may see the challenge."""
    challenge = visible_challenge(request, slug)
    with site_of(request).database.reading() as session:
        found = session.get(ChallengeImage, (challenge.id, image))
    if found is None:
        raise http_errors.unknown()
    headers = {"cache-control": _CACHED, "content-disposition": f'inline; filename="{found.name}"'}
    return Response(found.content, media_type=found.media_type, headers=headers)


@router.get("/organise/challenges/{slug}/images")
@require_organiser_of("slug")
def show_images(request: Request, slug: str) -> Response:
    """Show the images of a challenge, with a form to upload one."""
    return _images(request, slug)


@router.post("/organise/challenges/{slug}/images")
@require_organiser_of("slug")
async def upload_image(request: Request, slug: str) -> Response:
    """Store an uploaded image, replacing one with the same name."""
    _, files = await read_uploads(request, MOST_IMAGE_BYTES, 1)
    return await run_in_threadpool(_store, request, slug, *files[0])


@router.post("/organise/challenges/{slug}/images/delete")
@require_organiser_of("slug")
def delete_image(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Delete an image; descriptions that use it show its alternative text instead."""
    site = site_of(request)
    name = form.get("image", "")
    if not name:
        raise http_errors.invalid("image: expected the name of an image")
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        found = session.get(ChallengeImage, (challenge.id, name))
        if found is not None:
            session.delete(found)
            record_visitor_event(request, session, "image deleted", f"{slug}: {name}")
    return RedirectResponse(f"/organise/challenges/{slug}/images", 303)


def _store(
    request: Request,
    slug: str,
    name: str,
    content: bytes,
) -> Response:
    site = site_of(request)
    try:
        with site.database.writing() as session:
            challenge = find_challenge(session, slug)
            stored = add_image(session, challenge, name, content, site.now())
            record_visitor_event(request, session, "image uploaded", f"{slug}: {stored.name}")
    except InvalidInput as error:
        return _images(request, slug, fault=f"{name[:80]}: {error}")
    return RedirectResponse(f"/organise/challenges/{slug}/images", 303)


def _images(
    request: Request,
    slug: str,
    fault: str = "",
) -> Response:
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        images = images_of(session, challenge)
        addresses = markdown_images(session, challenge)
    info = cached_info(challenge.description)
    return render_page(
        request,
        "challenge_images.html",
        title="Images",
        status=422 if fault else 200,
        challenge=challenge,
        shown=info,
        images=images,
        addresses=addresses,
        missing=render_markdown(info.text, addresses).missing_images,
        fault=fault,
        most_images=MOST_IMAGES,
        most_mb=MOST_IMAGE_BYTES // 2**20,
    )
