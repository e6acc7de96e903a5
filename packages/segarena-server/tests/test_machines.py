"""Two machines that share a PostgreSQL and a storage but no folder: one serves, the other evaluates."""

import time
import uuid

import pytest
from at_work import send_turn

from segarena.engine.run_folder import RunFolder
from segarena.errors import StoreError, StoreUnavailable
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.extensions.job_kinds import job_kinds
from segarena_server.http.responses import refusal_of
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.storage import s3 as remote
from segarena_server.storage.data_folder import DataFolder
from segarena_server.workers.pool import WorkerPool

pytest.importorskip("obstore")


@pytest.fixture(scope="module")
def machines(postgres, s3, tmp_path_factory):
    """The site of a machine that does not evaluate, and that of a machine that only evaluates."""
    db, storage = postgres.new_database(with_tables=True), "s3://files/event"
    settings = Settings(db=db, storage=storage, port=0, workers=0)
    serving = open_site(tmp_path_factory.mktemp("serving") / "data", settings)
    evaluating = open_site(
        tmp_path_factory.mktemp("evaluating") / "data", Settings(db=db, storage=storage)
    )
    hands = WorkerPool(evaluating, job_kinds())
    hands.start()
    yield serving, evaluating
    hands.stop()
    evaluating.database.close()


@pytest.fixture(scope="module")
def api(machines, serve_site):
    site = machines[0]
    phase = Phase(name="try", kind="practice", rounds=1, samples_per_run=2)
    told = ChallengeDescription(
        slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    make_challenge(site, told, lambda *_: None)
    served = serve_site(site)
    return served.api(served.token("ada"))


@pytest.mark.long
def test_what_one_machine_evaluates_the_other_serves(machines, api):
    serving = machines[0]
    run = api.post(
        "/challenges/photos/phases/try/runs", json={"id": str(uuid.uuid4()), "name": "x"}
    ).json()
    for place in run["places"]:
        path = f"/runs/{run['id']}/samples/{place['key']}"
        assert len(api.get(path).content) == place["bytes"]
        body = pack_turn(
            TurnHeader(id=str(uuid.uuid4()), open=list(range(len(place["dialogues"]))))
        )
        assert send_turn(api, f"{path}/turns/0", body).status_code == 200
        gone = pack_turn(TurnHeader(id=str(uuid.uuid4()), failed="nothing to say"))
        assert send_turn(api, f"{path}/turns/1", gone).status_code == 200
    deadline = time.monotonic() + 60
    while (told := api.get(f"/runs/{run['id']}").json())["state"] != "over":
        assert time.monotonic() < deadline, told
        time.sleep(0.05)
    assert told["fault"] == ""
    assert not serving.folder.run_folders.path(run["id"]).exists()
    here, there = (RunFolder.open(site.folder.run_folders.fetch(run["id"])) for site in machines)
    assert here.is_complete
    assert here.records().equals(there.records())


def test_a_storage_that_is_away_is_told_as_busy_and_by_no_name(machines, s3, monkeypatch):
    monkeypatch.setattr(remote, "_MAX_RETRIES", 0)
    elsewhere = DataFolder(machines[0].folder.path / "none", "s3://files/event").samples
    s3.trouble = "busy"
    with pytest.raises(StoreUnavailable) as raised:
        elsewhere.fetch("0" * 64)
    s3.trouble = ""
    told = refusal_of(raised.value)
    assert (told.status, told.kind) == (503, "busy")
    assert "s3://" not in str(told)


def test_whoever_keeps_files_elsewhere_is_refused(machines, tmp_path):
    with pytest.raises(
        StoreError, match="keep their files in s3://files/event, this one in one folder"
    ):
        open_site(tmp_path / "data", Settings(db=machines[0].settings.db))
