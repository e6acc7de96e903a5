"""Propagation of tracks: accurate on a moving disc, harmless to what people drew, limited and cancellable."""

import json

import msgspec
import numpy as np
import pytest
from annotation_fixtures import (
    box,
    give_task,
    project_of,
    save_of,
    scene,
    someone,
    tasks_of,
    text_of,
)
from at_work import Here
from moving_disc import disc, disc_mask, frame_png, video_project

from segarena.errors import InvalidInput
from segarena_server.http_errors import Refusal
from segarena_server.jobs.job_queue import find_job
from segarena_server.workers.pool import JobRunner
from segarena_studio.annotation import propagation
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.drafts import SaveRequest, check_save, read_revision, save_draft
from segarena_studio.annotation.propagation import (
    VIDEO_SEGMENTERS,
    fill_outlines,
    plan_windows,
    trace_outlines,
)
from segarena_studio.annotation.propagation_job import (
    PropagateTracks,
    PropagationRequest,
    cancel_propagation,
    propagation_status,
    request_propagation,
)
from segarena_studio.annotation.scene_document import without_proposals
from segarena_studio.annotation.tracks import (
    list_frames,
    list_tracks,
    outlines_of,
    propose_region,
    settle_track,
)
from segarena_studio.orm_models import Task


@pytest.fixture(scope="module")
def person(site):
    return someone(site, "Anna")


def draw(site, task, document):
    """Save a document as the editor does."""
    with site.database.writing() as session:
        row = session.get_one(Task, task)
        told = save_of(row.revision, drawn=document)
        save = msgspec.json.decode(text_of(told), type=SaveRequest)
        assert save_draft(session, row, save, check_save(save), 5.0)


def drawn(site, task):
    """Return the newest document of a task."""
    with site.database.reading() as session:
        found = read_revision(session, session.get_one(Task, task))
    return found[0] if found else None


def ask(site, task, person, **wanted):
    """Request a propagation."""
    with site.database.writing() as session:
        found = find_task(session, task, person)
        request_propagation(
            session, site, found, PropagationRequest(**{"regions": ("r1",), **wanted})
        )


def status(site, task, person):
    with site.database.reading() as session:
        return propagation_status(session, find_task(session, task, person))


def run(site):
    """Execute the waiting propagation."""
    return JobRunner(site, [PropagateTracks()], Here()).run_next()


class StandingSegmenter:
    """Propagates what is in the first frame without looking at the pictures, which takes no time."""

    def encode(self, sample):
        return sample.shape

    def predict(self, shape, dialogues):
        for dialogue in dialogues:
            mask = np.zeros(shape, dtype=np.bool_)
            for scribble in dialogue.prompts:
                (frame, row, first), (_, _, last) = scribble.points
                if scribble.object_id == 1 and frame == 0:
                    mask[:, row, first : last + 1] = True
            yield mask


@pytest.fixture
def standing(monkeypatch):
    """Propagate without a real segmenter."""
    monkeypatch.setattr(propagation, "build", lambda kind, spec: StandingSegmenter())


def ious(site, tasks):
    """Return the IoU of region r1 with the disc of the frame of this number, for each task."""
    values = []
    for number, task in tasks.items():
        document = drawn(site, task)
        region = next(one for one in document.regions if one.id == "r1")
        outlines = outlines_of(document, region)
        shape = disc_mask(number).shape
        mask = fill_outlines(outlines, shape, shape)
        both = (mask & disc_mask(number)).sum()
        values.append(both / (mask | disc_mask(number)).sum())
    return values


@pytest.mark.long
@pytest.mark.parametrize("segmenter", VIDEO_SEGMENTERS)
def test_a_moving_disc_is_followed(site, person, segmenter):
    tasks = video_project(site, person, propagation.WINDOW + 3)
    draw(site, tasks[0], scene(disc(0), names=("disc",)))
    ask(site, tasks[0], person, segmenter=segmenter)
    assert status(site, tasks[0], person).state == "waiting"
    assert run(site)
    assert status(site, tasks[0], person) == msgspec.structs.replace(
        status(site, tasks[0], person), state="done", frames=len(tasks) - 1, finished=0
    )
    assert min(ious(site, dict(enumerate(tasks)))) > 0.9
    for task in tasks[1:]:
        (region,) = drawn(site, task).regions
        assert (region.id, region.name, region.propagation) == ("r1", "disc", "proposed")
    with site.database.reading() as session:
        assert session.get_one(Task, tasks[4]).regions == 0, "proposals are not work"


