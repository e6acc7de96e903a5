"""Submissions are inspected before they count, evaluated like dialogues, and shown on the board."""

import io
import json
import os
import signal
import time
import uuid
import zipfile
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
from at_work import send_turn
from PIL import Image
from sqlalchemy import select

import segarena
from segarena.engine.run_folder import RunFolder
from segarena.files.hashes import sha256
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena.segmenters.workers.sandbox import Sandbox
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import RunSample
from segarena_server.db.orm_models import Turn as Turns
from segarena_server.storage.content_store import ContentStore

NO_SANDBOX = Sandbox().fault()
confined = pytest.mark.skipif(bool(NO_SANDBOX), reason=NO_SANDBOX or "confined")
on_a_file = pytest.mark.parametrize("working", ["sqlite"], indirect=True)
"""For what the database has no part in."""

SEED = 11
ROUNDS = 2

PHASES = (
    Phase(
        name="masks", takes=("masks",), samples_per_run=2, runs_in_all=3, seed=SEED, shows="board"
    ),
    Phase(
        name="own",
        kind="practice",
        takes=("run", "dialogue"),
        samples_per_run=2,
        rounds=ROUNDS,
        seed=SEED,
    ),
    Phase(
        name="final",
        takes=("worker",),
        samples_per_run=2,
        rounds=ROUNDS,
        runs_in_all=2,
        seed=SEED,
        shows="board",
    ),
)

WORKER = """
import numpy as np
from segarena_worker import serve
class Model:
    takes = ("click",)
    def encode(self, sample):
        return sample.image.astype(np.float32)
    def predict(self, encoded, dialogues):
        found = []
        for dialogue in dialogues:
            row, column = dialogue.clicks[0].position
            found.append(np.abs(encoded - encoded[row, column]).sum(axis=2) < 60)
        return found
serve(Model)
"""


@pytest.fixture(scope="module")
def challenge(working):
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="sent",
        title="Sent",
        benchmark="clicks",
        dataset="demo",
        phases=PHASES,
    )
    make_challenge(working.site, described, lambda *_: None)
    return described


@pytest.fixture
def api(working, challenge, request):
    return working.api(working.token(f"{request.node.name[:20]}{uuid.uuid4().hex[:8]}"))


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def send(api, phase, kind, content, run="", key=None):
    about = {"kind": kind, "name": "mine", "run": run}
    return api.post(
        f"/challenges/sent/phases/{phase}/sent/{key or uuid.uuid4()}", params=about, content=content
    )


def waited(api, answer, until=("refused", "dead", "taken")):
    """Return the state of a submission after its inspection."""
    assert answer.status_code == 202, answer.text
    told = answer.json()
    for _ in range(600):
        if told["state"] in until:
            return told
        time.sleep(0.1)
        told = api.get(f"/sent/{told['id']}").json()
    raise AssertionError(told)


def judged(api, told):
    """Return the finished run of an accepted submission."""
    assert told["state"] == "taken", told
    for _ in range(900):
        run = api.get(f"/runs/{told['run']}").json()
        if run["state"] == "over":
            return run
        time.sleep(0.1)
    raise AssertionError(run)


def begin(api):
    told = {"id": str(uuid.uuid4()), "name": "mine", "kind": "masks"}
    answer = api.post("/challenges/sent/phases/masks/runs", json=told)
    assert answer.status_code == 201, answer.text
    return answer.json()


def shapes_of(api, run):
    samples = {
        place["key"]: unpack_sample(
            api.get(f"/runs/{run['id']}/samples/{place['key']}").content, place["key"]
        )
        for place in run["places"]
    }
    return {key: sample.shape for key, sample in samples.items()}


def png(values):
    out = io.BytesIO()
    Image.fromarray(values).save(out, format="PNG")
    return out.getvalue()


def masks_for(api, run, value=1):
    shapes = shapes_of(api, run)
    return {
        f"{place['key']}/{number}.png": png(np.full(shapes[place["key"]], value, np.uint8))
        for place in run["places"]
        for number, _ in enumerate(place["dialogues"])
    }


@pytest.mark.long
def test_masks_are_judged_as_one_round(api, working):
    run = begin(api)
    key = run["places"][0]["key"]
    turn = pack_turn(TurnHeader(id=str(uuid.uuid4()), open=[0]))
    first = send_turn(api, f"/runs/{run['id']}/samples/{key}/turns/0", turn)
    assert len(unpack_reply(first.content, shapes_of(api, run)[key])[0].rounds[0]) == 1
    judged(api, waited(api, send(api, "masks", "masks", zipped(masks_for(api, run)), run["id"])))
    folder = RunFolder.open(working.site.folder.runs / run["id"])
    records = folder.records()
    assert set(records["round"]) == {1}
    assert records["failure"].is_null().all()
    # A mask of everything has the target's share of the picture as its IoU.
    masks = folder.masks()
    assert (records["iou"] > 0).all()
    assert masks.height == records.height
    assert (records["union"] == records["union"].max()).all() or records["sample"].n_unique() > 1
    assert api.get(f"/runs/{run['id']}/scores").json()["scores"]


