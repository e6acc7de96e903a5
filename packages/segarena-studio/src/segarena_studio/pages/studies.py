"""Pages of studies for their leaders: creation, links, progress, pictures, export."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse

from segarena.errors import InvalidInput, PluginError
from segarena.plugin_spec import PluginSpec
from segarena.registry import plugins_by_name
from segarena.reports.overlays import View, outline
from segarena_people.prompts import PromptKind
from segarena_server import http_errors
from segarena_server.auth.permissions import Visitor, require_role, site_of, visitor_of
from segarena_server.db.orm_models import Job
from segarena_server.extensions.allowed_plugins import plugin_fault
from segarena_server.http.request_body import Form, LargeForm, number_in
from segarena_server.jobs.job_queue import enqueue_job, find_job
from segarena_server.public_address import find_address
from segarena_studio.pages.form_errors import FormError, page_title, rejected_in_form
from segarena_studio.pages.rendering import studio_page
from segarena_studio.studies.correction_round import build_request
from segarena_studio.studies.description import MODES, Study, decode_study, encode_study
from segarena_studio.studies.display_modes import decode_jpeg, displayed_mask
from segarena_studio.studies.jobs import CorrectStudy, MakeStudy
from segarena_studio.studies.management import check_new, delete_study, set_study_state
from segarena_studio.studies.orm_models import StudyItem, StudyLink, StudyRow
from segarena_studio.studies.progress import (
    AnswerMark,
    find_neighbours,
    list_item_counts,
    list_marks,
    measure_arms,
    overview_row,
)
from segarena_studio.studies.segmenters import list_click_segmenters
from segarena_studio.studies.study_export import write_export
from segarena_studio.studies.study_form import form_texts, read_form
from segarena_studio.studies.trials import item_mask
from segarena_studio.studies.visits import find_link, link_text, make_link

router = APIRouter(include_in_schema=False)
_PATH = "/studio/studies"
_ITEMS = 50
_MARKS = 500
_PART = 2**18
_KINDS: tuple[PromptKind, ...] = ("click", "box", "scribble", "lasso")
_FIRST = {"slug": "", "title": "", "dataset": "demo", "kinds.click": "on", "modes.cut-out": "on"}


@router.get(_PATH)
@require_role("organiser")
def show_studies(request: Request) -> Response:
    """List all studies, and those whose creation is in progress or has failed."""
    with site_of(request).database.reading() as session:
        rows: list[tuple[StudyRow, Study, Any]] = []
        for row in session.scalars(select(StudyRow).order_by(StudyRow.made_at.desc())):
            rows.append((row, decode_study(row.description), overview_row(session, row)))
        known = {row.slug for row, _, _ in rows}
        # A job whose study exists is done; the other jobs are in progress or have failed.
        all_jobs = session.scalars(select(Job).where(Job.kind == MakeStudy.name))
        jobs = [job for job in all_jobs if job.about not in known]
    return studio_page(
        request,
        "studies.html",
        title="Studies",
        rows=rows,
        jobs=jobs,
    )


@router.get(_PATH + "/new")
@require_role("organiser")
def show_new_study(request: Request, like: str = "") -> Response:
    """Show the form of a new study, optionally with the values of an existing one."""
    texts = {**form_texts(Study(slug="x", title="x", dataset="demo")), **_FIRST}
    if like:
        with site_of(request).database.reading() as session:
            texts = {**form_texts(decode_study(_row(session, like).description)), "slug": ""}
    return _form(request, texts, {})


@router.post(_PATH + "/new")
@require_role("organiser")
def make_study(request: Request, form: LargeForm) -> Response:
    """Start the creation of a study."""
    site = site_of(request)
    filled = read_form(form)
    faults = filled.faults or _forbidden_plugins(request, filled.study)
    if filled.study is None or faults:
        return _form(request, form, faults)
    by = _by(visitor_of(request))
    values = json.dumps({"study": encode_study(filled.study), "by": by})
    try:
        with site.database.writing() as session:
            check_new(session, filled.study)
            enqueue_job(session, MakeStudy.name, filled.study.slug, site.now(), values)
    except InvalidInput as error:
        # Messages begin with the field, which is where the form shows them.
        field, _, why = str(error).partition(": ")
        return _form(request, form, {field: why})
    site.hurry()
    return RedirectResponse(f"{_PATH}/{filled.study.slug}", 303)


@router.get(_PATH + "/{slug}")
@require_role("organiser")
def show_study(
    request: Request,
    slug: str,
    first: int = 0,
) -> Response:
    """Show the progress of a study, or of its creation."""
    return _show(request, slug, min(max(0, first), 10**9))


def _show(
    request: Request,
    slug: str,
    first: int = 0,
    *,
    asked: str = "",
    fault: str = "",
    error: FormError | None = None,
) -> Response:
    site = site_of(request)
    public_address = find_address(site)
    with site.database.reading() as session:
        row = session.scalar(select(StudyRow).where(StudyRow.slug == slug))
        if row is None:
            return _being_made(request, session, slug)
        study = decode_study(row.description)
        items, total = list_item_counts(session, row, first, _ITEMS)
        links = session.scalars(
            select(StudyLink).where(StudyLink.study_id == row.id).order_by(StudyLink.id)
        ).all()
        addresses: list[tuple[StudyLink, str]] = []
        for link in links:
            address = f"{public_address}/studio/take/{link_text(site, link)}"
            addresses.append((link, address))
        corrections: list[tuple[str, Job]] = []
        for job in CorrectStudy.of_study(session, row):
            model = job.about.partition(": ")[2]
            corrections.append((model, job))
        values: dict[str, Any] = {
            "row": row,
            "study": study,
            "groups": measure_arms(session, row, study),
            "items": items,
            "total": total,
            "first": first,
            "most": _ITEMS,
            "links": addresses,
            "corrections": corrections,
            "segmenters": list_click_segmenters(),
            "asked": asked,
            "fault": fault,
            "error": error,
        }
    failed = 422 if fault else 200
    return studio_page(
        request,
        "study.html",
        title=page_title(study.title, error),
        status=error.status if error else failed,
        **values,
    )


def rejected_study(
    request: Request,
    error: FormError,
    slug: str,
) -> Response:
    """Return the page of a study with the error in one of its forms."""
    return _show(request, slug, error=error)


@router.post(_PATH + "/{slug}")
@require_role("organiser")
@rejected_in_form("state", rejected_study)
def change_study(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Open, close or delete a study."""
    site = site_of(request)
    by = _by(visitor_of(request))
    asked = form.get("state", "")
    with site.database.writing() as session:
        row = _row(session, slug)
        if asked == "deleted":
            delete_study(session, site.now(), row, by)
            return RedirectResponse(_PATH, 303)
        set_study_state(session, site.now(), row, asked, by)
    return RedirectResponse(f"{_PATH}/{slug}", 303)


