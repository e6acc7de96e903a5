"""The page on which organisers write announcements about a challenge."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.auth.permissions import (
    record_visitor_event,
    require_organiser_of,
    site_of,
    visitor_of,
)
from segarena_server.challenges.announcements import (
    MOST_PER_DAY,
    MOST_TEXT_LENGTH,
    MOST_TITLE_LENGTH,
    announcements_of,
    publish_announcement,
    wait_for_announcement_s,
    withdraw_announcement,
)
from segarena_server.challenges.challenge_repository import cached_info, find_challenge
from segarena_server.challenges.description_images import markdown_images
from segarena_server.challenges.markdown import render_markdown, render_prose
from segarena_server.http.request_body import Form, LargeForm, number_in
from segarena_server.mail.mail_outbox import announcement_readers, queue_announcement_emails
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/announcements")
@require_organiser_of("slug")
def show_announcements(request: Request, slug: str) -> Response:
    """Show the announcements of a challenge, with a form for a new one."""
    return _announcements(request, slug, {})


@router.post("/organise/challenges/{slug}/announcements")
@require_organiser_of("slug")
def publish(
    request: Request,
    slug: str,
    form: LargeForm,
) -> Response:
    """Preview an announcement, or publish it and queue its e-mails."""
    if form.get("do") != "publish":
        return _announcements(request, slug, form)
    site = site_of(request)
    visitor = visitor_of(request)
    if visitor.person_id is None:
        raise http_errors.forbidden()
    try:
        with site.database.writing() as session:
            challenge = find_challenge(session, slug)
            announcement = publish_announcement(
                session,
                challenge,
                form.get("title", ""),
                form.get("text", ""),
                person_id=visitor.person_id,
                now=site.now(),
            )
            count = queue_announcement_emails(session, announcement, site.now())
            record_visitor_event(
                request,
                session,
                "announcement published",
                f"{slug}: {announcement.title} ({count} e-mail{'' if count == 1 else 's'})",
            )
    except (InvalidInput, http_errors.Refusal) as error:
        is_limit = isinstance(error, http_errors.Refusal)
        if is_limit and error.kind != "quota":
            raise
        return _announcements(
            request, slug, form, fault=str(error), status=429 if is_limit else 422
        )
    return RedirectResponse(f"/challenges/{slug}#news", 303)


@router.post("/organise/challenges/{slug}/announcements/withdraw")
@require_organiser_of("slug")
def withdraw(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Withdraw an announcement from the page and drop its unsent e-mails."""
    site = site_of(request)
    number = number_in(form.get("announcement", ""))
    if number is None:
        raise http_errors.invalid("announcement: expected the number of an announcement")
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        withdrawn = withdraw_announcement(session, challenge, number, site.now())
        if withdrawn is not None:
            record_visitor_event(
                request, session, "announcement withdrawn", f"{slug}: {withdrawn.title}"
            )
    return RedirectResponse(f"/organise/challenges/{slug}/announcements", 303)


def _announcements(
    request: Request,
    slug: str,
    form: Mapping[str, str],
    *,
    fault: str = "",
    status: int = 200,
) -> Response:
    """Render the page, with a preview of the text in the form."""
    site = site_of(request)
    with site.database.reading() as session:
        challenge = find_challenge(session, slug)
        published = announcements_of(session, challenge)
        wait_s = wait_for_announcement_s(session, challenge, site.now())
        images = markdown_images(session, challenge)
        readers = len(announcement_readers(session, challenge.id))
    text = form.get("text", "")
    return render_page(
        request,
        "announcements.html",
        title="Announcements",
        status=status,
        challenge=challenge,
        shown=cached_info(challenge.description),
        published=[(one, render_prose(one.text, images, below=3)) for one in published],
        wait_s=wait_s,
        readers=readers,
        texts={"title": form.get("title", ""), "text": text},
        preview=render_prose(text, images, below=3) if text.strip() else "",
        missing_images=render_markdown(text, images).missing_images,
        fault=fault,
        most_per_day=MOST_PER_DAY,
        most_title=MOST_TITLE_LENGTH,
        most_text=MOST_TEXT_LENGTH,
    )
