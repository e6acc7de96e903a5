"""Scripts for the published package with a server: only `host` and `user_key` differ."""

import numpy as np
import pytest
from PIL import Image
from real import at_work, describe, lay, token_of

from segarena.davis import DavisInteractiveSession, scribbles2mask
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput, PredictionInvalid, RunConflict
from segarena.registry import build

DATA = "demo-videos(size=(60, 100), frames=4)"
RULES = {"max_nb_interactions": 2, "max_time": 60}
KEYS = ["sample", "target", "user", "repeat", "round"]


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    benchmark = "davis(rounds=2, seconds_per_object=60)"
    challenges = (
        describe("videos", benchmark, DATA),
        describe("clicks", "clicks", "sample-squares(count=1)"),
    )
    site = lay(tmp_path_factory.mktemp("arena") / "data", *challenges)
    with at_work(site) as address:
        yield site, f"{address}/challenges/videos"
    site.database.close()


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DATASET_DAVIS", raising=False)


def my_model(scribbles, shape):
    """Return the last drawn lines of any frame, slightly dilated, in all frames."""
    drawn = scribbles2mask(scribbles, shape[1:]).max(axis=0).clip(0)
    near = np.maximum.reduce(
        [np.roll(drawn, (row, column), (0, 1)) for row in (-2, 0, 2) for column in (-2, 0, 2)]
    )
    return np.repeat(near[None], shape[0], axis=0)


def hold(session, most=1000):
    """Answer this number of interactions; return (sequence, frames with scribbles, whether a sample begins)."""
    seen = []
    while len(seen) < most and session.next():
        sequence, scribbles, is_new = session.get_scribbles()
        shape = (len(session.frames()), *session.frames()[0].shape[:2])
        session.submit_masks(my_model(scribbles, shape))
        seen.append(
            (
                sequence,
                [frame for frame, lines in enumerate(scribbles["scribbles"]) if lines],
                is_new,
            )
        )
    return seen


@pytest.mark.long
def test_a_script_at_a_server_leaves_the_records_that_it_leaves_here(arena, tmp_path):
    site, url = arena
    token = token_of(site, "ann")
    with DavisInteractiveSession(dataset=DATA, folder=tmp_path / "here", **RULES) as session:
        here = hold(session)
    with DavisInteractiveSession(url, token, folder=tmp_path / "there") as session:
        there = hold(session)
        report, summary = session.get_report(), session.get_global_summary()
    run = RunFolder.open(site.folder.runs / summary["session_id"])
    assert run.records().sort(KEYS).equals(RunFolder.open(tmp_path / "here").records().sort(KEYS))
    assert len(report) == len(there) == len(here)
    assert summary["state"] == "over"
    assert sorted(frames for _, frames, _ in there) == sorted(frames for _, frames, _ in here)
    assert not {sequence for sequence, _, _ in there} & {sequence for sequence, _, _ in here}


@pytest.mark.long
def test_a_session_that_was_left_goes_on_with_all_that_was_drawn(arena, tmp_path):
    site, url = arena
    token = token_of(site, "bob")
    with DavisInteractiveSession(url, token_of(site, "eve"), folder=tmp_path / "whole") as session:
        whole = hold(session)
    with DavisInteractiveSession(url, token, folder=tmp_path / "left") as session:
        first = hold(session, most=3)
    with DavisInteractiveSession(url, token, folder=tmp_path / "left") as session:
        rest = hold(session)
        summary = session.get_global_summary()
    assert [frames for _, frames, _ in first + rest] == [frames for _, frames, _ in whole]
    assert rest[0][2]
    assert summary["state"] == "over"


@pytest.mark.long
def test_sequences_that_are_here_too_are_called_as_they_are_here(arena, tmp_path):
    site, url = arena
    token = token_of(site, "cid")
    videos = build("dataset", DATA)
    for name in videos.sample_ids:
        folder = tmp_path / "DAVIS" / "JPEGImages" / "480p" / name
        folder.mkdir(parents=True)
        for number, frame in enumerate(videos.load(name).frames):
            Image.fromarray(frame).save(folder / f"{number:05d}.jpg", quality=100, subsampling=0)
    with DavisInteractiveSession(
        url, token, davis_root=tmp_path / "DAVIS", folder=tmp_path / "run"
    ) as session:
        assert {name for name, _ in session.samples} == {*videos.sample_ids}
        assert session.next()
        assert session.get_scribbles()[0] in videos.sample_ids
        session.submit_masks(np.zeros((4, 60, 100), np.uint8))


@pytest.mark.long
def test_what_is_no_answer_is_told_at_once_and_the_scribbles_wait(arena, tmp_path):
    site, url = arena
    token = token_of(site, "dan")
    with DavisInteractiveSession(url, token, folder=tmp_path / "run") as session:
        assert session.next()
        session.get_scribbles()
        with pytest.raises(PredictionInvalid):
            session.submit_masks(np.zeros((4, 60, 99), np.uint8))
        session.submit_masks(np.zeros((4, 60, 100), np.uint8))


def test_other_challenges_and_other_folders_are_refused(arena, tmp_path):
    site, url = arena
    token = token_of(site, "fay")
    with pytest.raises(InvalidInput, match=r"expected a video challenge, but .* is for images"):
        DavisInteractiveSession(
            url.replace("videos", "clicks"), token, folder=tmp_path / "run"
        ).__enter__()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").touch()
    with pytest.raises(RunConflict):
        DavisInteractiveSession(url, token, folder=tmp_path / "other").__enter__()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "https://lab.example", "http://lab.example/challenges/x"]
)
def test_a_host_is_this_machine_or_a_challenge(host):
    with pytest.raises(InvalidInput):
        DavisInteractiveSession(host)