@pytest.mark.long
def test_key_frames_stay_and_delimit_the_propagation(site, person, standing):
    tasks = video_project(site, person, 9)
    draw(site, tasks[2], scene(disc(2)))
    key = scene(disc(6), box(1, 1, 20, 20))
    draw(site, tasks[6], key)
    ask(site, tasks[2], person, direction="both")
    assert run(site)
    assert [drawn(site, task) is None for task in tasks] == [False] * 7 + [True] * 2
    with site.database.reading() as session:
        states = [
            frame.tracks
            for frame in list_tracks(list_frames(session, session.get_one(Task, tasks[0])))
        ]
    assert [each.get("r1") for each in states] == [
        "proposed",
        "proposed",
        "drawn",
        "proposed",
        "proposed",
        "proposed",
        "drawn",
        None,
        None,
    ]
    with site.database.reading() as session:
        assert session.get_one(Task, tasks[6]).revision == 1
    # Nothing moves, so the nearest key frame shows which one a frame was propagated from.
    for number, nearest in ((0, 2), (1, 2), (3, 2)):
        assert ious(site, {nearest: tasks[number]}) == [pytest.approx(1.0, abs=0.08)]


def test_accepted_and_finished_frames_stay_as_they_are(site, person, standing):
    tasks = video_project(site, person, 5)
    draw(site, tasks[0], scene(disc(0)))
    with site.database.writing() as session:
        session.get_one(Task, tasks[3]).state = "finished"
    ask(site, tasks[0], person, frames=4)
    assert run(site)
    told = status(site, tasks[0], person)
    assert (told.frames, told.finished) == (3, 1)
    assert drawn(site, tasks[3]) is None
    with site.database.writing() as session:
        task = session.get_one(Task, tasks[1])
        assert settle_track(session, task, "r1", 9.0, is_accepted=True) == 2
    assert [drawn(site, tasks[at]).regions[0].propagation for at in (1, 2, 4)] == [
        "proposed",
        "accepted",
        "accepted",
    ]
    accepted = drawn(site, tasks[2])
    assert without_proposals(accepted) == accepted
    # The proposal of frame 1 is made again, up to the accepted frame.
    ask(site, tasks[0], person)
    assert run(site)
    assert status(site, tasks[0], person).finished == 0
    assert drawn(site, tasks[2]) == accepted
    with site.database.writing() as session:
        assert (
            settle_track(session, session.get_one(Task, tasks[0]), "r1", 9.0, is_accepted=False)
            == 1
        )
    assert drawn(site, tasks[1]).regions == ()


def test_a_proposal_keeps_the_other_regions_and_their_points():
    frame = scene(
        box(0, 0, 9, 9), names=("grass",), open=[4], points=[*box(0, 0, 9, 9), [1, 1], [2, 2]]
    )
    frame["regions"][0] |= {"id": "r7", "of": "another program"}
    source = scene(box(1, 1, 5, 5), box(0, 0, 9, 9), names=("dog", "grass"))
    source["regions"][1]["id"] = "r7"
    source["regions"][0]["attributes"] = {"occluded": True}
    outer = ((10.0, 10.0), (40.0, 10.0), (40.0, 40.0))
    inner = ((20.0, 15.0), (30.0, 15.0), (30.0, 20.0))
    text = propose_region(text_of(frame), text_of(source), "r1", (outer, inner))
    made = json.loads(text)
    dog, grass = made["regions"]
    assert grass == frame["regions"][0]
    assert made["points"][:5] == frame["points"][:5]
    assert [tuple(made["points"][at]) for at in dog.pop("ring")] == [*outer, *inner]
    assert dog == {
        "id": "r1",
        "name": "dog",
        "is_stuff": False,
        "is_hidden": False,
        "is_locked": False,
        "propagation": "proposed",
        "attributes": {"occluded": True},
        "starts": [3],
    }
    # The object has left the picture: its proposal goes, and its points can be used again.
    left = propose_region(text, text_of(source), "r1", ())
    assert json.loads(left)["regions"] == [frame["regions"][0]]
    assert propose_region(text_of(frame), text_of(source), "r1", ()) is None
    assert propose_region(text_of(source), text_of(source), "r1", (outer,)) is None


