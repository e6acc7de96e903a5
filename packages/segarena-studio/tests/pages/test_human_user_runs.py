"""Pages of seats reject other people's seats, rounds out of order, invalid prompts and strangers."""

import gzip
import json
import time

import numpy as np
import pytest
from sqlalchemy import select

from segarena.arrays.rle import encode_rle
from segarena.engine.human_dialogue_files import RoundFeedback, RunInfo, SeatInfo, Seats
from segarena.engine.sample_preview import write_preview
from segarena.samples import ImageSample, VolumeSample
from segarena_server.auth.permissions import cookie_name
from segarena_server.db.orm_models import Person
from segarena_studio.human_user import personal_data
from segarena_studio.human_user.run_registry import register_run
from segarena_studio.pages import human_user_runs as pages

SHAPE = (4, 6)
TARGET = np.indices(SHAPE).sum(axis=0) < 4
CLICK = {"kind": "click", "position": [1, 2], "is_positive": True, "object_id": 1}


def body(number=1, **more):
    return {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "prompts": [CLICK],
        "active_s": 0.5,
        "pointer": "pen",
        **more,
    }


class UnansweredRun:
    """A run with two seats on one image, without a process that answers, and people who join it."""

    def __init__(self, served, folder):
        self.seats = Seats(folder)
        self.seats.open(
            RunInfo(title="clicks <script>", sample_kind="image", rounds=5, most_prompts=2)
        )
        write_preview(
            ImageSample(id="s", image=np.zeros((*SHAPE, 3), np.uint8)), self.seats.sample_folder(0)
        )
        for number, target in enumerate("ab"):
            self.seats.add(
                SeatInfo(
                    seat=f"000000-{number}", place=0, sample="s", target=target, label="<b>", user="human", repeat=0,
                    shape=SHAPE, kinds=("box", "click"), shows={"scores": False}, masks=(encode_rle(TARGET),),
                )
            )  # fmt: skip
        self.served, self.id = served, self.seats.info().id

    def ask(self, client, method, place, told=None, **headers):
        page = client.get(f"/studio/seats/{self.id}").text
        key = page.split('data-key="')[1].split('"')[0]
        address = f"/studio/seats/{self.id}/{place}"
        return client.request(method, address, json=told, headers={"x-form-key": key, **headers})


@pytest.fixture(scope="module")
def people(served):
    return [served.person(f"sitting{number}") for number in range(2)]


@pytest.fixture
def room(served, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "_PATIENCE_S", 0.05)
    made = UnansweredRun(served, tmp_path)
    with register_run(served.site.folder, tmp_path):
        yield made


@pytest.mark.long
def test_people_see_their_own_seats_alone(room, people):
    first, second = people
    seats = [room.ask(person, "POST", "take", {}).json()["seat"] for person in people]
    assert sorted(seats) == ["000000-0", "000000-1"]
    for place in ("about", "state", "picture/0"):
        assert room.ask(first, "GET", f"{seats[0]}/{place}").status_code == 200
        assert room.ask(second, "GET", f"{seats[0]}/{place}").status_code == 404
    assert room.ask(second, "PUT", f"{seats[0]}/rounds/1", body()).status_code == 404
    assert room.ask(first, "GET", f"{seats[0]}/picture/1").status_code == 404
    assert room.ask(first, "GET", f"{seats[0]}/voxels").status_code == 404
    about = room.ask(first, "GET", f"{seats[0]}/about").json()
    assert about["target"] == [[0, 4, 2, 3, 3, 2, 4, 1, 5]]
    names = [room.seats.person(name) for name in seats]
    assert len(set(names)) == 2
    assert not any("sitting" in name for name in names)


