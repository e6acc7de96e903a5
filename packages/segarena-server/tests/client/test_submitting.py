"""Two commands take part without a dialogue: samples are downloaded, masks are sent, and the board shows the run."""

import json

import msgspec
import numpy as np
import pytest
from PIL import Image
from real import SEED, at_work, describe, lay, token_of
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.client import commands
from segarena.client.challenge_server_api import NextRunInfo, Server
from segarena.client.submission import detect_kind, pack_files
from segarena.errors import InvalidInput, RemoteError

CHALLENGES = (
    describe("photos", "clicks", "demo", takes=("masks",), samples_per_run=2, shows="board"),
    describe("scans", "radioactive", "phantom", takes=("masks",), samples_per_run=1, shows="board"),
    describe(
        "own",
        "clicks",
        "demo",
        kind="practice",
        takes=("run",),
        samples_per_run=1,
        rounds=2,
        shows="own",
    ),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    challenges = [
        msgspec.structs.replace(challenge, practice_may_reveal_test=True)
        for challenge in CHALLENGES
    ]
    site = lay(tmp_path_factory.mktemp("server") / "data", *challenges)
    with at_work(site) as address:
        yield site, address


@pytest.fixture
def do(server, monkeypatch):
    """Run a command; return its output."""
    site, address = server
    monkeypatch.setenv(
        "SEGARENA_TOKEN", token_of(site, f"p{np.random.default_rng().integers(10**12)}")
    )

    def run(*words, code=0):
        done = CliRunner().invoke(app, [str(word).replace("SERVER", address) for word in words])
        assert done.exit_code == code, done.output
        return done.output

    return run


def everything(folder):
    """Answer every dialogue with a full mask, only by files, like any program."""
    for key, dialogues in json.loads((folder / "prompts.json").read_text()).items():
        for number, asked in dialogues.items():
            assert asked["prompts"], asked
            (folder / "masks" / key).mkdir(exist_ok=True)
            if (folder / "samples" / f"{key}.png").is_file():
                with Image.open(folder / "samples" / f"{key}.png") as picture:
                    mask = np.ones((picture.height, picture.width), np.uint8)
                Image.fromarray(mask).save(folder / "masks" / key / f"{number}.png")
            else:
                with np.load(folder / "samples" / f"{key}.npz") as arrays:
                    mask = np.ones(arrays["voxels"].shape, bool)
                np.savez_compressed(folder / "masks" / key / f"{number}.npz", mask=mask)


@pytest.mark.long
@pytest.mark.parametrize("name", ["photos", "scans"])
def test_masks_are_fetched_for_and_sent(name, do, tmp_path):
    said = do("fetch", f"SERVER/challenges/{name}", "--out", tmp_path / "mine")
    assert "masks to" in said
    refused = do("submit", f"SERVER/challenges/{name}", tmp_path / "mine/masks", code=1)
    assert "missing" in refused
    everything(tmp_path / "mine")
    assert "judged" in do("submit", f"SERVER/challenges/{name}", tmp_path / "mine/masks")
    again = do("submit", f"SERVER/challenges/{name}", tmp_path / "mine/masks")
    assert "judged" in again  # the same is the same


@pytest.mark.long
def test_a_run_of_ones_own_is_sent(do, tmp_path):
    path = tmp_path / "run"
    do(
        "run", "clicks", "-s", "watershed", "-d", "demo", "--rounds", 2, "--seed", SEED, "--limit", 1,
        "--keep-rounds", 2, "--out", path, "-w", 0,
    )  # fmt: skip
    assert "judged" in do("submit", "SERVER/challenges/own", path)


def test_what_a_phase_does_not_take_is_said_before_anything_is_sent(do, tmp_path):
    (tmp_path / "worker.py").write_text("x")
    assert "accepts masks, not worker" in do(
        "submit", "SERVER/challenges/photos", tmp_path / "worker.py", code=2
    )
    assert "accepts run, not masks" in do(
        "fetch", "SERVER/challenges/own", "--out", tmp_path / "a", code=2
    )
    (tmp_path / "masks").mkdir()
    assert "run `segarena fetch` first" in do(
        "submit", "SERVER/challenges/photos", tmp_path / "masks", code=2
    )


def test_what_a_path_is_is_seen(tmp_path):
    for name, kind in (("a/run.json", "run"), ("b/worker.py", "worker"), ("c/k/0.png", "masks")):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("x")
        assert detect_kind(tmp_path / name[0]) == kind
    with pytest.raises(InvalidInput, match="expected a folder of masks"):
        detect_kind(tmp_path / "a/run.json")


def test_the_same_folder_gives_the_same_bytes_without_what_it_should_not_have(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.py").write_text("x" * 1000)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/x.pyc").write_text("y")
    (tmp_path / "link").symlink_to("/etc/passwd")
    first = pack_files(tmp_path)
    (tmp_path / "a/x.py").touch()
    assert pack_files(tmp_path) == first
    assert b"passwd" not in first
    assert b"pyc" not in first


def test_a_repeat_is_announced_before_it_is_sent(do, monkeypatch, tmp_path):
    notices = []
    next_run = NextRunInfo(unranked="a repeat of something")
    monkeypatch.setattr(Server, "next_run", lambda *_: next_run)

    def send(*_):
        assert notices == ["this run will not be ranked, because it will be a repeat of something"]
        raise RemoteError("sent")

    monkeypatch.setattr(Server, "send", send)
    (tmp_path / "run.json").write_text("{}")
    monkeypatch.setattr(commands.typer, "secho", lambda line, **_: notices.append(line))
    do("submit", "SERVER/challenges/own", tmp_path, code=2)
    assert notices