@pytest.mark.long
def test_all_that_is_wrong_with_masks_is_said_and_nothing_is_counted(api):
    run = begin(api)
    files = masks_for(api, run)
    missing, small, odd = [*files][:3]
    del files[missing]
    files[small] = png(np.zeros((3, 4), np.uint8))
    files[odd] = png(np.full(shapes_of(api, run)[odd.partition("/")[0]], 9, np.uint8))
    files["more.txt"] = "x"
    told = waited(api, send(api, "masks", "masks", zipped(files), run["id"]))
    assert told["state"] == "refused"
    assert len(told["faults"]) == 4
    for fault, word in zip(
        sorted(told["faults"]), sorted([missing, small, odd, "more.txt"]), strict=True
    ):
        assert fault.startswith(word)
    again = waited(api, send(api, "masks", "masks", zipped(masks_for(api, run)), run["id"]))
    judged(api, again)


@pytest.mark.long
def test_what_is_refused_is_kept_nowhere(api, monkeypatch):
    dropped = []
    monkeypatch.setattr(
        ContentStore, "drop", lambda self, name: dropped.append((self.folder.name, name))
    )
    content = b"no zip, and nobody else's"
    assert waited(api, send(api, "masks", "masks", content, begin(api)["id"]))["state"] == "refused"
    deadline = time.monotonic() + 30
    while not dropped and time.monotonic() < deadline:  # it goes when that it is refused is written
        time.sleep(0.01)
    assert dropped == [("sent", sha256(content))]


@pytest.mark.long
def test_a_run_of_masks_takes_no_turns_and_no_second_masks(api):
    run = begin(api)
    key = run["places"][0]["key"]
    turn = pack_turn(TurnHeader(id=str(uuid.uuid4()), failed="no"))
    assert api.post(f"/runs/{run['id']}/samples/{key}/turns/1", content=turn).status_code == 409
    told = waited(api, send(api, "masks", "masks", zipped(masks_for(api, run)), run["id"]))
    second = send(api, "masks", "masks", zipped(masks_for(api, run, 0)), run["id"])
    assert second.status_code in (403, 409)
    judged(api, told)


@pytest.mark.long
def test_what_is_sent_twice_counts_once(api, working):
    run, key = begin(api), str(uuid.uuid4())
    content = zipped(masks_for(api, run))
    first = send(api, "masks", "masks", content, run["id"], key)
    told = waited(api, first)
    again = send(api, "masks", "masks", content, run["id"], key)
    assert again.json()["id"] == told["id"]
    content = zipped({"a": "b"})
    other = send(api, "masks", "masks", content, run["id"], key)
    assert other.status_code == 409
    assert not working.site.folder.sent.path(sha256(content)).is_file()
    judged(api, told)


@pytest.mark.long
def test_nobody_sees_or_uses_what_somebody_else_sent(api, working):
    run = begin(api)
    told = waited(api, send(api, "masks", "masks", b"no zip", run["id"]))
    other = working.api(working.token(f"other{uuid.uuid4().hex[:8]}"))
    assert other.get(f"/sent/{told['id']}").status_code == 404
    assert send(other, "masks", "masks", b"x", run["id"]).status_code == 404
    assert send(other, "masks", "masks", b"no zip", run["id"], told["id"]).status_code == 409


@on_a_file
def test_what_a_phase_does_not_take_is_refused_before_it_is_read(api):
    answer = send(api, "final", "run", b"x" * 10)
    assert answer.status_code == 422
    assert "segarena submit my_worker.py" in answer.json()["message"]
    dialogue = api.post(
        "/challenges/sent/phases/final/runs", json={"id": str(uuid.uuid4()), "name": "x"}
    )
    assert dialogue.status_code == 422


@pytest.fixture(scope="module")
def own(challenge, tmp_path_factory):
    """A run that a participant made locally."""
    return segarena.evaluate(
        "clicks", segmenter="watershed", dataset="demo", rounds=ROUNDS, seed=SEED, limit=2, keep_rounds=(1, 2),
        out=tmp_path_factory.mktemp("own") / "run",
    )  # fmt: skip


def folder_zip(path, change=None):
    files = {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }
    return zipped({**files, **(change or {})})