def test_what_cannot_be_propagated_is_refused_in_one_line(site, person):
    odd = [("clip/100.png", frame_png(0, (80, 60)))]
    tasks = video_project(site, person, 2, extra=odd)
    draw(site, tasks[0], scene(disc(0)))
    with pytest.raises(
        InvalidInput,
        match=r"one size, got clip/000.png with 160 x 120 and clip/100.png with 80 x 60",
    ):
        ask(site, tasks[0], person)
    tasks = video_project(site, person, 3, extra=[("other/1.png", frame_png(0, (80, 60)))])
    draw(site, tasks[0], scene(disc(0)))
    for wanted, reason in (
        ({"segmenter": "grabcut"}, "expected one of colour-flow, video-walk"),
        ({"regions": ("r9",)}, "expected regions that you drew or accepted"),
        ({"direction": "backwards"}, "expected frames without a key frame in this direction"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            ask(site, tasks[0], person, **wanted)
    photographs = project_of(site, person)
    task = give_task(site, tasks_of(site, photographs)[0], person)
    draw(site, task, scene(disc(0)))
    with pytest.raises(InvalidInput, match="expected a project whose folders are videos"):
        ask(site, task, person)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"regions":["r1"],"frames":201}', type=PropagationRequest)


def test_a_cancelled_propagation_stops_and_writes_nothing(site, person, standing):
    tasks = video_project(site, person, 4)
    draw(site, tasks[0], scene(disc(0)))
    ask(site, tasks[0], person)
    with pytest.raises(Refusal, match="another propagation of yours"):
        ask(site, tasks[0], person)

    class Cancelled(Here):
        """A process that works on while the propagation is cancelled."""

        def do(self, unit, meanwhile, limit_s=None):
            with site.database.writing() as session:
                assert cancel_propagation(session, find_task(session, tasks[0], person), 7.0)
            return super().do(unit, meanwhile, limit_s)

    assert JobRunner(site, [PropagateTracks()], Cancelled()).run_next()
    assert [drawn(site, task) is None for task in tasks] == [False, True, True, True]
    assert status(site, tasks[0], person).state == "none"
    with site.database.writing() as session:
        assert not cancel_propagation(session, find_task(session, tasks[0], person), 8.0)
        about = f"{session.get_one(Task, tasks[0]).project_id} {person}"
        assert find_job(session, PropagateTracks.name, about).failure == ""
    ask(site, tasks[0], person)
    assert run(site)
    assert status(site, tasks[0], person).frames == 3


def test_a_propagation_fails_in_one_line_if_a_frame_is_not_what_it_was(site, person):
    tasks = video_project(site, person, 3)
    draw(site, tasks[0], scene(disc(0)))
    ask(site, tasks[0], person)
    with site.database.writing() as session:
        # Somebody has added a frame of another size in the meantime.
        session.get_one(Task, tasks[2]).picture.width = 99
    for _ in range(site.settings.limits.tries):
        assert run(site)
    assert not run(site)
    told = status(site, tasks[0], person)
    assert (told.state, "expected frames of one size" in told.failure) == ("failed", True)


@pytest.mark.parametrize(
    ("plan", "windows"),
    [
        ((2, None, 1, 9), ((2, 3, 4, 5, 6, 7, 8, 9),)),
        ((0, None, 1, 10), (tuple(range(9)), (8, 9, 10))),
        ((5, None, -1, 3), ((5, 4, 3),)),
        ((3, None, 1, 3), ()),
        ((2, 3, 1, 2), ()),
        ((2, 6, 1, 5), ((2, 3, 4, 5, 6),)),
        ((12, 0, -1, 1), ((12, 11, 10, 9, 8, 7, 6), (0, 1, 2, 3, 4, 5))),
    ],
)
def test_windows_begin_at_key_frames_or_at_the_end_of_the_window_before(plan, windows):
    assert plan_windows(*plan) == windows


def test_masks_are_traced_in_pixels_of_the_picture():
    mask = np.zeros((30, 40), dtype=np.bool_)
    mask[5:20, 10:30] = True
    mask[10:16, 15:25] = False
    mask[25:27, 2:4] = True
    outer, hole = trace_outlines(mask, (60, 80))
    assert set(outer) == {(20.0, 10.0), (60.0, 10.0), (60.0, 40.0), (20.0, 40.0)}
    assert len(hole) >= 4
    filled = fill_outlines((outer, hole), (60, 80), (30, 40))
    mask[25:27] = False
    assert (filled == mask).mean() > 0.98
