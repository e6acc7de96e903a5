"""Comparison page: the drawings of one picture by several annotators, for reviewers and leads."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.systems.scenes.measures.agreement import SAME_IOU
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.comparison import StoredDrawing, compare_drawings, list_drawings
from segarena_studio.pages.editor_api import compressed_json
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)


@router.get("/studio/tasks/{task_id:int}/compare")
@require_role("participant")
def show_comparison(request: Request, task_id: int) -> Response:
    """Show the drawing of a task next to other annotators' drawings of the picture."""
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id, needed="reviewer")
        drawings = list_drawings(session, found.task)
        if len(drawings) > 1 and drawings[0].task.id != task_id:
            # This task has no drawing yet, but others of the picture have.
            return RedirectResponse(f"/studio/tasks/{drawings[0].task.id}/compare", 303)
        return studio_page(
            request,
            "comparison.html",
            title=f"Compare {found.picture.name}",
            task=found.task,
            picture=found.picture,
            project=found.project,
            drawings=[(drawing.task, annotator_name(drawing)) for drawing in drawings],
        )


@router.get("/studio/tasks/{task_id:int}/comparison")
@require_role("participant")
def give_comparison(request: Request, task_id: int) -> Response:
    """Return all drawings of the picture, and the comparison of the task's drawing with each of the others."""
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id, needed="reviewer")
        drawings = list_drawings(session, found.task)
        shape = (found.picture.height, found.picture.width)
        described: list[dict[str, object]] = []
        for drawing in drawings:
            described.append(
                {
                    "task": drawing.task.id,
                    "annotator": annotator_name(drawing),
                    "state": drawing.task.state,
                    "scene": msgspec.Raw(drawing.text),
                }
            )
    comparisons: dict[int, object] = {}
    # Without a drawing of this task there is nothing to compare the others with.
    if drawings and drawings[0].task.id == task_id:
        for other in drawings[1:]:
            comparisons[other.task.id] = compare_drawings(drawings[0].text, other.text, shape)
    return compressed_json(
        request,
        {"drawings": described, "comparisons": comparisons, "same_iou": SAME_IOU},
    )


def annotator_name(drawing: StoredDrawing) -> str:
    """Return the name of a drawing's annotator, or "drawing" and the number of its task if it has no annotator."""
    return drawing.person.name if drawing.person else f"drawing {drawing.task.id}"