@pytest.mark.long
def test_a_run_of_ones_own_is_judged_again(api, own, working):
    run = judged(api, waited(api, send(api, "own", "run", folder_zip(own.path))))
    again = RunFolder.open(working.site.folder.runs / run["id"])
    assert again.records().equals(own.records())
    assert again.masks().equals(own.masks())


@pytest.mark.long
@on_a_file
def test_a_run_that_was_edited_or_held_otherwise_is_refused(api, own, tmp_path):
    (table,) = (own.path / "records").glob("*.parquet")
    broken = bytearray(table.read_bytes())
    broken[len(broken) // 2] ^= 1
    edited = waited(
        api, send(api, "own", "run", folder_zip(own.path, {f"records/{table.name}": bytes(broken)}))
    )
    assert edited["state"] == "refused"
    assert "damaged" in edited["faults"][0]
    assert "/tmp" not in json.dumps(edited)
    other = segarena.evaluate(
        "clicks", segmenter="watershed", dataset="demo", rounds=ROUNDS, seed=SEED + 1, limit=2, keep_rounds=(1, 2),
        out=tmp_path / "other",
    )  # fmt: skip
    told = waited(api, send(api, "own", "run", folder_zip(other.path)))
    assert told["faults"] == [f"seed: expected {SEED}, got {SEED + 1}"]


@confined
@on_a_file
def test_a_program_is_held_as_at_home(api, working, tmp_path):
    run = judged(api, waited(api, send(api, "final", "worker", WORKER.encode())))
    assert run["places"] == []
    there = RunFolder.open(working.site.folder.runs / run["id"])
    assert there.records()["failure"].is_null().all()
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "segarena_worker.py").write_text(Path(segarena.worker.__file__).read_text())
    home = segarena.evaluate(
        "clicks", segmenter=f"worker('python {tmp_path / 'worker.py'}')", dataset="demo", rounds=ROUNDS, seed=SEED,
        out=tmp_path / "run",
    )  # fmt: skip
    mine = (
        home.records()
        .filter(home.records()["sample"].is_in(there.samples))
        .sort("sample", "target", "round")
    )
    assert there.records().sort("sample", "target", "round").equals(mine)


@pytest.mark.long
@confined
@on_a_file
def test_the_organiser_sees_every_round_of_a_program_and_its_author_no_sample(api, working):
    run = judged(api, waited(api, send(api, "final", "worker", WORKER.encode())))
    organiser = working.person(f"judge{uuid.uuid4().hex[:8]}", "organiser", ["sent"])
    shown = organiser.get(f"/runs/{run['id']}/samples/1").text
    assert "Every round" in shown
    assert '<td class="num">2</td>' in shown
    with working.site.database.reading() as session:
        places = session.scalars(select(RunSample).where(RunSample.run_id == run["id"])).all()
        turns = session.scalars(select(Turns).where(Turns.run_id == run["id"])).all()
    assert len(turns) == 2 * (1 + ROUNDS)
    assert not any(turn.given for turn in turns)  # nobody was given a prompt, so no budget has less
    for place in places:
        assert api.get(f"/runs/{run['id']}/samples/{place.key}").status_code == 404
        assert api.get(f"/runs/{run['id']}/samples/{place.key}/turns/0").status_code == 404
        assert place.key not in api.get(f"/runs/{run['id']}").text


@pytest.mark.long
@confined
@on_a_file
def test_a_program_that_cannot_take_part_is_told_why_and_costs_nothing(api):
    wrong = {
        "no zip at all \xff".encode("latin-1"): "Python file",
        b"raise SystemExit('no GPU here')": "no GPU here",
        b"import nonesuch": "no module nonesuch",
        WORKER.replace('("click",)', '("lasso",)').encode(): "lasso",
        WORKER.replace(
            "found.append(", "found.append(1 / 0 if True else "
        ).encode(): "ZeroDivisionError",
        zipped({"model.py": "x"}): "worker.py",
    }
    for content, told in wrong.items():
        found = waited(api, send(api, "final", "worker", content))
        assert found["state"] == "refused", content
        assert told in " ".join(found["faults"]), found
        assert "bwrap" not in json.dumps(found)
    judged(api, waited(api, send(api, "final", "worker", WORKER.encode())))


@pytest.mark.long
@confined
@on_a_file
def test_what_a_program_says_of_hidden_samples_is_for_the_organiser_alone(api, working):
    spy = WORKER.replace(
        "def encode(self, sample):",
        "def encode(self, sample):\n        self.last = sample.image.mean()",
    )
    spy = spy.replace(
        "found = []",
        "found = []\n        if encoded.shape[0] > 100: raise ValueError(f'saw {encoded.mean()}')",
    )
    run = judged(api, waited(api, send(api, "final", "worker", spy.encode())))
    there = RunFolder.open(working.site.folder.runs / run["id"])
    assert there.records()["failure"].str.contains("saw").all()
    for path in (f"/runs/{run['id']}", f"/runs/{run['id']}/scores", f"/sent/{run['id']}"):
        assert "saw" not in api.get(path).text


