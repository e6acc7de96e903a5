"""Job that propagates tracks of a video; the results are proposals in the frames' drafts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_queue import cancel_job, enqueue_job, find_job
from segarena_server.site import Site
from segarena_server.workers.job_runner import JobKind
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess
from segarena_studio.annotation.propagation import (
    VIDEO_SEGMENTERS,
    Propagation,
    RegionPolygons,
    TrackPropagator,
    TrackToPropagate,
    plan_windows,
)
from segarena_studio.annotation.tracks import (
    VideoFrame,
    check_sizes,
    is_key,
    list_frames,
    lock_frames,
    outlines_of,
    propose_region,
    save_frame,
)
from segarena_studio.orm_models import Task

MOST_FRAMES = 200
"""Largest number of frames in one direction."""
MOST_TRACKS = 20
_STEPS = {"forwards": (1,), "backwards": (-1,), "both": (1, -1)}


class PropagationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A request to propagate tracks from a frame.

    Attributes:
        regions: ids of regions that a person drew or accepted in the frame.
        segmenter: one of `VIDEO_SEGMENTERS`.
        direction: forwards, backwards or both.
        frames: maximum number of frames in each direction; a region stops at its next key frame.
    """

    regions: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MOST_TRACKS)]
    segmenter: str = VIDEO_SEGMENTERS[0]
    direction: Literal["forwards", "backwards", "both"] = "forwards"
    frames: Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAMES)] = MOST_FRAMES


class StoredRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with the task of its frame, as the job stores it."""

    task: int
    request: PropagationRequest


class PropagationResult(NamedTuple):
    """Number of frames with new or changed proposals, and of frames that were left alone because they are finished."""

    frames: int
    finished: int


class PropagationStatus(msgspec.Struct, frozen=True, kw_only=True):
    """State of a person's last propagation in a project.

    Attributes:
        state: "none", "waiting", "running", "done" or "failed".
        progress: what the job is doing, such as "frame 9 of 40".
        failure: why it failed.
        frames: number of frames with new or changed proposals.
        finished: number of frames left alone because they are finished.
    """

    state: Literal["none", "waiting", "running", "done", "failed"]
    progress: str = ""
    failure: str = ""
    frames: int = 0
    finished: int = 0


class PropagateTracks(JobKind):
    """Propagates tracks; `about` of each job contains the ids of the project and of the person."""

    name = "propagate tracks"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> TrackPropagator | None:
        """Return the work unit; None if the frame has been removed or belongs to somebody else by now."""
        stored = msgspec.json.decode(job.told, type=StoredRequest)
        task = session.get(Task, stored.task)
        if task is None or task.person_id != _person_of(job):
            return None
        return prepare_propagation(session, site, task, stored.request)

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: Propagation,
    ) -> None:
        """Add the proposals to the drafts of the frames that are not finished."""
        stored = msgspec.json.decode(job.told, type=StoredRequest)
        task = session.get(Task, stored.task)
        if task is None or task.person_id != _person_of(job):
            return
        frames = lock_frames(session, task)
        source = next(frame.text for frame in frames if frame.task.id == task.id)
        by_name = {frame.picture.name: frame for frame in frames}
        changed = 0
        finished = 0
        for name, proposals in result.frames.items():
            frame = by_name.get(name)
            # The frame has been given to somebody else in the meantime.
            if frame is None:
                continue
            if frame.task.state not in OPEN_STATES:
                finished += 1
                continue
            changed += _propose(session, frame, source, proposals, site.now())
        job.said = json.dumps(PropagationResult(changed, finished))


def _propose(
    session: Session,
    frame: VideoFrame,
    source: bytes,
    proposals: Mapping[str, RegionPolygons],
    now: float,
) -> bool:
    """Add proposals to a frame; return whether that changed anything."""
    text = frame.text
    for region_id, outlines in proposals.items():
        text = propose_region(text, source, region_id, outlines) or text
    if text == frame.text:
        return False
    save_frame(session, frame.task, text, now)
    return True


def prepare_propagation(
    session: Session,
    site: Site,
    task: Task,
    request: PropagationRequest,
) -> TrackPropagator:
    """Return the work unit of a request.

    Raises:
        InvalidInput: the segmenter is unknown, a region is missing or not confirmed, the frames differ
            in size, or there are no frames to propagate to.
    """
    if request.segmenter not in VIDEO_SEGMENTERS:
        raise InvalidInput(f"segmenter: expected one of {', '.join(VIDEO_SEGMENTERS)}")
    frames = list_frames(session, task)
    check_sizes(frames)
    here = next(index for index, frame in enumerate(frames) if frame.task.id == task.id)
    for region_id in request.regions:
        if not is_key(frames[here], region_id):
            raise InvalidInput(
                "expected regions that you drew or accepted in this frame; accept or correct the proposals first"
            )
    tracks = [_plan(frames, here, region_id, request) for region_id in request.regions]
    tracks = [track for track in tracks if track.windows]
    if not tracks:
        raise InvalidInput(
            "expected frames without a key frame in this direction, found none; choose another direction"
        )
    picture = task.picture
    return TrackPropagator(
        segmenter=request.segmenter,
        frames=[(frame.picture.sha256, frame.picture.name) for frame in frames],
        shape=(picture.height, picture.width),
        tracks=tracks,
        storage=site.folder.photographs,
    )


def _plan(
    frames: Sequence[VideoFrame],
    here: int,
    region_id: str,
    request: PropagationRequest,
) -> TrackToPropagate:
    """Return the windows of one region, and its outlines in the key frames that they start from."""
    windows: list[tuple[int, ...]] = []
    keys = {here}
    for step in _STEPS[request.direction]:
        end = len(frames) - 1 if step > 0 else 0
        last = here + step * min(request.frames, abs(end - here))
        next_key: int | None = None
        # Look one frame further: a key frame right after the last frame helps, too.
        for frame in range(here + step, last + 2 * step, step):
            if 0 <= frame < len(frames) and is_key(frames[frame], region_id):
                next_key = frame
                keys.add(frame)
                break
        windows += plan_windows(here, next_key, step, last)
    outlines: dict[int, RegionPolygons] = {}
    for index in keys:
        document = frames[index].document
        region = next(region for region in document.regions if region.id == region_id)
        outlines[index] = outlines_of(document, region)
    return TrackToPropagate(region=region_id, keys=outlines, windows=tuple(windows))


def request_propagation(
    session: Session,
    site: Site,
    found: TaskAccess,
    request: PropagationRequest,
) -> None:
    """Enqueue a propagation.

    Raises:
        InvalidInput: as for `prepare_propagation`; or the project has no videos.
        Refusal: the person may not draw on the task, or another propagation of theirs is in progress.
    """
    if not found.is_open:
        raise http_errors.conflict(f"this task is {found.task.state}; reopen it first")
    if not found.project.has_videos:
        raise InvalidInput(
            "expected a project whose folders are videos; its lead can choose that in the rules"
        )
    prepare_propagation(session, site, found.task, request)
    stored = msgspec.json.encode(StoredRequest(task=found.task.id, request=request)).decode()
    now = site.now()
    about = _subject(found)
    known = find_job(session, PropagateTracks.name, about)
    if known is not None and known.state in ("waiting", "leased"):
        raise http_errors.conflict(
            "another propagation of yours is in progress; wait for it or cancel it"
        )
    job = enqueue_job(session, PropagateTracks.name, about, now, stored)
    job.said = ""


def cancel_propagation(session: Session, found: TaskAccess, now: float) -> bool:
    """Cancel a person's propagation; return whether one was in progress."""
    return cancel_job(session, PropagateTracks.name, _subject(found), now)


def propagation_status(session: Session, found: TaskAccess) -> PropagationStatus:
    """Return the state of a person's last propagation in a project."""
    job = find_job(session, PropagateTracks.name, _subject(found))
    if job is None:
        return PropagationStatus(state="none")
    if job.state == "waiting":
        return PropagationStatus(state="waiting")
    if job.state == "leased":
        return PropagationStatus(state="running", progress=job.doing)
    if job.state == "dead":
        return PropagationStatus(state="failed", failure=job.failure)
    # A cancelled job has no result.
    if not job.said:
        return PropagationStatus(state="none")
    result = PropagationResult(*json.loads(job.said))
    return PropagationStatus(state="done", frames=result.frames, finished=result.finished)


def _subject(found: TaskAccess) -> str:
    return f"{found.project.id} {found.task.person_id}"


def _person_of(job: Job) -> int:
    return int(job.about.split()[1])
