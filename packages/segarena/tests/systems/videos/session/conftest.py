import numpy as np
import pytest

from segarena.roles import Finding
from segarena.samples import Target, VideoSample
from segarena.systems.videos.session.davis import DavisInteractiveSession

FRAMES, HEIGHT, WIDTH = 4, 40, 60


def labels(objects):
    """Return a square for each object, a row further down in every frame."""
    mask = np.zeros((FRAMES, HEIGHT, WIDTH), dtype=np.uint8)
    for frame in range(FRAMES):
        for number in range(objects):
            mask[frame, 5 + frame : 25 + frame, 4 + 28 * number : 24 + 28 * number] = number + 1
    return mask


def drawn(sequence, frame, objects):
    """Return a person's scribbles: a short line on each object."""
    frames = [[] for _ in range(FRAMES)]
    frames[frame] = [
        {
            "path": [[(10 + 28 * n) / 59, 12 / 39], [(16 + 28 * n) / 59, 12 / 39]],
            "object_id": n + 1,
            "start_time": 5,
            "end_time": 9,
        }
        for n in range(objects)
    ]
    return {"sequence": sequence, "scribbles": frames}


class Videos:
    """Two sequences: "one" with an object and two people's scribbles, "two" with two objects and none."""

    name = "videos"
    fingerprint = "videos"

    def __init__(self):
        self.sample_ids = ("one", "two")
        self.objects = {"one": 1, "two": 2}

    def load(self, sample_id):
        mask = labels(self.objects[sample_id])
        people = (drawn("one", 1, 1), drawn("one", 3, 1)) if sample_id == "one" else ()
        return VideoSample(
            id=sample_id,
            frames=[np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)] * FRAMES,
            frame_shape=(HEIGHT, WIDTH),
            targets=(Target(id="objects", mask=mask),),
            scribbles=people,
        )

    def check(self):
        return [Finding(is_error=False, message="fine")]


class FakeClock:
    """A clock that advances only on request."""

    def __init__(self):
        self.now = 50.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def open_session(tmp_path, clock):
    """Return a function that opens a session on the two sequences, in the same folder each time."""

    def opened(**options):
        settings = {
            "dataset": Videos(),
            "folder": tmp_path / "session",
            "clock": clock,
            "max_nb_interactions": 3,
        }
        return DavisInteractiveSession(**{**settings, **options})

    return opened


@pytest.fixture
def masks_of():
    """Return a function that answers with the labels of a sequence, moved to the right by some pixels."""
    return lambda sequence, shift=4: np.roll(labels(Videos().objects[sequence]), shift, axis=2)
