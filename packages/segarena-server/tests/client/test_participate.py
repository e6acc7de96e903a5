import json
import uuid
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from fake import Arena, serving
from msgspec.structs import replace
from typer.testing import CliRunner

import segarena
from segarena.cli.main import app
from segarena.client import connection
from segarena.client.challenge_run_record import read_participation
from segarena.client.participate import evaluate, read_scores, sessions
from segarena.errors import (
    InvalidInput,
    PluginInvalid,
    PredictionInvalid,
    RemoteError,
    RunConflict,
    StoreError,
    WorkError,
)
from segarena.records.parquet_tables import table_frame
from segarena_server.challenges.description import Phase


@pytest.fixture(autouse=True)
def pauses_are_short(monkeypatch):
    """Shorten the delays between retries; the tests of the connection cover the real ones."""
    monkeypatch.setattr(connection, "_pause_s", lambda _: 0.01)


KEYS = ["benchmark", "sample", "target", "user", "repeat", "round"]


def judged(arena, folder):
    """The server's records of a run."""
    return table_frame("records", arena.records(read_participation(folder).run)).sort(KEYS)


def told(records):
    """The part of records that a participant knows: without sample ids, targets and names of examples."""
    prompts = pl.col("prompts").str.replace_all(r'"sample":"[^"]*"', "")
    return (
        records.drop("dataset", "sample", "target", "label", "attributes")
        .with_columns(prompts)
        .sort(pl.all())
    )


PRACTICE = {"kind": "practice", "shows": "own"}
"""A phase in which values come with the prompts."""

