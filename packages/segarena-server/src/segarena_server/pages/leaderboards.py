"""Pages of boards: the board of a phase, its runs, and its samples if visitors may see them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from segarena.errors import SegarenaError
from segarena.reports.boards.board import Board
from segarena.reports.boards.board_tables import board_csv, board_tex
from segarena.reports.boards.json_export import board_json
from segarena.reports.boards.pages import board_page, run_page, sample_page
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.wording import count_text
from segarena_server import http_errors
from segarena_server.auth.permissions import ANYONE, require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import description_of, find_phase
from segarena_server.challenges.description import Phase
from segarena_server.challenges.integrity_audit import TestedRun, tested_runs
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge
from segarena_server.pages.challenges import visible_challenge
from segarena_server.pages.rendering import render_page
from segarena_server.runs.image_cache import image_cache
from segarena_server.runs.image_rendering import ComparisonRendering, SampleCards
from segarena_server.runs.phase_leaderboard import PhaseBoard, board_cache, sees_samples

router = APIRouter(include_in_schema=False)
_DRAWN_S = 2.0
_MOST_DRAWN = 6
"""Maximum number of runs, best first, for which a sample's page has images."""

_FILES: dict[str, tuple[str, Callable[[Board], str]]] = {
    "csv": ("text/csv", partial(board_csv, choice="all")),
    "json": ("application/json", board_json),
    "tex": ("application/x-tex", partial(board_tex, choice="all")),
}


