"""Pages that show datasets with their targets, and every round of runs about them.

They show the truth, so they answer only where that is nobody else's secret: on a site that is for one person of this
machine, listens there alone, and was started by `segarena look`, which alone puts a `Shelf` on it. On every other site
each of these addresses is one that does not exist, for an administrator too.
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
from segarena_server.auth.permissions import require_role, site_of
from segarena_server.http import http_errors
from segarena_server.http.request_body import read_page_json
from segarena_server.pages.rendering import static_address
from segarena_studio.pages.rendering import studio_page
from segarena_studio.viewer.catalog import Catalog, Collection
from segarena_studio.viewer.dialogue_table import DialogueKey
from segarena_studio.viewer.mask_layers import encode_layers
from segarena_studio.viewer.planes import encode_plane
from segarena_studio.viewer.run_report import render_report
from segarena_studio.viewer.table_query import TableQuery
from segarena_studio.viewer.view_description import ViewDescription

router = APIRouter(include_in_schema=False)

ROWS_PER_REQUEST = 60
"""Rows that a page asks for at once, at most."""
_MOST_NUMBER = 10**9
_MOST_BYTES = 64 * 1024

NonNegative = Annotated[int, Query(ge=0, le=_MOST_NUMBER)]


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Where a place stands among the rows that are asked for.

    Attributes:
        row: from 0; None where it is not among them.
        count: of rows.
        previous, next: keys of its neighbours.
    """

    row: int | None
    count: int
    previous: DialogueKey | None
    next: DialogueKey | None


class ViewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A place, or why it cannot be shown."""

    around: Neighbours
    place: ViewDescription | None = None
    problem: str = ""


class ReplayMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Which dialogue is to be held again, of which run."""

    run: int
    key: DialogueKey


def find_catalog(request: Request) -> Catalog:
    """Return what is looked at.

    Raises:
        Refusal: this site is not for one person of this machine, or nothing is.
    """
    site = site_of(request)
    shelf = site.things.get(Catalog)
    if site.only_person is None or shelf is None:
        raise http_errors.unknown()
    return shelf


def find_collection(request: Request, number: int) -> Collection:
    """Return one of the collections, by its number."""
    collections = find_catalog(request).collections
    if not 0 <= number < len(collections):
        raise http_errors.unknown()
    return collections[number]


def parse_key(
    sample: str, target: str = "", user: str = "", repeat: NonNegative = 0
) -> DialogueKey:
    """Return the key that an address names."""
    return sample, target, user, repeat


def parse_query(
    words: str = "", where: Annotated[list[str] | None, Query()] = None, sort: str = ""
) -> TableQuery:
    """Return the question that an address asks."""
    return TableQuery.of(words, where or (), sort)


CurrentCollection = Annotated[Collection, Depends(find_collection)]
CurrentKey = Annotated[DialogueKey, Depends(parse_key)]


@router.get("/studio/look")
@require_role("viewer")
def show_shelf(request: Request) -> Response:
    """List what is looked at; a single collection is shown at once."""
    shelf = find_catalog(request)
    if len(shelf.collections) == 1:
        return RedirectResponse("/studio/look/0", 303)
    return studio_page(request, "viewer-shelf.html", title="Look", collections=shelf.collections)


@router.get("/studio/look/{number:int}")
@require_role("viewer")
def show_list(request: Request, number: int, here: CurrentCollection) -> Response:
    """Show the rows of a collection, as pictures and as a table."""
    told: dict[str, Any] = {
        "here": here,
        "number": number,
        "notes": list(filter(None, [here.samples.problem, *here.notes])),
    }
    told["columns"] = [dataclasses.asdict(column) for column in here.table.columns]
    return studio_page(request, "viewer-list.html", title=here.name, **told)


@router.get("/studio/look/{number:int}/view")
@require_role("viewer")
def show_view(request: Request, number: int, here: CurrentCollection) -> Response:
    """Show one place; its script asks for all that is in it."""
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
    """Tell some rows of those that are asked for, and how many there are."""

    def told() -> dict[str, Any]:
        question = parse_query(words, where, sort)
        return {
            "count": here.table.count(question),
            "rows": here.table.rows(question, first, ROWS_PER_REQUEST),
        }

    return _json(told)


