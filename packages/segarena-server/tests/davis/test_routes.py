"""A session at the published addresses: its records and evaluation, and its error messages."""

import json
import time

import httpx2
import msgspec
import numpy as np
import pytest
from PIL import Image
from real import at_work, describe, lay, token_of
from small_client import SmallClient, in_coco
from sqlalchemy import func, select

from segarena.davis import (
    DavisInteractiveSession,
    InteractiveScribblesRobot,
    fuse_scribbles,
    scribbles2mask,
    scribbles2points,
)
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.davis.routes import INTERFACE
from segarena_server.db.orm_models import Person, Run

DATA = "demo-videos(size=(60, 100), frames=4)"
KEYS = ["sample", "target", "user", "repeat", "round"]


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """Challenges at the published addresses: yields the site and the address."""
    about = {"shows": "board", "decimals": 6, "runs_at_once": 9, "samples_per_run": 2}
    published = "davis(rounds=3, seconds_per_object=60, protocol='published', preset='server-2020')"
    challenges = [
        describe("videos", published, DATA, kind="practice", **about),
        describe("compared", published, DATA, kind="practice", **about),
        describe("secret", published, DATA, **(about | {"samples_per_run": 1, "ranked_runs": 1})),
        describe("careful", "davis(rounds=2, seconds_per_object=60)", DATA, runs_in_all=1),
        describe(
            "hurry",
            "davis(rounds=2, seconds_per_object=0.5)",
            DATA,
            shows="board",
            samples_per_run=1,
            # A run without any answer in time is no step, and its score of 0 would be withheld.
            ladder=False,
        ),
        describe("elsewhere", "davis(rounds=2)", DATA),
        describe(
            "people",
            published,
            f"video-folder(path={str(write_people(tmp_path_factory.mktemp('people')))!r})",
        ),
    ]
    described = [at_davis(each) for each in challenges]
    site = lay(tmp_path_factory.mktemp("arena") / "data", *described)
    with at_work(site) as address:
        yield site, address
    site.database.close()


PEOPLE = {
    "bars": [[[0.0, 0.0], [0.337, 0.4519], [1.0, 1.0]], [[1 / 3, 2 / 3]]],
    "dots": [[[17 / 97, 0.25], [0.5, 71 / 83]]],
}
"""Paths of a person by sequence, each on object 1."""


def write_people(root):
    """Write a video of three frames for each sequence, with the scribbles of one person on its second frame."""
    rng = np.random.default_rng(3)
    for name, paths in PEOPLE.items():
        labels = np.zeros((60, 100), np.uint8)
        labels[10:50, 20:80] = 1
        for kind in ("frames", "masks"):
            (root / kind / name).mkdir(parents=True)
        for frame in range(3):
            image = rng.integers(0, 255, (60, 100, 3), dtype=np.uint8)
            Image.fromarray(image).save(root / "frames" / name / f"{frame:05d}.png")
            Image.fromarray(labels).save(root / "masks" / name / f"{frame:05d}.png")
        lines = [{"path": path, "object_id": 1, "start_time": 0, "end_time": 900} for path in paths]
        (root / "scribbles" / name).mkdir(parents=True)
        (root / "scribbles" / name / "001.json").write_text(
            json.dumps({"sequence": name, "annotated_frame": 1, "scribbles": [[], lines, []]})
        )
    return root


def at_davis(challenge):
    interfaces = () if challenge.slug == "elsewhere" else ("davis",)
    return msgspec.structs.replace(challenge, interfaces=interfaces, practice_may_reveal_test=True)


@pytest.fixture
def begin(arena):
    """Begin a session of a participant in a challenge."""
    site, address = arena
    begun = []

    def make(slug, name="", token=None, key=None):
        begun.append(SmallClient(host(address, slug), token or token_of(site, name), key))
        return begun[-1]

    yield make
    for client in begun:
        client.close()


@pytest.fixture(scope="module")
def videos():
    data = build("dataset", DATA)
    return {name: data.load(name) for name in data.sample_ids}


def host(address, slug):
    return f"{address}/davis/{slug}/test/"


def objects_of(videos):
    return {name: max(target.objects for target in video.targets) for name, video in videos.items()}