@router.get("/challenges/{slug}/{phase}/board")
@require_role(ANYONE)
def show_board(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Show the board of a phase."""
    site = site_of(request)
    challenge, found, shown = _board(request, slug, phase)
    title = f"{description_of(challenge).title}: {found.name}"
    here = f"/challenges/{slug}/{phase}/board"
    is_open = _sees_samples(request, challenge, found)
    if shown is None:
        parts = None
    else:
        parts = shown.once(f"board {is_open}", partial(_parts, here=here, is_open=is_open))
    # Hidden from participants, because the test would tell an attacker which answers pass it.
    tested: list[TestedRun] = []
    if visitor_of(request).organises(challenge.id):
        with site.database.reading() as session:
            tested = tested_runs(session, challenge, found.name)
    return render_page(
        request,
        "board.html",
        title=title,
        challenge=challenge,
        phase=found,
        parts=parts,
        now=utc_datetime(site.now()),
        tested=tested,
    )


@router.get("/challenges/{slug}/{phase}/board.csv")
@router.get("/challenges/{slug}/{phase}/board.json")
@router.get("/challenges/{slug}/{phase}/board.tex")
@require_role(ANYONE)
def give_board(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Send the board of a phase as a file."""
    *_, shown = _board(request, slug, phase)
    if shown is None:
        raise http_errors.unknown()
    kind = request.url.path.rpartition(".")[2]
    media_type, make = _FILES[kind]
    return Response(shown.once(kind, lambda one: make(one.board)), media_type=media_type)


@router.get("/challenges/{slug}/{phase}/board/runs/{run_id}")
@require_role(ANYONE)
def show_run_of_board(
    request: Request,
    slug: str,
    phase: str,
    run_id: str,
) -> Response:
    """Show the rank of a run in every statistic, and its targets if visitors may see samples."""
    visitor = visitor_of(request)
    challenge, found, shown = _board(request, slug, phase)
    if shown is None or run_id not in shown.runs:
        raise http_errors.unknown()
    home = f"/challenges/{slug}/{phase}/board"
    entry = shown.runs.index(run_id)
    pages = _sample_pages(shown, home) if _sees_samples(request, challenge, found) else None
    own = f"/runs/{run_id}" if visitor.organises(challenge.id) else ""
    page = run_page(shown.board, shown.board.first_key, entry, home=home, pages=pages, own_page=own)
    parts = page.fragment()
    title = shown.board.names[entry]
    return render_page(
        request,
        "board_subpage.html",
        title=title,
        challenge=challenge,
        parts=parts,
        is_drawing=False,
    )


@router.get("/challenges/{slug}/{phase}/board/samples/{sample_number:int}")
@require_role(ANYONE)
def show_sample_of_board(
    request: Request,
    slug: str,
    phase: str,
    sample_number: int,
) -> Response:
    """Show a sample with the best runs side by side, if visitors may see samples."""
    challenge, found, shown = _board(request, slug, phase)
    is_organiser = visitor_of(request).organises(challenge.id)
    sample = f"sample {sample_number}"
    if shown is None or sample not in shown.samples or not _sees_samples(request, challenge, found):
        raise http_errors.unknown()
    home = f"/challenges/{slug}/{phase}/board"
    pages = list(_sample_pages(shown, home).values())
    place = list(shown.samples).index(sample)
    title = sample.capitalize()
    pictures = _pictures(request, challenge, found, shown, sample, is_organiser=is_organiser)
    page = sample_page(
        shown.board,
        shown.board.first_key,
        sample,
        title=f"{title}: {shown.samples[sample]}" if is_organiser else title,
        home=home,
        choice="best",
        pictures=pictures,
        before=pages[place - 1] if place else "",
        after=pages[place + 1] if place + 1 < len(pages) else "",
    )
    parts = page.fragment()
    is_drawing = pictures is None
    return render_page(
        request,
        "board_subpage.html",
        title=title,
        challenge=challenge,
        parts=parts,
        is_drawing=is_drawing,
    )


def _board(
    request: Request,
    slug: str,
    phase: str,
) -> tuple[Challenge, Phase, PhaseBoard | None]:
    site = site_of(request)
    visitor = visitor_of(request)
    challenge = visible_challenge(request, slug)
    found = find_phase(challenge, phase)
    with site.database.reading() as session:
        shown = board_cache(site).of(
            session, challenge, found, site.now(), sees_all=visitor.organises(challenge.id)
        )
    return challenge, found, shown


def _sees_samples(
    request: Request,
    challenge: Challenge,
    phase: Phase,
) -> bool:
    sees_all = visitor_of(request).organises(challenge.id)
    return sees_samples(phase, site_of(request).now(), sees_all=sees_all)


def _parts(
    shown: PhaseBoard,
    *,
    here: str,
    is_open: bool,
) -> Markup:
    files = [
        (f"{here}.{kind}", name)
        for kind, name in (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"))
    ]
    runs = [f"{here}/runs/{run}" for run in shown.runs]
    pages = _sample_pages(shown, here) if is_open else None
    page = board_page(
        shown.board,
        choice="best",
        files=files,
        pages=pages,
        runs=runs,
    )
    return page.fragment()


def _sample_pages(shown: PhaseBoard, here: str) -> dict[str, str]:
    return {sample: f"{here}/samples/{sample.split()[1]}" for sample in shown.samples}


def _pictures(
    request: Request,
    challenge: Challenge,
    phase: Phase,
    shown: PhaseBoard,
    sample: str,
    *,
    is_organiser: bool,
) -> Gallery | None:
    """Return a card for each target of a sample, with the best runs side by side.

    None while the images are being rendered.
    """
    site = site_of(request)
    board = shown.board
    key = board.first_key
    name = shown.samples[sample]
    about = [
        row.entry
        for row in board.rows(key, "best")
        if sample in board.entries[row.entry].extract.targets.sample
    ]
    drawn = about[:_MOST_DRAWN]
    runs = tuple(
        (f"{site.folder.run_folders.fetch(shown.runs[entry])}", board.names[entry])
        for entry in drawn
    )
    drawing = ComparisonRendering(
        challenge=challenge.description,
        phase=phase.name,
        sample=name,
        user=key.user,
        runs=runs,
    )
    try:
        content = image_cache(site).picture(("sample", drawing), lambda: drawing, _DRAWN_S)
    except http_errors.Refusal:
        raise
    except SegarenaError as error:
        note = f"{error}" if is_organiser else "This sample cannot be rendered."
        return Gallery(
            lead="",
            cards=(),
            count_note="",
            notes=[note],
        )
    if content is None:
        return None
    found = msgspec.json.decode(content, type=SampleCards)
    cards = [
        Card(
            anchor=f"target-{number}",
            name=one.name if is_organiser else f"target {number}",
            where=one.target if is_organiser else "",
            user="",
            viewers=one.viewers,
        )
        for number, one in enumerate(found.cards, 1)
    ]
    return Gallery(
        lead="",
        cards=cards,
        count_note=f"{count_text(len(cards), 'target')}, {count_text(len(runs), 'run')}",
    )