HOSTILE = {
    "sleeps": "import time; time.sleep(1000)",
    "eats": "import os; keep = [np.ones(10**7) for _ in range(1000)]",
}


@pytest.mark.long
@confined
@on_a_file
@pytest.mark.parametrize("how", HOSTILE)
def test_a_program_that_turns_hostile_in_the_run_fails_there_and_harms_nobody(
    how, api, working, monkeypatch
):
    others = set(_bwraps(os.getpid()))  # programs of tests that did not wait for their end
    limits = msgspec.structs.replace(
        working.site.settings.sent, answer_s=0.5, memory_gb=0.5, processes=64
    )
    monkeypatch.setattr(
        working.site, "settings", msgspec.structs.replace(working.site.settings, sent=limits)
    )
    turned = WORKER.replace(
        "found = []", f"found = []\n        if encoded.shape[0] > 100:\n            {HOSTILE[how]}"
    )
    run = judged(api, waited(api, send(api, "final", "worker", turned.encode())))
    there = RunFolder.open(working.site.folder.runs / run["id"])
    assert there.is_complete
    assert there.records()["failure"].is_not_null().all()
    assert api.get("/ping").status_code == 200
    wait_until_gone(set(_bwraps(os.getpid())) - others)


@pytest.mark.long
@confined
@on_a_file
def test_a_judging_process_that_is_killed_is_replaced_and_nothing_is_counted_twice(api, working):
    others = set(_bwraps(os.getpid()))
    slow = WORKER.replace("found = []", "found = []\n        import time; time.sleep(0.7)")
    told = waited(api, send(api, "final", "worker", slow.encode()))
    assert told["state"] == "taken", told
    # It has judged a sample, and begins the next one.
    wait_until(lambda: list((working.site.folder.runs / told["run"] / "records").glob("*.msgpack")))
    wait_until(lambda: _judging())
    for pid in _judging():
        os.kill(pid, signal.SIGKILL)
    run = judged(api, told)
    there = RunFolder.open(working.site.folder.runs / run["id"])
    assert (
        there.records().unique(["sample", "target", "user", "round"]).height
        == there.records().height
    )
    assert there.records()["failure"].is_null().all()
    wait_until_gone(set(_bwraps(os.getpid())) - others)


def wait_until(is_so):
    """Wait until a condition holds; fail after an unreasonably long time."""
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_until_gone(pids):
    """Wait until processes have ended; fail with their state and command line after a long time."""
    deadline = time.monotonic() + 120
    while left := [described for pid in pids if (described := _described(pid))]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def _described(pid):
    """Return the state, parent and command line of a process, or "" if it has ended."""
    with suppress(OSError):
        _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return f"{pid}: {rest[:40]} {words.decode(errors='replace')[-300:]}"
    return ""


def _judging():
    """Return the processes of this server that run a confined program."""
    return [pid for pid in _children(os.getpid()) if _bwraps(pid)]


def _children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        # A process may end while it is looked at.
        with suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _bwraps(pid):
    """Return the processes of bubblewrap below a process."""
    found = []
    for child in _children(pid):
        with suppress(OSError):
            if "bwrap" in Path(f"/proc/{child}/comm").read_text():
                found.append(child)
        found += _bwraps(child)
    return found


@on_a_file
def test_pages_to_send_and_to_look(working, challenge):
    page = working.person(f"page{uuid.uuid4().hex[:8]}")
    text = page.get("/challenges/sent/own/send").text
    key = text.partition('name="key" value="')[2].partition('"')[0]
    number = text.partition('name="id" value="')[2].partition('"')[0]
    form = {"key": key, "id": number, "kind": "run", "name": "my <b>run</b>"}
    answer = page.post(
        "/challenges/sent/own/send", data=form, files={"file": ("run.zip", b"no zip")}
    )
    assert answer.status_code == 303, answer.text
    for _ in range(600):
        shown = page.get(answer.headers["location"]).text
        if "expected a zip" in shown:
            break
        time.sleep(0.1)
    assert "refused; your quota is unchanged" in shown
    assert "<b>run" not in shown
    assert number in page.get("/sent").text
    assert (
        page.post(
            "/challenges/sent/own/send", data={**form, "key": "0" * 64}, files={"file": ("a", b"x")}
        ).status_code
        == 403
    )
    assert page.get("/challenges/sent/masks/send").status_code == 200