def my_model(drawn, shape):
    """Return the last drawn lines of any frame, slightly dilated, in all frames."""
    masks = scribbles2mask(drawn, shape[1:]).max(axis=0).clip(0)
    near = np.maximum.reduce(
        [np.roll(masks, (row, column), (0, 1)) for row in (-2, 0, 2) for column in (-2, 0, 2)]
    )
    return np.repeat(near[None], shape[0], axis=0)


def fused(drawn):
    whole = drawn[0]
    for more in drawn[1:]:
        whole = fuse_scribbles(whole, more)
    return whole


def test_a_session_there_is_the_session_here(arena, begin, videos, tmp_path):
    site, _ = arena
    client = begin("compared", "ann")
    assert (client.max_time, client.max_interactions) == (60.0, 3)
    came = client.hold(
        lambda name, drawn: my_model(fused(drawn), videos[name].shape), objects_of(videos)
    )
    summary = client.finish()

    rules = {
        "max_nb_interactions": 3,
        "max_time": 60,
        "protocol": "published",
        "preset": "server-2020",
    }
    here = {}
    rules["sequences"] = [name for name, _ in client.samples]
    with DavisInteractiveSession(dataset=DATA, folder=tmp_path / "here", **rules) as session:
        while session.next():
            sequence, scribbles, _ = session.get_scribbles()
            here.setdefault((sequence, session.samples[session.sample_idx][1]), []).append(
                session.sample_last_scribble
            )
            session.submit_masks(my_model(scribbles, videos[sequence].shape))
        local = session.get_global_summary()
    assert {key: drawn[:-1] for key, drawn in came.items()} == here

    (run,) = [
        RunFolder.open(path)
        for path in site.folder.runs.iterdir()
        if path.name == run_of(site, "ann")
    ]
    assert run.records().sort(KEYS).equals(RunFolder.open(tmp_path / "here").records().sort(KEYS))
    assert run.parts().height > 0
    assert np.allclose(summary["curve"]["J_AND_F"], local["curve"]["J_AND_F"], atol=1e-6)
    assert summary["session_key"] == client.key
    assert set(summary) == {"auc", "metric_at_threshold", "curve", "session_key"}
    assert client.finish() == summary
    report = client.get("api/evaluation/report")
    assert len(report["j_and_f"]) == 3 * sum(objects_of(videos)[name] for name, _ in client.samples)
    assert set(report["session_id"].values()) == {client.key}

    board = client.get("leaderboard/", headers={"content-type": "application/json"})
    assert [entry["participant"] for entry in board["by_auc"]] == ["ann"]
    assert board["by_auc"][0]["auc"] == summary["auc"]
    assert set(board["by_auc"][0]) == {
        "pos",
        "participant",
        "session_id",
        "auc",
        "metric_at_threshold",
        "curve",
        "metric",
    }


@pytest.mark.long
def test_an_open_test_tells_means_over_the_run_and_a_repeat_is_announced(arena, begin, videos):
    site, _ = arena
    token = token_of(site, "curious")
    client = begin("secret", token=token)
    objects = objects_of(videos)
    client.hold(lambda name, drawn: my_model(fused(drawn), videos[name].shape), objects)
    summary = client.finish()
    # A run of one sample has no interval.
    assert summary["curve"]["J_AND_F"]
    assert all(round(value, 1) == value for value in summary["curve"]["J_AND_F"])
    report = client.get("api/evaluation/report")
    ((name, _),) = client.samples
    assert len(report["interaction"]) == 3 * objects[name] > 3
    for metric in ("jaccard", "contour", "j_and_f"):
        values = {}
        for row, interaction in report["interaction"].items():
            values.setdefault(interaction, set()).add(report[metric][row])
        assert {len(found) for found in values.values()} == {1}
        # More digits than an interval over a few objects allows would tell single pixels.
        assert all(round(value, 2) == value for found in values.values() for value in found)
    with pytest.raises(RuntimeError, match=r"would not be ranked: .* started its 1 ranked run"):
        begin("secret", token=token)
    with site.database.reading() as session:
        counted = (
            select(func.count()).select_from(Run).where(Run.person_id == person_of(site, "curious"))
        )
        assert session.scalar(counted) == 1
    assert begin("secret", token=token).samples


def person_of(site, name):
    with site.database.reading() as session:
        return session.scalars(select(Person.id).where(Person.name == name)).one()


