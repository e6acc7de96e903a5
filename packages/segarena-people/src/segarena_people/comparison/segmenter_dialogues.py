"""Dialogues of segmenters with people's recorded prompts, and with simulated users instead of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segarena.engine.session import Rules, Session
from segarena.multi_object import empty_comparison
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Scribble
from segarena.readonly import without_truth
from segarena.registry import build
from segarena.roles import Metric, Segmenter, Turn, User
from segarena.samples import ImageSample, Target
from segarena_people.collection import CollectedPrompt, Collection
from segarena_people.comparison.answer_features import picture_reader
from segarena_people.comparison.user_replies import PlanarPrompt, project_to_plane
from segarena_people.fitting.stroke_tracing import trace_strokes

AnswerRounds = tuple[tuple[int, ...], ...]
"""One person's answers about one object by round, as indices into the collection."""

CURVE_METRICS = ("dice", "iou")


class ReplayUser:
    """User that replays a person's prompts round by round."""

    def __init__(self, rounds: Sequence[Sequence[PlanarPrompt]]) -> None:
        self._rounds = rounds

    def next(self, turn: Turn) -> Sequence[PlanarPrompt] | None:
        """Return the prompts of this round; None after the last round."""
        if turn.round > len(self._rounds):
            return None
        return self._rounds[turn.round - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueJob:
    """Job that runs the dialogues of one segmenter; a unit has all dialogues about one picture.

    A dialogue is the pair (answers by round, the users' `turn.repeat`).

    Attributes:
        people, dataset: as in `segarena_people.comparison.answer_features.MeasurementJob`.
        segmenter: segmenter plug-in.
        users: simulated users by name.
        seed: seed of all random numbers.
    """

    people: str
    dataset: str | None
    segmenter: PluginSpec
    users: tuple[tuple[str, PluginSpec], ...]
    seed: int

    def open(self) -> Callable[[Sequence[tuple[AnswerRounds, int]]], list[dict[str, Any]]]:
        """Open the collection, build the segmenter and the users, and return a function that runs a unit."""
        collection = Collection.open(self.people, self.dataset)
        segmenter: Segmenter = build("segmenter", self.segmenter)
        users = {name: build("user", spec) for name, spec in self.users}
        metrics = tuple(build("metric", name) for name in CURVE_METRICS)
        if self.dataset is None:
            picture_of = None
        else:
            picture_of = picture_reader(build("dataset", self.dataset))

        def run_dialogues(unit: Sequence[tuple[AnswerRounds, int]]) -> list[dict[str, Any]]:
            # All answers of a unit are about the same picture, so the first one identifies it.
            rounds, _ = unit[0]
            first = collection[rounds[0][0]]
            if picture_of is None:
                picture = np.zeros((*first.shape, 3), np.uint8)
            else:
                picture = picture_of(first)
            sample = ImageSample(id=first.row.sample, image=picture)
            table = _EncodedPicture(
                segmenter,
                # As in a run, the segmenter must not see the ground truth.
                segmenter.encode(without_truth(sample)),
                sample,
                metrics,
                self.seed,
            )
            dialogues: list[dict[str, Any]] = []
            for answers, repeat in unit:
                dialogues.append(_dialogues(table, collection, answers, users, repeat))
            return dialogues

        return run_dialogues


def _dialogues(
    table: _EncodedPicture,
    collection: Collection,
    places: AnswerRounds,
    users: Mapping[str, User],
    repeat: int,
) -> dict[str, Any]:
    """Return the curves of one dialogue: with the person's prompts, and with each user's instead."""
    about = collection[places[0][0]]
    rounds = len(places)
    found = {"people": table.curve(about, _replay_user(collection, places), "people", 0, rounds)}
    curves: dict[str, Any] = {}
    for name, user in users.items():
        curves[name] = table.curve(about, user, name, repeat, rounds)
    return found | curves


def _replay_user(collection: Collection, places: AnswerRounds) -> ReplayUser:
    rounds: list[list[PlanarPrompt]] = []
    for own in places:
        prompts: list[PlanarPrompt] = []
        for place in own:
            prompts += planar_prompts(collection[place])
        rounds.append(prompts)
    return ReplayUser(rounds)


def planar_prompts(given: CollectedPrompt) -> tuple[PlanarPrompt, ...]:
    """Return a person's prompts as (row, column); a raster becomes the centre lines of its strokes."""
    drawn = given.drawn
    if drawn is None:
        return tuple(map(project_to_plane, given.prompts))
    # Smoothing may move a line near the edge out of the picture.
    most = np.array(given.shape) - 1.0
    lines = (np.clip(line, 0.0, most) for line in trace_strokes(drawn))
    scribbles: list[Scribble] = []
    for line in lines:
        points = tuple(map(tuple, line.tolist()))
        scribbles.append(Scribble(points, given.row.is_positive))
    return tuple(scribbles)


@dataclass(frozen=True, slots=True)
class _EncodedPicture:
    """One segmenter with one picture that it has encoded."""

    segmenter: Segmenter
    encoded: Any
    sample: ImageSample
    metrics: tuple[Metric, ...]
    seed: int

    def curve(
        self,
        about: CollectedPrompt,
        user: User,
        name: str,
        repeat: int,
        rounds: int,
    ) -> dict[str, Any]:
        """Return the values of each metric after each round; if it fails or has none, the reason under `why`."""
        row = about.row
        target = Target(id=row.target, mask=about.goal, label=row.label)
        rules = Rules(
            benchmark="people compare",
            dataset=row.dataset,
            metrics=self.metrics,
            rounds=rounds,
            seed=self.seed,
        )
        found: dict[str, list[float]] = {metric: [] for metric in CURVE_METRICS}
        try:
            session = Session(
                rules=rules,
                sample=self.sample,
                target=target,
                start=empty_comparison(self.sample, target),
                user=user,
                user_name=name,
                repeat=repeat,
            )
            while (dialogue := session.next()) is not None:
                (prediction,) = self.segmenter.predict(self.encoded, [dialogue])
                values = session.submit(prediction)
                for metric, curve in found.items():
                    curve.append(float(values[metric]))
        # Users and segmenters are third-party code: record their errors as results.
        except Exception as error:
            return {"why": " ".join(f"{type(error).__name__}: {error}".split())}
        return found if found[CURVE_METRICS[0]] else {"why": "nothing was given"}
