"""Viewer pages: datasets with their targets, and every round of runs on them.

The pages show the ground truth. Therefore they exist only on a single-user site that listens on
this machine alone and was started by `segarena look`, the only command that creates a `Catalog`. On
every other site these addresses do not exist, even for administrators.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from segarena.errors import SegarenaError
from segarena.reports.viewer_content import ViewerContent
from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of
from segarena_server.http.request_body import read_page_json
from segarena_server.pages.rendering import static_address
from segarena_studio.pages.rendering import studio_page
from segarena_studio.viewer.catalog import Catalog, Collection
from segarena_studio.viewer.dialogue_table import DialogueKey
from segarena_studio.viewer.mask_layers import encode_layers
from segarena_studio.viewer.planes import encode_plane
from segarena_studio.viewer.run_report import render_report
from segarena_studio.viewer.table_query import TableQuery

router = APIRouter(include_in_schema=False)

ROWS_PER_REQUEST = 60
"""Maximum number of rows in one response."""
_MOST_NUMBER = 10**9
_MOST_BYTES = 64 * 1024

NonNegative = Annotated[int, Query(ge=0, le=_MOST_NUMBER)]


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Position of a view among the rows of a query.

    Attributes:
        row: index of the row; None if the view is not among the rows.
        count: number of rows.
        previous, next: keys of the neighbouring rows, None at the ends; if the view is not among
            the rows, `next` is the first row.
    """

    row: int | None
    count: int
    previous: DialogueKey | None
    next: DialogueKey | None


class ViewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a view, or the reason why it cannot be shown.

    Attributes:
        around: its position in the list.
        content: the view; None if it cannot be shown.
        problem: why it cannot be shown.
        user_words: the prompts of its user in words; "" if unknown.
    """

    around: Neighbours
    user_words: str = ""
    content: ViewerContent | None = None
    problem: str = ""


class ReplayMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Request to replay a dialogue of a run."""

    run: int
    key: DialogueKey


def find_catalog(request: Request) -> Catalog:
    """Return the catalog of the viewer.

    Raises:
        Refusal: the site is not a single-user site on this machine, or has no catalog.
    """
    site = site_of(request)
    shelf = site.things.get(Catalog)
    if site.only_person is None or shelf is None:
        raise http_errors.unknown()
    return shelf


def find_collection(request: Request, number: int) -> Collection:
    """Return a collection by its number."""
    collections = find_catalog(request).collections
    if not 0 <= number < len(collections):
        raise http_errors.unknown()
    return collections[number]


def parse_key(
    sample: str,
    target: str = "",
    user: str = "",
    repeat: NonNegative = 0,
) -> DialogueKey:
    """Return the key in an address."""
    return sample, target, user, repeat


def parse_query(
    words: str = "",
    where: Annotated[list[str] | None, Query()] = None,
    sort: str = "",
) -> TableQuery:
    """Return the query in an address."""
    return TableQuery.of(words, where or (), sort)


CurrentCollection = Annotated[Collection, Depends(find_collection)]
CurrentKey = Annotated[DialogueKey, Depends(parse_key)]


@router.get("/studio/look")
@require_role("viewer")
def show_shelf(request: Request) -> Response:
    """List the collections; if there is only one, show it at once."""
    shelf = find_catalog(request)
    if len(shelf.collections) == 1:
        return RedirectResponse("/studio/look/0", 303)
    return studio_page(
        request, "viewer_collections.html", title="Viewer", collections=shelf.collections
    )


@router.get("/studio/look/{number:int}")
@require_role("viewer")
def show_list(
    request: Request,
    number: int,
    here: CurrentCollection,
) -> Response:
    """Show the rows of a collection, as pictures and as a table."""
    told: dict[str, Any] = {
        "here": here,
        "number": number,
        "notes": [note for note in (here.samples.problem, *here.notes) if note],
    }
    told["columns"] = [dataclasses.asdict(column) for column in here.table.columns]
    return studio_page(request, "viewer_list.html", title=here.name, **told)


@router.get("/studio/look/{number:int}/view")
@require_role("viewer")
def show_view(
    request: Request,
    number: int,
    here: CurrentCollection,
) -> Response:
    """Show one view; its script requests the contents."""
    return studio_page(request, "viewer.html", title=here.name, here=here, number=number)


@router.get("/studio/look/{number:int}/rows")
@require_role("viewer")
def tell_rows(
    here: CurrentCollection,
    first: NonNegative = 0,
    words: str = "",
    where: Annotated[list[str] | None, Query()] = None,
    sort: str = "",
) -> Response:
    """Return a page of a query's rows, with thumbnail colours if they are known, and the number of all rows."""

    def told() -> dict[str, Any]:
        question = parse_query(words, where, sort)
        rows = here.table.rows(question, first, ROWS_PER_REQUEST)
        colours = [
            here.thumb_colour((row["sample"], row.get("target") or "", "", 0)) for row in rows
        ]
        return {"count": here.table.count(question), "rows": rows, "colours": colours}

    return _json(told)