@router.post(_PATH + "/{slug}/corrections")
@require_role("organiser")
def correct(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Enqueue a job: a segmenter answers the clicks of the first round, and other participants correct its masks."""
    site = site_of(request)
    segmenter = form.get("segmenter", "").strip()
    values = json.dumps({"segmenter": segmenter, "by": _by(visitor_of(request))})
    try:
        with site.database.writing() as session:
            _row(session, slug)
            if fault := _fault_of_segmenter(request, segmenter):
                raise InvalidInput(fault)
            build_request(session, slug, segmenter)
            enqueue_job(
                session,
                CorrectStudy.name,
                CorrectStudy.about(slug, segmenter),
                site.now(),
                values,
            )
    except (InvalidInput, PluginError) as error:
        return _show(request, slug, asked=segmenter, fault=str(error))
    site.hurry()
    return RedirectResponse(f"{_PATH}/{slug}#corrections", 303)


@router.post(_PATH + "/{slug}/links")
@require_role("organiser")
@rejected_in_form("links", rejected_study)
def add_link(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Create a link for participants."""
    site = site_of(request)
    most = number_in(form.get("most", ""))
    if most is None:
        raise http_errors.invalid(
            f"people per link: expected a whole number of at most nine digits, got {form.get('most', '')[:40]!r}"
        )
    with site.database.writing() as session:
        row = _row(session, slug)
        make_link(session, row, form.get("label", ""), most, site.now())
    return RedirectResponse(f"{_PATH}/{slug}#links", 303)


@router.post(_PATH + "/{slug}/links/{link}/end")
@require_role("organiser")
def end_link(
    request: Request,
    slug: str,
    link: str,
    form: Form,
) -> Response:
    """Disable a link: nobody else can join with it, but participants can continue."""
    site = site_of(request)
    with site.database.writing() as session:
        found = find_link(session, site, link)
        if found is None or found.study_id != _row(session, slug).id:
            raise http_errors.unknown()
        found.ended_at = site.now()
    return RedirectResponse(f"{_PATH}/{slug}#links", 303)


@router.get(_PATH + "/{slug}/items/{number:int}")
@require_role("organiser")
def show_item(
    request: Request,
    slug: str,
    number: int,
) -> Response:
    """Show the picture of an item, with up to `_MARKS` answers on it."""
    site = site_of(request)
    with site.database.reading() as session:
        row = _row(session, slug)
        item = _item(session, row, number)
        marks = list_marks(session, row, number, _MARKS)
        before, after = find_neighbours(session, row, number)
    study = decode_study(row.description)
    # Positions are in pixels of the displayed picture, which are square. The dataset’s picture may
    # be larger and have non-square pixels.
    height, width = decode_jpeg(site.folder.samples.read(item.sha256)).shape[:2]
    whole = View((slice(0, height), slice(0, width)), 1.0)
    mask = item_mask(item)
    border = outline(displayed_mask(mask, (height, width), is_turned=item.is_turned), whole)
    displayed: list[AnswerMark] = []
    for mark in marks:
        points = [_displayed_point(point, item, width, height) for point in mark.points]
        displayed.append(replace(mark, points=points))
    values: dict[str, Any] = {
        "row": row,
        "study": study,
        "item": item,
        "most": _MARKS,
        "size": (width, height),
    }
    values |= {"before": before, "after": after, "border": border, "marks": displayed}
    return studio_page(
        request,
        "study_item.html",
        title=f"{item.sample}: {item.label or item.target}",
        **values,
    )


@router.get(_PATH + "/{slug}/items/{number:int}/picture")
@require_role("organiser")
def give_item_picture(
    request: Request,
    slug: str,
    number: int,
) -> Response:
    """Return the picture of an item."""
    site = site_of(request)
    with site.database.reading() as session:
        sha256 = _item(session, _row(session, slug), number).sha256
    headers = {"cache-control": "private, max-age=3600"}
    return FileResponse(site.folder.samples.fetch(sha256), media_type="image/jpeg", headers=headers)


@router.get(_PATH + "/{slug}/export")
@require_role("organiser")
def export(request: Request, slug: str) -> Response:
    """Return the archive of a study."""
    site = site_of(request)
    with ExitStack() as stack, site.database.reading() as session:
        row = _row(session, slug)
        file = stack.enter_context(tempfile.TemporaryFile())
        write_export(session, row, file)
        # The response closes the file.
        stack.pop_all()
    file.seek(0)
    headers = {"content-disposition": f'attachment; filename="{slug}.zip"'}
    return StreamingResponse(
        _parts(file),
        media_type="application/zip",
        headers=headers,
        background=BackgroundTask(file.close),
    )


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    while part := file.read(_PART):
        yield part


def _being_made(
    request: Request,
    session: Session,
    slug: str,
) -> Response:
    job = find_job(session, MakeStudy.name, slug)
    if job is None:
        raise http_errors.unknown()
    answer = studio_page(request, "study_preparation.html", title=slug, job=job)
    if job.state in ("waiting", "leased"):
        # This page works without scripts and reloads until the job is done.
        answer.headers["refresh"] = "2"
    return answer


def _form(
    request: Request,
    texts: Mapping[str, str],
    faults: Mapping[str, str],
) -> Response:
    values: dict[str, Any] = {
        "texts": defaultdict(str, texts),
        "faults": defaultdict(str, faults),
        "is_wrong": bool(faults),
        "kinds": _KINDS,
        "modes": MODES,
        "datasets": sorted(plugins_by_name("dataset")),
        "roots": site_of(request).settings.roots,
    }
    return studio_page(
        request,
        "study_new.html",
        title="A new study",
        status=422 if faults else 200,
        **values,
    )


def _forbidden_plugins(request: Request, study: Study | None) -> dict[str, str]:
    """Return errors for plug-ins that a page may not name; on a single-person site all are allowed."""
    site = site_of(request)
    if study is None or site.only_person is not None:
        return {}
    values = {"dataset": plugin_fault("dataset", study.dataset, site.settings.roots)}
    faults = [_fault_of_segmenter(request, text) for text in study.corrections]
    values["corrections"] = "; ".join(filter(None, faults))
    return {field: fault for field, fault in values.items() if fault}


def _fault_of_segmenter(request: Request, text: str) -> str:
    """Return the reason why a page may not name this segmenter; "" if it may."""
    site = site_of(request)
    if site.only_person is not None:
        return ""
    return plugin_fault("segmenter", str(PluginSpec.parse_named(text)), site.settings.roots)


def _displayed_point(
    point: tuple[float, float],
    item: StudyItem,
    width: int,
    height: int,
) -> tuple[float, float]:
    """Map a point of the dataset's picture to the displayed picture."""
    x = point[0] * width / item.width
    y = point[1] * height / item.height
    return (width - x, height - y) if item.is_turned else (x, y)


def _row(session: Session, slug: str) -> StudyRow:
    row = session.scalar(select(StudyRow).where(StudyRow.slug == slug))
    if row is None:
        raise http_errors.unknown()
    return row


def _item(
    session: Session,
    row: StudyRow,
    number: int,
) -> StudyItem:
    item = session.get(StudyItem, (row.id, number)) if number < 2**31 else None
    if item is None:
        raise http_errors.unknown()
    return item


def _by(visitor: Visitor) -> dict[str, Any]:
    return {"person_id": visitor.person_id, "address": visitor.address}