@router.get("/studio/look/{number:int}/place")
@require_role("viewer")
def tell_place(
    here: CurrentCollection,
    key: CurrentKey,
    words: str = "",
    where: Annotated[list[str] | None, Query()] = None,
    sort: str = "",
) -> Response:
    """Tell all about a place, and which ones stand beside it."""

    def told() -> ViewMessage:
        around = _around(here, parse_query(words, where, sort), key)
        try:
            return ViewMessage(around=around, place=here.place(key))
        except SegarenaError as error:
            return ViewMessage(around=around, problem=_sentence(error))

    return _json(told)


@router.get("/studio/look/{number:int}/plane/{direction:int}/{index:int}")
@require_role("viewer")
def give_plane(here: CurrentCollection, sample: str, direction: int, index: int) -> Response:
    """Give the picture of one plane."""

    def made() -> Response:
        looked = here.samples.look(sample)
        planes = looked.planes
        if not (0 <= direction < len(planes) and 0 <= index < planes[direction].count):
            raise http_errors.unknown()
        content, kind = encode_plane(looked.sample, planes[direction], index, looked.levels)
        return Response(content, media_type=kind)

    return _or_sentence(made)


@router.get("/studio/look/{number:int}/layers/{direction:int}/{index:int}")
@require_role("viewer")
def give_layers(
    here: CurrentCollection, key: CurrentKey, direction: int, index: int, names: str
) -> Response:
    """Give masks in one plane, as run lengths."""

    def told() -> Any:
        looked = here.samples.look(key[0])
        planes = looked.planes
        if not (0 <= direction < len(planes) and 0 <= index < planes[direction].count):
            raise http_errors.unknown()
        return encode_layers(looked, planes[direction], index, names.split(","), key, here.answers)

    return _json(told)


@router.get("/studio/look/{number:int}/thumb")
@require_role("viewer")
def give_thumb(here: CurrentCollection, key: CurrentKey) -> Response:
    """Give a small picture of a place."""
    return _or_sentence(lambda: Response(here.thumb(key), media_type="image/jpeg"))


@router.post("/studio/look/{number:int}/again")
@require_role("viewer")
async def hold_again(request: Request, here: CurrentCollection) -> Response:
    """Have a dialogue held again, or tell what came of it; null while that is under way."""
    asked = await read_page_json(request, ReplayMessage, _MOST_BYTES)
    if not 0 <= asked.run < len(here.runs):
        raise http_errors.unknown()
    return await run_in_threadpool(_json, lambda: {"told": here.hold_again(asked.run, asked.key)})


@router.get("/studio/look/{number:int}/report")
@require_role("viewer")
def show_report(number: int, here: CurrentCollection) -> Response:
    """Show the report of the runs; its rows lead here."""
    if not here.runs:
        raise http_errors.unknown()

    def made() -> Response:
        return HTMLResponse(render_report(here, f"/studio/look/{number}", static_address))

    return _or_sentence(made)


def _around(here: Collection, question: TableQuery, key: DialogueKey) -> Neighbours:
    count = here.table.count(question)
    row = here.table.place_of(question, key)
    if row is None:
        first = here.table.rows(question, 0, 1)
        return Neighbours(
            row=None, count=count, previous=None, next=_key_in(first[0]) if first else None
        )
    near = {each["place"]: _key_in(each) for each in here.table.rows(question, max(0, row - 1), 3)}
    return Neighbours(row=row, count=count, previous=near.get(row - 1), next=near.get(row + 1))


def _key_in(row: dict[str, Any]) -> DialogueKey:
    return row["sample"], row.get("target") or "", row.get("user") or "", row.get("repeat") or 0


def _json(make: Callable[[], Any]) -> Response:
    """Return what is made as JSON; what cannot be is not there, a number that is none is null."""
    return _or_sentence(
        lambda: Response(msgspec.json.encode(make()), media_type="application/json")
    )


def _or_sentence(make: Callable[[], Response]) -> Response:
    """Return an answer, or a sentence about why there is none."""
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