@router.get("/studio/look/{number:int}/content")
@require_role("viewer")
def send_content(
    here: CurrentCollection,
    key: CurrentKey,
    words: str = "",
    where: Annotated[list[str] | None, Query()] = None,
    sort: str = "",
) -> Response:
    """Describe a view, and its neighbours among the rows of a query."""

    def told() -> ViewMessage:
        around = _neighbours(here, parse_query(words, where, sort), key)
        user_words = here.user_words.get(key[2], "")
        try:
            return ViewMessage(around=around, user_words=user_words, content=here.describe(key))
        except SegarenaError as error:
            return ViewMessage(around=around, user_words=user_words, problem=_sentence(error))

    return _json(told)


@router.get("/studio/look/{number:int}/plane/{direction:int}/{index:int}")
@require_role("viewer")
def give_plane(
    here: CurrentCollection,
    sample: str,
    direction: int,
    index: int,
) -> Response:
    """Return the picture of one plane."""

    def made() -> Response:
        loaded = here.samples.load(sample)
        planes = loaded.planes
        if not (0 <= direction < len(planes) and 0 <= index < planes[direction].count):
            raise http_errors.unknown()
        content, kind = encode_plane(loaded.sample, planes[direction], index, loaded.levels)
        return Response(content, media_type=kind)

    return _or_sentence(made)


@router.get("/studio/look/{number:int}/layers/{direction:int}/{index:int}")
@require_role("viewer")
def give_layers(
    here: CurrentCollection,
    key: CurrentKey,
    direction: int,
    index: int,
    names: str,
) -> Response:
    """Return masks in one plane, as outlines."""

    def told() -> Any:
        loaded = here.samples.load(key[0])
        planes = loaded.planes
        if not (0 <= direction < len(planes) and 0 <= index < planes[direction].count):
            raise http_errors.unknown()
        return encode_layers(loaded, planes[direction], index, names.split(","), key, here.answers)

    return _json(told)


@router.get("/studio/look/{number:int}/thumb")
@require_role("viewer")
def give_thumb(here: CurrentCollection, key: CurrentKey) -> Response:
    """Return a thumbnail of a view."""
    return _or_sentence(lambda: Response(here.thumb(key), media_type="image/jpeg"))


@router.post("/studio/look/{number:int}/replay")
@require_role("viewer")
async def replay(request: Request, here: CurrentCollection) -> Response:
    """Start or poll the replay of a dialogue; null while it runs."""
    asked = await read_page_json(request, ReplayMessage, _MOST_BYTES)
    if not 0 <= asked.run < len(here.runs):
        raise http_errors.unknown()
    return await run_in_threadpool(_json, lambda: {"outcome": here.replay(asked.run, asked.key)})


@router.get("/studio/look/{number:int}/report")
@require_role("viewer")
def show_report(number: int, here: CurrentCollection) -> Response:
    """Show the report of the runs; its rows link to the viewer."""
    if not here.runs:
        raise http_errors.unknown()

    def made() -> Response:
        return HTMLResponse(render_report(here, f"/studio/look/{number}", static_address))

    return _or_sentence(made)


def _neighbours(
    here: Collection,
    question: TableQuery,
    key: DialogueKey,
) -> Neighbours:
    count = here.table.count(question)
    row = here.table.place_of(question, key)
    if row is None:
        first = here.table.rows(question, 0, 1)
        following = _key_in(first[0]) if first else None
        return Neighbours(
            row=None,
            count=count,
            previous=None,
            next=following,
        )
    rows = here.table.rows(question, max(0, row - 1), 3)
    near = {each["place"]: _key_in(each) for each in rows}
    return Neighbours(
        row=row,
        count=count,
        previous=near.get(row - 1),
        next=near.get(row + 1),
    )


def _key_in(row: dict[str, Any]) -> DialogueKey:
    """Return the key of a row; rows of samples without dialogues have only the sample."""
    return (
        row["sample"],
        row.get("target") or "",
        row.get("user") or "",
        row.get("repeat") or 0,
    )


def _json(make: Callable[[], Any]) -> Response:
    """Return a value as JSON, or an error message if it cannot be computed."""
    return _or_sentence(
        lambda: Response(msgspec.json.encode(make()), media_type="application/json")
    )


def _or_sentence(make: Callable[[], Response]) -> Response:
    """Return a response, or the error as a sentence."""
    try:
        return make()
    except http_errors.Refusal:
        raise
    except SegarenaError as error:
        told = msgspec.json.encode({"message": _sentence(error)})
        return Response(told, 422, media_type="application/json")


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