def test_a_round_is_given_once_and_in_order(room, people):
    person = people[0]
    seat = room.ask(person, "POST", "take", {}).json()["seat"]
    assert room.ask(person, "PUT", f"{seat}/rounds/2", body()).status_code == 409
    given = room.ask(person, "PUT", f"{seat}/rounds/1", body(1, active_s=1e6))
    assert given.json()["is_waiting"]
    assert room.ask(person, "PUT", f"{seat}/rounds/1", body(1)).json() == given.json()  # sent again
    assert room.ask(person, "PUT", f"{seat}/rounds/1", body(2)).status_code == 409  # another window
    assert (
        room.ask(person, "PUT", f"{seat}/rounds/2", body(3)).status_code == 409
    )  # not answered yet
    kept = room.seats.given(seat, 1)
    assert 0 <= kept.user_s < 60  # not longer than the seat was theirs
    room.seats.answer(seat, 1, RoundFeedback(masks=(encode_rle(TARGET),), values={"iou": 0.5}))
    state = room.ask(person, "GET", f"{seat}/state").json()
    assert (state["round"], state["values"], state["prediction"]) == (
        2,
        {},
        [[0, 4, 2, 3, 3, 2, 4, 1, 5]],
    )
    time.sleep(0.05)
    room.ask(person, "PUT", f"{seat}/rounds/2", body(4, prompts=None, active_s=0.01, note=" fine "))
    kept = room.seats.given(seat, 2)
    assert (kept.prompts, kept.note, kept.user_s) == (None, "fine", 0.01)
    assert kept.away_s >= 0.03
    room.seats.answer(seat, 2, RoundFeedback(is_over=True))
    assert room.ask(person, "PUT", f"{seat}/rounds/3", body(5)).status_code == 409


@pytest.mark.parametrize(
    "told",
    [
        {"prompts": []},
        {"prompts": [CLICK] * 3},
        {"prompts": [{**CLICK, "position": [4, 0]}]},
        {"prompts": [{**CLICK, "position": [1.5, 0]}]},
        {"prompts": [{**CLICK, "object_id": 2}]},
        {"prompts": [{**CLICK, "object_id": 0}]},
        {"prompts": [{"kind": "lasso", "points": [[0, 0], [1, 1], [0, 2]]}]},
        {"prompts": [{"kind": "mask", "area_px": 3}]},
        {"prompts": [{"kind": "box", "start": [2, 2], "stop": [2, 3]}]},
        {"active_s": -1},
        {"pointer": "telepathy"},
        {"note": "x" * 2001},
        {"id": "../x"},
        {"person": "somebody else"},
        {"strokes": [0] * 600_000},
    ],
)
def test_what_cannot_be_given_is_refused_and_changes_nothing(room, people, told):
    seat = room.ask(people[0], "POST", "take", {}).json()["seat"]
    refused = room.ask(people[0], "PUT", f"{seat}/rounds/1", body(**told))
    assert refused.status_code == 422
    assert refused.json()["message"]
    assert room.seats.given(seat, 1) is None


def test_strangers_and_other_sites_are_refused(room, served, people):
    seat = room.ask(people[0], "POST", "take", {}).json()["seat"]
    assert served.client().get(f"/studio/seats/{room.id}/{seat}/state").status_code in (303, 401)
    viewer = served.person("onlooking", "viewer")
    assert viewer.get(f"/studio/seats/{room.id}").status_code == 403
    bad = room.ask(people[0], "PUT", f"{seat}/rounds/1", body(), **{"x-form-key": "no"})
    other = room.ask(
        people[0], "PUT", f"{seat}/rounds/1", body(), origin="https://elsewhere.example"
    )
    assert (bad.status_code, other.status_code) == (403, 403)
    assert people[0].get(f"/studio/seats/{room.id}/dialogues").status_code == 404
    assert people[0].get("/studio/seats/0123456789abcdef").status_code == 404
    assert room.seats.given(seat, 1) is None


def test_who_leads_frees_seats_and_ends_dialogues(room, served, people):
    leader = served.person("leading", "organiser")
    seat = room.ask(people[0], "POST", "take", {}).json()["seat"]
    page = leader.get(f"/studio/seats/{room.id}/dialogues")
    assert "<script>" not in page.text.split("<main")[1]
    key = page.text.split('name="key" value="')[1].split('"')[0]
    act = f"/studio/seats/{room.id}/dialogues/{seat}"
    assert leader.post(f"{act}/free", data={"key": key}).status_code == 303
    assert room.seats.person(seat) == ""
    assert leader.post(f"{act}/end", data={"key": key}).status_code == 409
    room.seats.claim(seat, "somebody")
    assert leader.post(f"{act}/end", data={"key": key}).status_code == 303
    assert room.seats.given(seat, 1).prompts is None