@pytest.mark.long
def test_first_scribbles_of_people_arrive_where_they_drew_them(begin):
    """In people's files a fraction of 1 is the last pixel; for the robot, from the second round on, the size."""
    client = begin("people", "drawn on by people")
    assert {name for name, _ in client.samples} == set(PEOPLE)
    for name, number in client.samples:
        sent = client.scribbles(name, number)
        drawn = {"sequence": name, "scribbles": [[], [], []]}
        drawn["scribbles"][1] = [{"path": path, "object_id": 1} for path in PEOPLE[name]]
        got, expected = scribbles2points(sent, (60, 100)), scribbles2points(drawn, (60, 100))
        assert np.array_equal(got.positions, expected.positions)
        for line, path in zip(sent["scribbles"][1], PEOPLE[name], strict=True):
            assert np.allclose(line["path"], path, rtol=0, atol=2e-16)

        nothing = np.zeros((3, 60, 100), np.uint8)
        (lines,) = filter(None, client.submit(name, number, 1, nothing, 1)["scribbles"])
        target = nothing.copy()
        target[:, 10:50, 20:80] = 1
        robot = InteractiveScribblesRobot(kernel_size=0.1, min_nb_nodes=2)
        (expected,) = filter(None, robot.interact(name, nothing, target)["scribbles"])
        assert lines[0]["path"] == expected[0]["path"]
        assert client.scribbles(name, number)["scribbles"] != sent["scribbles"]


def run_of(site, name):
    with site.database.reading() as session:
        found = select(Run.id).join(Person, Person.id == Run.person_id).where(Person.name == name)
        return session.scalars(found).one()


def test_the_page_of_a_challenge_says_at_which_address(arena):
    site, address = arena
    with httpx2.Client(base_url=address, trust_env=False) as client:
        page, other = (client.get(f"/challenges/{slug}").text for slug in ("videos", "elsewhere"))
    assert f"{site.settings.address}/davis/videos/test/" in page
    assert "/davis/" not in other


def test_a_benchmark_that_is_none_of_videos_cannot_be_held_so(arena):
    with pytest.raises(InvalidInput, match="expected the benchmark davis"):
        make_challenge(
            arena[0], at_davis(describe("clicks", "clicks", "sample-squares")), lambda *_: None
        )


@pytest.mark.long
def test_what_is_sent_twice_counts_once(begin, videos):
    client = begin("videos", "twice")
    name, number = client.samples[0]
    masks, objects = np.zeros(videos[name].shape, np.uint8), objects_of(videos)[name]
    assert client.scribbles(name, number) == client.scribbles(name, number)
    first = client.submit(name, number, 1, masks, objects)
    assert client.submit(name, number, 1, masks, objects) == first
    with pytest.raises(RuntimeError, match="the first version counts"):
        client.submit(name, number, 1, masks + 1, objects)
    with pytest.raises(RuntimeError, match="expected 2, got 3"):
        client.submit(name, number, 3, masks, objects)
    assert begin("videos", "other", key=client.key).samples == client.samples


@pytest.mark.long
def test_the_clock_of_the_server_decides_whatever_a_program_says(arena, begin, videos):
    """Answers after the time limit of a sample are accepted but do not count, and the session continues."""
    site, _ = arena
    client = begin("hurry", "late")
    came = client.hold(
        lambda name, _: (
            time.sleep(0.6 * objects_of(videos)[name]) or np.zeros(videos[name].shape, np.uint8)
        ),
        objects_of(videos),
    )
    assert all(
        not any(scribbles["scribbles"]) for drawn in came.values() for scribbles in drawn[1:]
    )
    assert client.finish()["auc"] == 0.0
    run = RunFolder.open(site.folder.runs / run_of(site, "late"))
    assert run.records().height == 0
    assert run.timings().height == len(client.samples)


@pytest.mark.long
def test_no_is_said_as_the_published_server_says_it(arena, begin, videos):
    token = token_of(arena[0], "no")
    client = begin("careful", token=token)
    name, number = client.samples[0]
    shape, objects = videos[name].shape, objects_of(videos)[name]
    client.scribbles(name, number)
    with pytest.raises(ValueError, match="expected 1 to 2, got 3"):
        client.submit(name, number, 3, np.zeros(shape, np.uint8), objects)
    with pytest.raises(ValueError, match="expected"):
        client.submit(name, number, 1, np.zeros((shape[0], 9, 9), np.uint8), objects)
    with pytest.raises(ValueError, match="no sample with this sequence"):
        client.scribbles("nowhere", 1)
    with pytest.raises(RuntimeError, match="1 of 1"):
        begin("careful", token=token)
    with pytest.raises(ValueError, match="does not exist, or it belongs"):
        begin("elsewhere", token=token)
    with pytest.raises(OSError, match="401"):
        begin("careful", token="sat_wrong")
    wrong = client.http.get("api/evaluation/interaction")
    assert (wrong.status_code, set(wrong.json())) == (405, {"error", "message"})