CASES = {
    "clicks": ("clicks(rounds=3)", "sample-squares(count=2)", "watershed", 2),
    "a video": ("davis(rounds=2)", "demo-videos(size=(60, 100), frames=4)", "colour-flow", 1),
    "a volume, slice by slice": (
        "cvpr2025(box=False)",
        "phantom(cases=1, shape=(20, 48, 48))",
        "watershed",
        1,
    ),
    "one shot": ("toss", "oneshot-demo", "superpixel-prototypes", 2),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_run_at_a_server_is_the_run_that_has_the_truth(case, tmp_path):
    benchmark, dataset, segmenter, samples = CASES[case]
    arena = Arena(benchmark, dataset, samples, **PRACTICE)
    with serving(arena) as server:
        folder = evaluate(
            f"{server}/challenges/spring", segmenter=segmenter, out=tmp_path / "there"
        )
        _, scores = read_scores(tmp_path / "there")
    here = segarena.evaluate(
        benchmark, segmenter=segmenter, dataset=dataset, limit=samples, out=tmp_path / "here"
    )
    assert judged(arena, tmp_path / "there").equals(here.records().sort(KEYS))
    assert told(folder.records()).equals(told(here.records()))
    assert folder.records().height > 0
    assert folder.config.counts.failures == here.config.counts.failures == 0
    assert scores == {"state": "over"}
    assert not {*here.records()["sample"]} & {*folder.records()["sample"]}


def run(server, out, segmenter="watershed", **options):
    return evaluate(f"{server}/challenges/spring", segmenter=segmenter, out=out, **options)


@pytest.mark.long
def test_a_script_of_its_own_holds_one_dialogue_after_the_other(tmp_path):
    arena = Arena("clicks(rounds=2)", **PRACTICE)
    with serving(arena) as server:
        for session in sessions(f"{server}/challenges/spring", out=tmp_path / "there"):
            while (dialogue := session.next()) is not None:
                session.submit(~dialogue.previous_mask(session.sample.shape))
    for session in segarena.sessions(
        "clicks(rounds=2)", dataset="demo", limit=1, out=tmp_path / "here"
    ):
        while (dialogue := session.next()) is not None:
            session.submit(~dialogue.previous_mask(session.sample.shape))
    here = segarena.RunFolder.open(tmp_path / "here").records()
    assert judged(arena, tmp_path / "there").equals(here.sort(KEYS))
    assert arena.is_over(read_participation(tmp_path / "there").run)


@pytest.mark.long
def test_all_dialogues_about_a_sample_travel_together(tmp_path):
    arena = Arena("clicks(rounds=3)", samples=1)
    with serving(arena) as server:
        run(server, tmp_path / "run")
    turns = [request for request in arena.requests if "/turns/" in request]
    dialogues = len(arena.begin(read_participation(tmp_path / "run").run)["places"][0]["dialogues"])
    assert dialogues > 1
    assert len(turns) == 4


def test_scores_that_are_not_shown_are_in_no_record(tmp_path):
    arena = Arena("clicks(rounds=2)", "sample-squares(count=1)")
    with serving(arena) as server:
        folder = run(server, tmp_path / "run")
    assert "iou" not in folder.records().columns
    assert "iou" in judged(arena, tmp_path / "run").columns
    assert not folder.config.metrics


@pytest.mark.long
def test_a_sample_is_fetched_once_for_all_runs(tmp_path):
    arena = Arena("clicks(rounds=1)", samples=2)
    with serving(arena) as server:
        run(server, tmp_path / "one")
        run(server, tmp_path / "two")
    fetched = [
        request
        for request in arena.requests
        if request.startswith("GET") and "/samples/" in request
    ]
    assert len(fetched) == 2


def test_a_kept_sample_that_is_damaged_is_fetched_again(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        run(server, tmp_path / "one")
        (kept,) = (tmp_path / "cache" / "segarena" / "samples").iterdir()
        kept.write_bytes(kept.read_bytes()[:-1] + b"?")
        run(server, tmp_path / "two")
    assert judged(arena, tmp_path / "two").equals(judged(arena, tmp_path / "one"))


def test_another_sample_than_announced_is_refused(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        begin = arena.begin

        def otherwise(run):
            told = begin(run)
            arena.bodies["k0"] = arena.bodies["k0"][:-1] + b"?"
            return told

        arena.begin = otherwise
        with pytest.raises(RemoteError, match="sample k0 differs from its announced hash"):
            run(server, tmp_path / "run")


class Unsteady:
    """Never gives the same answer twice, so answers sent before a kill must count."""

    calls = 0

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        Unsteady.calls += 1
        rng = np.random.default_rng(Unsteady.calls)
        return [rng.random(encoded) > 0.5 for _ in dialogues]


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("fault", ["cut", "deaf"])
def test_a_run_that_was_stopped_goes_on_and_no_answer_counts_twice(tmp_path, at, fault):
    arena = Arena("clicks(rounds=2)", samples=1, **PRACTICE)
    with serving(arena) as server:
        arena.faults = [None] * at + [fault]
        with pytest.raises(RemoteError, match="repeat the command to resume"):
            run(server, tmp_path / "run", Unsteady(), patience_s=0.0)
        folder = run(server, tmp_path / "run", Unsteady())
    assert len(arena.runs) == 1
    assert told(folder.records()).equals(told(judged(arena, tmp_path / "run")))
    assert not folder.failed()


@pytest.mark.parametrize(
    "fault", ["cut", "deaf", 503, (429, {"error": "busy", "message": "many"}, {})], ids=str
)
def test_what_passes_is_tried_again(tmp_path, fault):
    arena = Arena("clicks(rounds=2)", "sample-squares(count=1)", **PRACTICE)
    with serving(arena) as server:
        troubles = []
        arena.faults = [fault, fault, None, fault, None, None, fault]
        folder = run(server, tmp_path / "run", on_trouble=troubles.append)
    assert judged(arena, tmp_path / "run").height == folder.records().height > 0
    assert len(troubles) == 1
    assert server in troubles[0]


@pytest.mark.long
def test_a_segmenter_that_cannot_take_part_costs_no_try(tmp_path):
    arena = Arena("davis(rounds=2)", "demo-videos")
    with serving(arena) as server, pytest.raises(PluginInvalid, match="watershed segments images"):
        run(server, tmp_path / "run", "watershed")
    assert not arena.runs


def test_a_folder_that_holds_something_else_costs_no_try(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    with serving(arena) as server, pytest.raises(RunConflict, match="holds other files"):
        run(server, tmp_path / "run")
    assert not arena.runs


def test_a_folder_belongs_to_one_challenge_until_it_is_overwritten(tmp_path):
    arena, other = (
        Arena("clicks(rounds=1)", "sample-squares(count=1)"),
        Arena("clicks(rounds=1)", "sample-squares(count=1)"),
    )
    with serving(arena) as server, serving(other) as elsewhere:
        run(server, tmp_path / "run")
        with pytest.raises(RunConflict, match=f"holds a run at {server}.*, not {elsewhere}"):
            run(elsewhere, tmp_path / "run")
        run(elsewhere, tmp_path / "run", overwrite=True)
    assert len(other.runs) == 1


def test_a_finished_run_given_again_asks_for_nothing_more(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        run(server, tmp_path / "run")
        arena.requests.clear()
        run(server, tmp_path / "run")
    assert arena.requests == ["GET /api/v1/challenges/spring"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"rounds": 3}, "rounds: the challenge sets this option"),
        ({"dataset": "demo"}, "dataset: the challenge sets"),
    ],
    ids=str,
)
def test_what_is_for_the_organiser_to_say_is_refused(given, why):
    with pytest.raises(InvalidInput, match=why):
        segarena.evaluate(
            challenge="https://lab.example/challenges/x", segmenter="watershed", **given
        )


@pytest.mark.long
def test_evaluate_and_sessions_take_a_challenge(tmp_path):
    arena = Arena("clicks(rounds=1)")
    with serving(arena) as server:
        url = f"{server}/challenges/spring/test"
        folder = segarena.evaluate(challenge=url, segmenter="watershed", out=tmp_path / "run")
        opened = [
            session.next() for session in segarena.sessions(challenge=url, out=tmp_path / "mine")
        ]
    assert len(opened) == folder.records().height
    assert arena.is_over(read_participation(tmp_path / "mine").run)


def answer_once(url, out):
    script = sessions(url, out=out)
    session = next(script)
    session.next()
    session.submit(np.ones(session.sample.shape, bool))
    session.next()
    return script


def test_a_script_that_gives_up_where_it_answered_before_keeps_that_answer(tmp_path):
    arena = Arena("clicks(rounds=2)")
    with serving(arena) as server:
        answer_once(f"{server}/challenges/spring", tmp_path / "run").close()
        for session in sessions(f"{server}/challenges/spring", out=tmp_path / "run"):
            session.next()
    first = judged(arena, tmp_path / "run").filter(pl.col("iou").is_not_null())
    assert first.height == 1
    assert first["iou"][0] > 0
    failed = segarena.RunFolder.open(tmp_path / "run").records()["failure"].drop_nulls()
    assert all("abandoned by the participant" in why for why in failed)
    assert arena.is_over(read_participation(tmp_path / "run").run)


def test_turns_that_were_damaged_are_not_sent(tmp_path):
    arena = Arena("clicks(rounds=2)", "sample-squares(count=1)")
    with serving(arena) as server:
        answer_once(f"{server}/challenges/spring", tmp_path / "run").close()
        file = tmp_path / "run" / "turns" / "k0" / "1.turn"
        file.write_bytes(file.read_bytes()[:-3])
        with pytest.raises(StoreError, match="turn 1 is damaged"):
            answer_once(f"{server}/challenges/spring", tmp_path / "run")


def test_no_token_gets_into_the_folder(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        run(server, tmp_path / "run")
    files = [file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert files
    assert not any(b"a-token" in file for file in files)


@pytest.mark.parametrize("phases", [0, 2])
def test_which_phase_is_meant_must_be_clear(tmp_path, phases):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    dates = {"closes": datetime(2020, 1, 1, tzinfo=UTC)} if not phases else {}
    arena.challenge = replace(
        arena.challenge, phases=(Phase(name="a", **dates), Phase(name="b", **dates))
    )
    with (
        serving(arena) as server,
        pytest.raises(InvalidInput, match=r"choose one by .*/spring/PHASE: a, b"),
    ):
        run(server, tmp_path / "run")


@pytest.mark.long
def test_the_command_says_where_the_run_lies_and_stands(tmp_path):
    arena = Arena("clicks(rounds=1)", **PRACTICE)
    with serving(arena) as server:
        words = [
            "run",
            "--challenge",
            f"{server}/challenges/spring",
            "-s",
            "watershed",
            "-o",
            str(tmp_path / "run"),
        ]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "1 sample," in done.stderr
    assert f"{server}/challenges/spring/test" in done.stderr


ODD = {
    "nothing": b"",
    "noise": bytes(range(256)) * 8,
    "an empty object": b"{}",
    "a list": b"[]",
    "no end": b'{"a": ' * 5000,
    "another run": b'{"id": "x", "places": [{"key": "../../x", "bytes": -1, "sha256": "", "dialogues": []}]}',
    "a frame that promises much": b"\x10\x00\x00\x00" + b"\xff" * 8 + b"{}" + b" " * 14,
}


@pytest.mark.parametrize(
    "at", [0, 1, 2, 6, 7]
)  # between the sample and the first turn the round trip is measured
@pytest.mark.parametrize("name", ODD)
def test_a_server_that_says_odd_things_is_named_and_nothing_is_recorded(tmp_path, at, name):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        arena.faults = [None] * at + [(200, ODD[name], {})]
        with pytest.raises(RemoteError) as told:
            run(server, tmp_path / "run", patience_s=0.0)
        assert server in str(told.value)
        assert "\n" not in str(told.value)
        assert len(str(told.value)) < 500
        folder = run(server, tmp_path / "run")
    assert not folder.failed()
    assert len(arena.runs) == 1


class Broken:
    """Cannot answer anything."""

    def encode(self, sample):
        raise RuntimeError("no weights")

    def predict(self, encoded, dialogues):
        return []


@pytest.mark.long
def test_a_segmenter_that_fails_everywhere_stops_early_and_may_begin_another_run(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=5)", 5, **PRACTICE)
    with serving(arena) as server:
        with pytest.raises(
            WorkError,
            match=r"failed for the same reason: .*no weights.*The server .*--overwrite",
        ) as told:
            run(server, tmp_path / "run", Broken(), keep_going=False)
        assert "same command" not in str(told.value)
        run(server, tmp_path / "run", overwrite=True)
    first, second = arena.runs
    assert len([held for held in arena.runs[first].values() if held["turns"]]) == 3
    assert arena.is_over(second)


class Probabilities:
    """Forgets to threshold its answers."""

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [np.full(encoded, 0.7) for _ in dialogues]


class OneMask(Probabilities):
    """Returns a mask in place of a list of masks."""

    def predict(self, encoded, dialogues):
        return np.zeros(encoded, dtype=bool)


@pytest.mark.parametrize(
    ("segmenter", "reason"),
    [
        (Broken(), "RuntimeError: no weights"),
        (Probabilities(), "expected a bool mask"),
        (OneMask(), "got one mask"),
    ],
)
def test_a_segmenter_with_an_error_uses_up_no_samples_of_a_test(tmp_path, segmenter, reason):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=2)", 2)
    with serving(arena) as server:
        with pytest.raises(PluginInvalid, match=f"{reason}.*uses up no samples"):
            run(server, tmp_path / "run", segmenter)
        assert not arena.runs
        run(server, tmp_path / "run")
    assert len(arena.runs) == 1


def test_a_trial_can_be_skipped(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=2)", 2)
    with serving(arena) as server:
        folder = run(server, tmp_path / "run", OneMask(), skip_trial=True)
    assert len(arena.runs) == 1
    assert len(folder.failed()) == 2


def test_the_command_skips_a_trial_only_at_a_challenge(tmp_path):
    command = ["run", "clicks", "-s", "watershed", "--skip-trial", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "only a run in a challenge" in result.output
    assert not (tmp_path / "run").exists()


def answer_with_nothing(session):
    while session.next() is not None:
        session.submit(np.zeros(session.sample.shape, bool))


def test_a_script_that_requests_a_trial_answers_a_synthetic_sample_first(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=2)", 2)
    with serving(arena) as server:
        url = f"{server}/challenges/spring"
        script = segarena.sessions(challenge=url, out=tmp_path / "run", trial=True)
        trial = next(script)
        dialogue = trial.next()
        assert trial.sample.shape == (240, 320)
        assert [len(prompts) for prompts in dialogue.rounds] == [1]
        with pytest.raises(PredictionInvalid, match=r"uses up no samples"):
            trial.submit(np.zeros((3, 4), bool))
        assert not arena.runs
        answer_with_nothing(trial)
        assert trial.answered == 1
        assert not arena.runs
        answered = 0
        for session in script:
            answer_with_nothing(session)
            answered += 1
    assert answered == 2
    assert len(arena.runs) == 1
    records = segarena.RunFolder.open(tmp_path / "run").records()
    assert "trial" not in records["user"].to_list()


def test_a_script_that_leaves_its_trial_uses_up_no_samples(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=2)", 2)
    with serving(arena) as server:
        url = f"{server}/challenges/spring"
        with pytest.raises(PredictionInvalid, match="expected an answer about the synthetic image"):
            list(segarena.sessions(challenge=url, out=tmp_path / "run", trial=True))
        assert not arena.runs
        without = segarena.sessions(challenge=url, out=tmp_path / "run")
        assert next(without).sample.shape != (240, 320)


def test_a_practice_phase_has_no_trial(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=2)", 2, **PRACTICE)
    with serving(arena) as server:
        url = f"{server}/challenges/spring"
        script = segarena.sessions(challenge=url, out=tmp_path / "run", trial=True)
        assert next(script).user_name != "trial"


class BadCandidates:
    """Requests prompts in a frame that does not exist."""

    sample_kinds = frozenset({"video"})

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [
            segarena.Prediction(np.zeros(encoded, np.uint8), candidates=(encoded[0],))
            for _ in dialogues
        ]


def test_what_the_server_would_refuse_is_a_failure_here(tmp_path):
    arena = Arena("davis(rounds=2)", "demo-videos(size=(60, 100), frames=4)")
    with serving(arena) as server:
        folder = run(server, tmp_path / "run", BadCandidates())
    assert "candidates must be frames, got (4,)" in folder.records()["failure"][0]
    assert arena.is_over(read_participation(tmp_path / "run").run)


def test_the_failure_that_the_server_gets_has_no_line_of_the_participants_code(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)", **PRACTICE)
    (tmp_path / "secret_model.py").write_text(
        "class Model:\n"
        "    def encode(self, sample):\n"
        "        return sample\n"
        "    def predict(self, encoded, dialogues):\n"
        "        raise ValueError('no (such) weights')\n"
    )
    with serving(arena) as server:
        folder = run(server, tmp_path / "run", f"{tmp_path}/secret_model.py:Model")
    assert "secret_model.py, line 5" in folder.records()["failure"][0]
    records = arena.records(read_participation(tmp_path / "run").run)
    (told,) = {record.failure for record in records}
    assert told == "predict: ValueError: no (such) weights"


def test_what_was_sent_is_let_go_when_the_run_is_over(tmp_path):
    arena = Arena("clicks(rounds=1)", "sample-squares(count=1)")
    with serving(arena) as server:
        run(server, tmp_path / "run")
        list(sessions(f"{server}/challenges/spring", out=tmp_path / "mine"))
    assert not (tmp_path / "run" / "turns").exists()
    assert not (tmp_path / "mine" / "turns").exists()


WRONG = {
    "a server that others can listen to": {"server": "http://lab.example"},
    "a path in place of a name": {"challenge": "../../x"},
    "a run that is none": {"run": "mine"},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_folder_remembers_is_looked_at_before_a_token_is_sent_there(name, tmp_path):
    known = {
        "server": "https://lab.example",
        "challenge": "spring",
        "phase": "test",
        "run": str(uuid.uuid4()),
    }
    (tmp_path / "challenge.json").write_text(json.dumps(known))
    assert read_participation(tmp_path).run == known["run"]
    (tmp_path / "challenge.json").write_text(json.dumps(known | WRONG[name]))
    with pytest.raises(StoreError, match=r"challenge.json is damaged"):
        read_scores(tmp_path, token="a-token")