def test_what_somebody_gave_is_in_their_copy_and_in_nobody_else_s(
    served, people, tmp_path, monkeypatch
):
    monkeypatch.setattr(pages, "_PATIENCE_S", 0.05)
    made = UnansweredRun(served, tmp_path)
    with register_run(served.site.folder, tmp_path):
        seat = made.ask(people[0], "POST", "take", {}).json()["seat"]
        made.ask(people[0], "PUT", f"{seat}/rounds/1", body(note="at last", prompts=None))
    with served.site.database.reading() as session:
        numbers = [
            session.scalars(select(Person.id).where(Person.name == f"sitting{n}")).one()
            for n in range(2)
        ]
    own, other = (dict(personal_data.files(served.site, number)) for number in numbers)
    told = json.loads(own.pop(f"{made.id}/{seat}.json"))
    assert (told["target"], [given["note"] for given in told["rounds"]]) == ("a", ["at last"])
    assert not any(made.id in name for name in (*own, *other))


@pytest.mark.long
def test_pages_around_seats_are_whole(served, people, room, open_page, barriers, page_widths):
    for person, name in zip(people, ("a", "b"), strict=True):
        assert room.ask(person, "POST", "take", {}).json()["seat"], name
    leader, name = served.person("leader of a run", "organiser"), cookie_name(served.site)
    page = open_page(served.address, width=390, scheme="dark")
    page.context.add_cookies([{"name": name, "value": leader.cookies[name], "url": served.address}])
    for place in ("", f"/{room.id}/dialogues", f"/{room.id}"):
        page.goto(f"{served.address}/studio/seats{place}")
        if place.endswith(room.id):
            page.locator("#cover").get_by_text("The run is paused").or_(
                page.get_by_text("No dialogue is free")
            ).first.wait_for()
        assert barriers(page) == {}, place
        assert max(page_widths(page).values()) <= page.evaluate("innerWidth"), place


def test_a_volume_comes_in_sixteen_bits_with_its_planes_as_large_as_they_are(room, people):
    voxels = np.arange(24).reshape(2, 3, 4) * 1000 - 1000  # air to metal: no 8 bits hold it
    sample = VolumeSample(id="v", voxels=voxels, spacing_mm=(3.0, 1.0, 2.0), modality="CT")
    write_preview(sample, room.seats.sample_folder(0))
    seat = room.ask(people[0], "POST", "take", {}).json()["seat"]
    came = np.frombuffer(room.ask(people[0], "GET", f"{seat}/voxels").content, "<u2")
    about = room.ask(people[0], "GET", f"{seat}/about").json()
    levels = about["levels"]
    np.testing.assert_array_equal(levels["offset"] + levels["step"] * came.reshape(2, 3, 4), voxels)
    assert (levels["modality"], levels["low"] >= -1000, levels["high"] <= 22_000) == (
        "CT",
        True,
        True,
    )
    edges = {plane["name"]: (plane["axis"], plane["edges"]) for plane in about["planes"]}
    assert edges == {"axial": (0, [1, 2]), "coronal": (1, [1.5, 1]), "sagittal": (2, [3, 1])}


def test_addresses_that_no_file_can_have_are_not_there(room, people):
    seat = room.ask(people[0], "POST", "take", {}).json()["seat"]
    long = "9" * 400
    assert room.ask(people[0], "GET", f"{seat}/picture/{long}").status_code == 404
    assert room.ask(people[0], "PUT", f"{seat}/rounds/{long}", body()).status_code == 404
    assert room.ask(people[0], "GET", f"{long}-0/state").status_code == 404


def test_voxels_that_are_no_numbers_are_as_low_as_can_be(tmp_path):
    voxels = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    voxels[0, 0, 0] = np.nan
    write_preview(VolumeSample(id="v", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0)), tmp_path)
    seen = np.frombuffer(gzip.decompress((tmp_path / "voxels.gz").read_bytes()), "<u2")
    assert (seen[0], seen[-1]) == (0, 65535)
    assert abs(int(seen[12]) - 65535 * 11 / 22) < 2