@pytest.mark.long
@pytest.mark.parametrize(
    "spoilt", ["size", "frames", "counts", "objects", "commas", "json", "nested"]
)
def test_masks_that_are_none_are_refused_and_the_scribbles_wait(begin, videos, spoilt):
    client = begin("videos", f"spoilt {spoilt}")
    name, number = client.samples[0]
    shape = videos[name].shape
    client.scribbles(name, number)
    masks = in_coco(np.ones(shape, np.uint8), objects_of(videos)[name])
    good = {"sequence": name, "scribble_idx": number, "timing": 0.1, "interaction": 1}
    match spoilt:
        case "size":
            masks["size"] = [2**40, 2**20, 2**20]
        case "frames":
            masks["frames"] *= 2**12
        case "counts":
            masks["frames"][0][0]["counts"] = "o" * 2**20
        case "objects":
            masks["frames"][0] *= 200
        case "commas":
            masks = {"size": [1] * 2**20, "frames": []}
        case "json":
            masks = "x"
        case _:
            masks = {"size": list(shape), "frames": [[[[]]]]}
    with pytest.raises(ValueError, match=r"masks|run lengths"):
        client.post_interaction({**good, "pred_masks": masks})
    assert (
        client.post_interaction({**good, "pred_masks": in_coco(np.zeros(shape, np.uint8), 1)})[
            "sequence"
        ]
        == name
    )


HOST = "/davis/{slug}/{phase}"
ANYBODY = {"nobody", "viewer", "other", "owner", "organiser"}
WHO = {
    ("GET", f"{HOST}/api/healthcheck"): ANYBODY,
    ("GET", f"{HOST}/api/dataset/samples"): ANYBODY - {"nobody", "viewer"},
    ("GET", f"{HOST}/api/dataset/scribbles/{{sequence}}/{{number}}"): {"owner"},
    ("POST", f"{HOST}/api/evaluation/interaction"): {"owner"},
    ("GET", f"{HOST}/api/evaluation/report"): {"owner"},
    ("POST", f"{HOST}/api/evaluation/finish"): {"owner"},
    ("GET", f"{HOST}/leaderboard/"): ANYBODY,
}
"""Who gets something else than a refusal, with the owner's session key."""


@pytest.mark.parametrize("person", ["nobody", "viewer", "owner", "other", "organiser"])
def test_nobody_gets_where_they_may_not(arena, begin, videos, person):
    role = person if person in ("viewer", "organiser") else "participant"
    mine = token_of(arena[0], f"{person} beside", role) if person != "nobody" else ""
    owner = begin("videos", f"owner before {person}")
    key = owner.http.headers["user-key"] if person == "owner" else mine
    name, number = owner.samples[0]
    owner.scribbles(name, number)
    masks = in_coco(np.zeros(videos[name].shape, np.uint8), 1)
    turn = {
        "sequence": name,
        "scribble_idx": number,
        "pred_masks": masks,
        "timing": 0.1,
        "interaction": 1,
    }
    values = {"slug": "videos", "phase": "test", "sequence": name, "number": "001"}
    headers = {"user-key": key, "session-key": owner.key, "content-type": "application/json"}
    order = sorted(
        WHO, key=lambda route: route[1].endswith("samples")
    )  # this one would begin a run of theirs
    assert {
        (method, route.path)
        for route in INTERFACE.router.routes
        for method in route.methods - {"HEAD"}
    } == set(WHO)
    for method, path in order:
        body = {"content": msgspec.json.encode(turn)} if path.endswith("interaction") else {}
        answer = owner.http.request(
            method, f"{arena[1]}{path.format(**values)}", headers=headers, **body
        )
        refused = answer.status_code == 401 or (
            answer.status_code == 400 and is_no(answer.json()["message"][0])
        )
        assert refused != (person in WHO[method, path]), (method, path, answer.text)
        assert answer.status_code in (200, 400, 401)


def is_no(message):
    return "does not exist, or it belongs" in message or "your account may not" in message
