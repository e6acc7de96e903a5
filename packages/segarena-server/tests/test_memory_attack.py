"""A team that repeats a run with its earlier prompts: the second run is better and is not ranked."""

import hashlib
from dataclasses import replace

import pytest
from real import at_work, lay, token_of
from small_photographs import small_photographs

from segarena.client.participate import evaluate, read_scores
from segarena.client.run_display import score_lines
from segarena.registry import build
from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import read_extract
from segarena_server.challenges.challenge_repository import find_challenge, find_phase
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Run
from segarena_server.runs.phase_leaderboard import board_cache

NAMES = ("astronaut", "chelsea", "china", "camera")
SIDE = 160
ROUNDS = 8


def describe(dataset):
    """Return a challenge whose phase has every default."""
    return ChallengeDescription(
        slug="photos",
        title="Photos",
        benchmark=f"clicks(rounds={ROUNDS})",
        dataset=dataset,
        phases=(Phase(name="test"),),
    )


class Remembering:
    """Answers as `graph` does, from the longest dialogue about a target that it was ever given.

    Args:
        known: what it was told, by image and first click; None for a segmenter that remembers nothing.
    """

    prompts = frozenset({"click"})

    def __init__(self, known=None):
        self.known = known
        self.model = build("segmenter", "graph")

    def encode(self, sample):
        return hashlib.sha256(sample.image.tobytes()).digest(), self.model.encode(sample)

    def predict(self, encoded, dialogues):
        image, encoding = encoded
        return self.model.predict(encoding, [self._longest(image, one) for one in dialogues])

    def _longest(self, image, dialogue):
        if self.known is None:
            return dialogue
        # Prompts are replayed, so that the first click of a target is the same in each run.
        key = (image, dialogue.clicks[0].position)
        known = self.known.get(key)
        if known is not None and len(known.rounds) > len(dialogue.rounds):
            return replace(known, previous=dialogue.previous)
        self.known[key] = dialogue
        return dialogue


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Patch objects for the tests of this module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def attacked(tmp_path_factory, monkeypatch_module):
    """A server with two runs of one team and one of another; yields its site and their runs."""
    folder = tmp_path_factory.mktemp("memory")
    monkeypatch_module.setattr("segarena_server.challenges.turn_time_accounting.FIRST_TICK_S", 0.01)
    dataset = small_photographs(folder / "photographs", NAMES, SIDE)
    site = lay(folder / "data", describe(dataset))
    with at_work(site) as address:
        known = {}
        attempts = (
            ("first", "mallory", Remembering(known)),
            ("honest", "ann", Remembering()),
            ("second", "mallory", Remembering(known)),
        )
        tokens = {name: token_of(site, name) for name in ("mallory", "ann")}
        runs = {"notices": {}}
        for run, name, segmenter in attempts:
            out = folder / run
            evaluate(
                f"{address}/challenges/photos",
                segmenter=segmenter,
                token=tokens[name],
                out=out,
                on_notice=runs["notices"].setdefault(run, []).append,
            )
            begun, told = read_scores(out, token=tokens[name])
            runs[run] = (begun.run, told)
        yield site, runs
    site.database.close()


def mean_of(site, run_id, statistic):
    with site.database.reading() as session:
        extract = read_extract(session.get_one(Run, run_id).extract)
    panels = board_of([Entry(extract=extract)]).panels
    (mean,) = [
        panel.means[0].mean
        for key, panel in panels.items()
        if key.statistic == statistic and not key.group
    ]
    return mean


@pytest.mark.long
def test_what_was_told_before_makes_a_run_better(attacked):
    site, runs = attacked
    first, second = runs["first"][0], runs["second"][0]
    assert mean_of(site, second, "NoC@85") < mean_of(site, first, "NoC@85") - 1.0
    assert mean_of(site, second, "IoU@1") > mean_of(site, first, "IoU@1") + 0.2


def board_runs(site, *, sees_all=False):
    """Return the runs on the board, best first by IoU after one click."""
    with site.database.reading() as session:
        challenge = find_challenge(session, "photos")
        phase = find_phase(challenge, "test")
        shown = board_cache(site).of(session, challenge, phase, site.now(), sees_all=sees_all)
    (key,) = [key for key in shown.board.panels if key.statistic == "IoU@1" and not key.group]
    return [shown.runs[row.entry] for row in shown.board.rows(key)]


def test_without_the_rule_the_repeat_would_be_first(attacked):
    site, runs = attacked
    second = runs["second"][0]
    with site.database.writing() as session:
        run = session.get_one(Run, second)
        reason = run.unranked
        was_step = run.is_step
        run.unranked = ""
        run.is_step = True
    try:
        assert board_runs(site)[0] == second
    finally:
        with site.database.writing() as session:
            run = session.get_one(Run, second)
            run.unranked = reason
            run.is_step = was_step


def test_a_repeat_is_on_no_board(attacked):
    site, runs = attacked
    ranked = {runs["first"][0], runs["honest"][0]}
    assert set(board_runs(site)) == ranked
    assert set(board_runs(site, sees_all=True)) == ranked


def test_the_team_sees_its_repeat_and_why_it_has_no_rank(attacked):
    _, runs = attacked
    told = runs["second"][1]
    assert (
        told["unranked"] == "a repeat: your team has received prompts about 4 of 4 samples before"
    )
    # Scores of a repeat are shown or withheld as those of a run on a ladder, with the reason.
    assert told["scores"] or told["why"]
    assert runs["first"][1]["unranked"] == runs["honest"][1]["unranked"] == ""
    # The place is that of the team's best ranked run.
    assert told["of"] == 2
    (line,) = [line for line in score_lines("a", told) if "ranked" in line]
    assert line == f"this run is not ranked: it is {told['unranked']}"


def test_a_participant_is_told_before_the_run_begins(attacked):
    _, runs = attacked
    assert runs["notices"] == {
        "first": [],
        "honest": [],
        "second": [
            "this run will not be ranked, because it will be a repeat: "
            "your team has received prompts about 4 of 4 samples before"
        ],
    }


@pytest.mark.long
def test_a_default_phase_of_a_small_pool_has_one_ranked_run(attacked):
    site, _ = attacked
    with site.database.reading() as session:
        phase = find_phase(find_challenge(session, "photos"), "test")
    assert (phase.samples_per_run, phase.ranked_runs, phase.unlimited_ranked_runs) == (4, 1, False)
