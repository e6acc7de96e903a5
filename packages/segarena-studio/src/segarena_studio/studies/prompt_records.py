"""Collected data as rows: the prompt table, and the clicks table for clicks on images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from segarena.systems.clicks.crowd.clicks_table import (
    CLICK_COLUMNS,
    DISPLAY_MODES,
    OBJECT_SEPARATOR,
)
from segarena_people.prompts import Exclusion, PersonPrompt, PointerSample
from segarena_studio.studies.description import Mode, decode_study
from segarena_studio.studies.orm_models import StudyItem, StudyRow, StudyTrial, StudyVisitor
from segarena_studio.studies.trial_answers import TrialAnswer

if TYPE_CHECKING:
    import polars as pl

# Display modes of studies and their names in the clicks table.
_MODES: dict[Mode, str] = dict(
    zip(
        ("text", "cut-out", "shifted-cut-out", "silhouette", "highlighted"),
        DISPLAY_MODES,
        strict=True,
    )
)
# Terms of RClicks: false negatives are missing parts, false positives surplus parts.
_CLICK_TYPES = {"object": "first", "missing": "fn", "surplus": "fp"}
_AT_ONCE = 500
_ITEM_FIELDS = (
    "sample",
    "target",
    "object_id",
    "plane",
    "label",
    "width",
    "height",
    "goal",
    "model",
)
_SCREEN_FIELDS = ("device_pixel_ratio", "page_scale", "image_scale")
_TIME_FIELDS = ("free_ms", "shown_ms", "blocked_ms", "answer_ms")
_ANSWER_FIELDS = ("scrolls", "zooms", "leaves", "early_presses")


def item_stem(item: StudyItem) -> str:
    """Return the name of an item in the clicks table and of its mask files."""
    image = item.sample if item.plane is None else f"{item.sample}_{item.plane}"
    stem = image if item.is_alone else f"{image}{OBJECT_SEPARATOR}{_object(item)}"
    if not item.model:
        return stem
    return f"{stem}_{file_name_of_model(item)}_{_CLICK_TYPES[item.goal]}"


def file_name_of_model(item: StudyItem) -> str:
    """Return the name of a segmenter in the form used in file names."""
    return re.sub(r"[^\w.-]+", "-", item.model).strip("-")


def _object(item: StudyItem) -> str:
    return item.target if item.object_id == 1 else f"{item.target}-{item.object_id}"


def iterate_prompts(session: Session, row: StudyRow) -> Iterator[tuple[StudyItem, PersonPrompt]]:
    """Yield every prompt of a study with its item, participant by participant in the order of the trials."""
    items = {item.number: item for item in session.scalars(_light_items(row))}
    query = (
        select(StudyTrial, StudyVisitor)
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(StudyTrial.study_id == row.id, StudyTrial.answered_s.is_not(None))
        .order_by(StudyVisitor.name, StudyTrial.batch, StudyTrial.place)
        .execution_options(yield_per=_AT_ONCE)
    )
    for trial, visitor in session.execute(query):
        yield items[trial.item], _prompt(row, items[trial.item], trial, visitor)
        # Without this, the session would keep every answer in memory.
        session.expunge(trial)


def _light_items(row: StudyRow) -> Any:
    """Select the items of a study; their masks are loaded only on access."""
    items = select(StudyItem).where(StudyItem.study_id == row.id).order_by(StudyItem.number)
    return items.options(defer(StudyItem.mask), defer(StudyItem.previous))


def _prompt(
    row: StudyRow,
    item: StudyItem,
    trial: StudyTrial,
    visitor: StudyVisitor,
) -> PersonPrompt:
    answer = msgspec.json.decode(trial.answer, type=TrialAnswer)
    # Names of samples may contain slashes; the masks lie in one folder.
    mask_file = f"{item_stem(item)}.png".replace("/", "__") if item.model else ""
    values: dict[str, Any] = {
        **_attributes(item, _ITEM_FIELDS),
        **_attributes(answer, _ANSWER_FIELDS),
        **_attributes(answer.screen, _SCREEN_FIELDS),
        **_attributes(answer.times, _TIME_FIELDS),
    }
    return PersonPrompt(
        id=trial.id,
        study=row.slug,
        dataset="easy" if item.is_easy else row.dataset,
        goal_mask=mask_file,
        previous_mask=mask_file,
        person=visitor.name,
        batch=trial.batch,
        place=trial.place,
        purpose=cast("Any", trial.purpose),
        round=2 if item.model else 1,
        kind=cast("Any", visitor.kind),
        is_positive=item.goal != "surplus",
        display_mode=visitor.mode,
        device=answer.device,
        declared_device=cast("Any", visitor.device),
        pointer=answer.decisive.pointer,
        points=tuple(_points(answer)),
        # Browsers may send arbitrary values, and the table has no negative sizes.
        window_width=max(0.0, answer.screen.window[0]),
        window_height=max(0.0, answer.screen.window[1]),
        scroll_x=max(0.0, answer.screen.scroll[0]),
        scroll_y=max(0.0, answer.screen.scroll[1]),
        server_ms=round(1000 * (trial.answered_s or 0.0), 1),
        reloads=max(0, trial.loads - 1),
        # All strokes but one were unnecessary, and so were presses after the answer.
        extra_presses=len(answer.strokes) - 1 + answer.late_presses,
        fate=_exclusion_of(trial, visitor),
        **values,
    )


def _attributes(source: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _points(answer: TrialAnswer) -> Iterator[PointerSample]:
    for number, stroke in enumerate(answer.strokes):
        for x, y, screen_x, screen_y, time_ms, pressure in stroke.points:
            yield PointerSample(
                stroke=number,
                x=x,
                y=y,
                screen_x=screen_x,
                screen_y=screen_y,
                time_ms=time_ms,
                pressure=pressure,
            )


def _exclusion_of(trial: StudyTrial, visitor: StudyVisitor) -> Exclusion:
    """Return why a prompt does not count; "" if it does, or belongs to training or attention checks."""
    if trial.purpose != "main":
        return ""
    # Report the reason that affects the most answers: first the person, then the batch, then the
    # answer.
    if visitor.missed * 2 > visitor.checks:
        return "attention"
    if trial.is_void:
        return "batch"
    return "" if trial.is_near else "far"


def clicks_frame(session: Session, row: StudyRow) -> pl.DataFrame:
    """Return the clicks on images in the main part, in order, with the columns of the clicks table and further ones.

    Further columns are `batch` (clicks made together), `person`, `display_mode` (as the
    published display-mode study names it), and `fate` (see `segarena_people.prompts`).
    """
    # Imported late: polars is slow to import, and most pages do not need it.
    import polars as pl

    rows: list[dict[str, Any]] = []
    for item, prompt in iterate_prompts(session, row):
        # The clicks table has no column for a slice or a frame.
        is_image_click = prompt.kind == "click" and prompt.plane is None
        if is_image_click and prompt.purpose == "main":
            rows.append(_click(row, item, prompt))
    types = {"x": pl.Int64, "y": pl.Int64, "w": pl.Int64, "h": pl.Int64}
    columns = (*CLICK_COLUMNS, "batch", "person", "display_mode", "fate")
    schema = {name: types.get(name, pl.String) for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _click(
    row: StudyRow,
    item: StudyItem,
    prompt: PersonPrompt,
) -> dict[str, Any]:
    point = prompt.points[0]
    return {
        "dataset": row.dataset,
        "image_stem": item.sample,
        "object_stem": "" if item.is_alone else _object(item),
        "model_type": file_name_of_model(item) if item.model else "",
        "click_type": _CLICK_TYPES[item.goal],
        "full_stem": item_stem(item),
        "device": prompt.device,
        # Whole pixels; they may lie outside of the image, as people's clicks do.
        "x": int(point.x // 1),
        "y": int(point.y // 1),
        "w": item.width,
        "h": item.height,
        "batch": f"{prompt.person}-{prompt.batch}",
        "person": prompt.person,
        "display_mode": _MODES[cast("Mode", prompt.display_mode)],
        "fate": prompt.fate,
    }


def display_modes_of(row: StudyRow) -> tuple[Mode, ...]:
    """Return the display modes of a study."""
    return decode_study(row.description).modes
