"""Evaluation of participants' turns on the server.

All state of an evaluator is a cache: the turns alone reproduce the same dialogues and the same
reply bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from segarena.engine.lockstep import RunCast, load_sample, open_sessions
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows
from segarena.engine.sample_job import time_limit_of
from segarena.engine.store import RunFolder
from segarena.errors import EarlierStateMissing, InvalidInput, StoreError
from segarena.prompts import Prompt
from segarena.protocol.sample_frames import pack_sample
from segarena.records.configuration import RunConfiguration
from segarena.samples import Sample
from segarena.work.lru_cache import LruCache
from segarena_server.challenges.description import ChallengeDescription, read_challenge
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.leak_meter import Leak, measure_leak
from segarena_server.challenges.prompt_replay import unpack_history
from segarena_server.challenges.run_plan import (
    open_participant_run,
    participant_plan,
    public_user_name,
)
from segarena_server.challenges.sample_evaluation import SampleEvaluation, digest_after

MAX_CACHED_SAMPLES = 8
"""Samples that an evaluator keeps in memory with their dialogues; others are replayed when they go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSample:
    """A sample as participants receive it.

    Attributes:
        body: the same for all runs.
        dialogues: about it, in the order of their numbers: {target, user, repeat, objects, lift}. Targets are
            numbered. A sample without dialogues should not be drawn by any run.
    """

    body: bytes = field(repr=False)
    dialogues: tuple[dict[str, Any], ...]


class EvaluatorCache:
    """The evaluators of the challenges that were used last, each with its datasets and users.

    Args:
        most: limit of their number.
    """

    def __init__(self, most: int) -> None:
        self._evaluators = LruCache[str, Evaluator](max_entries=most)

    def of(self, description: str) -> Evaluator:
        """Return the evaluator of a challenge.

        Args:
            description: of the challenge, as JSON.

        Raises:
            InvalidInput: it describes no challenge.
        """
        evaluator = self._evaluators.get(description)
        if evaluator is None:
            evaluator = Evaluator(read_challenge(description))
            self._evaluators.put(description, evaluator)
        return evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSample:
    """The dialogues about a sample, replayed with the mask of every round.

    Attributes:
        config: of a run about this sample alone.
        sample: with its truth, or without.
        rows: of the dialogues.
        dialogues: sample, target, user and repeat of each dialogue, as the rows have them, by its number.
    """

    config: RunConfiguration
    sample: Sample
    rows: Rows = field(repr=False)
    dialogues: Mapping[int, tuple[str, str, str, int]]


class Evaluator:
    """Evaluates the turns of a challenge, one at a time. Its process may be ended at any moment.

    Args:
        challenge: as described.
        max_cached_samples: limit of the samples kept in memory.
    """

    def __init__(
        self, challenge: ChallengeDescription, max_cached_samples: int = MAX_CACHED_SAMPLES
    ) -> None:
        self._challenge = challenge
        self._casts: dict[str, tuple[Plan, RunCast]] = {}
        self._evaluations = LruCache[tuple[str, int], SampleEvaluation](
            max_entries=max_cached_samples
        )

    def cast(self, phase: str) -> tuple[Plan, RunCast]:
        """Return the plan of runs in a phase, and the objects built from it.

        Raises:
            PluginError, DatasetError: something cannot be built.
        """
        if phase not in self._casts:
            plan = participant_plan(self._challenge, self._challenge.phase(phase))
            self._casts[phase] = (plan, plan.cast())
        return self._casts[phase]

    def samples(self, phase: str) -> tuple[str, ...]:
        """Return the names of all samples of a phase's pool.

        Raises:
            PluginError, DatasetError: the benchmark or the dataset cannot be built.
        """
        _, cast = self.cast(phase)
        return tuple(cast.dataset.sample_ids)

    def sample(self, phase: str, name: str) -> PackedSample:
        """Return a sample as participants receive it.

        Raises:
            DatasetError, InvalidInput: it cannot be used.
        """
        plan, cast = self.cast(phase)
        sample = load_sample(cast.dataset, name)
        target_numbers = {
            target.id: str(number) for number, target in enumerate(sample.targets, start=1)
        }
        user_names = {user.name: public_user_name(user) for user in plan.benchmark.users}
        dialogues: list[dict[str, Any]] = []
        for session in open_sessions(cast, sample):
            lift = session.dialogue.lift
            dialogues.append(
                {
                    "target": target_numbers[session.target.id],
                    "user": user_names[session.user_name],
                    "repeat": session.repeat,
                    "objects": session.target.objects,
                    "lift": None if lift is None else asdict(lift),
                }
            )
        return PackedSample(body=pack_sample(sample), dialogues=tuple(dialogues))

    def open_folder(self, path: Path, run: RunInfo) -> RunFolder:
        """Start or continue the folder of a run.

        `EvaluationResult.rows` are written there by the index of the sample, while the folder is locked.

        Raises:
            StoreError, DatasetError, PluginError: as for any run.
        """
        plan = participant_plan(self._challenge, self._challenge.phase(run.phase), run.name)
        _, cast = self.cast(run.phase)
        return open_participant_run(path, plan, cast.dataset, run.samples)

    def evaluate(self, request: EvaluationRequest) -> EvaluationResult:
        """Evaluate the last turn of a request.

        Raises:
            InvalidInput: this turn is invalid by the participant's fault. It counts for nothing, and another one may be
                sent in its place while the time goes on.
            EarlierStateMissing: the sample is not in memory, and the request lacks the earlier turns.
            SegarenaError: a fault of this server.
        """
        last = request.turns[-1]
        with _server_faults(request):
            evaluation = self._before_last_turn(request)
        turn = evaluation.read(last)
        try:
            with _server_faults(request):
                return evaluation.take(turn, last)
        except BaseException:
            # The dialogues may have been left half-way.
            self._forget(request)
            raise

    def leave(self, request: EvaluationRequest, why: str) -> Rows:
        """Return the rows of a sample whose unfinished dialogues fail; all turns of the request were evaluated before.

        Raises:
            SegarenaError: a fault of this server.
        """
        self._forget(request)
        with _server_faults(request):
            return self._replay(request, request.turns).leave(why)

    def replay(self, request: EvaluationRequest) -> ReplayedSample:
        """Return the dialogues about a sample after all turns of a request; nothing is cached.

        Raises:
            SegarenaError: the sample cannot be used, or the turns cannot be taken again.
        """
        plan, cast = self.cast(request.run.phase)
        name = request.run.samples[request.place]
        all_rounds = tuple(range(1, cast.rules.rounds + 1))
        evaluation = self._replay(request, request.turns, keep_rounds=all_rounds)
        config = plan.describe(cast.dataset)
        dataset = replace(config.dataset, samples=(name,))
        return ReplayedSample(
            config=replace(config, dataset=dataset, keep_rounds=all_rounds),
            sample=evaluation.sample,
            rows=evaluation.rows(),
            dialogues=evaluation.dialogues,
        )

    def leaks(self, phase: str, name: str, given: Sequence[bytes]) -> dict[str, Leak]:
        """Measure how much prompts give away about each target of a sample.

        Args:
            phase: from whose pool the sample is.
            name: of the sample.
            given: every `EvaluationResult.given` of a team about it.

        Returns:
            The leak of each target, by its name.

        Raises:
            DatasetError, StoreError: the sample cannot be used, or the stored prompts are damaged.
        """
        _, cast = self.cast(phase)
        sample = load_sample(cast.dataset, name)
        targets = [session.target.id for session in open_sessions(cast, sample)]
        prompts: dict[str, list[Prompt]] = {target.id: [] for target in sample.targets}
        for number, rounds in unpack_history(given, sample.shape).items():
            if not 0 <= number < len(targets):
                raise StoreError(
                    f"sample {name}: prompts were given in dialogue {number}, there are {len(targets)}"
                )
            for round_ in rounds:
                prompts[targets[number]] += round_
        return {
            target.id: measure_leak(sample, target, prompts[target.id]) for target in sample.targets
        }

    def _before_last_turn(self, request: EvaluationRequest) -> SampleEvaluation:
        """Return the dialogues before the last turn: from memory if they are there, else replayed."""
        key = (request.run.id, request.place)
        earlier = request.turns[:-1]
        digest = request.before
        if earlier:
            digest = ""
            for turn in earlier:
                digest = digest_after(digest, turn)
        evaluation = self._evaluations.get(key)
        if evaluation is None or evaluation.digest != digest:
            if request.before and not earlier:
                raise EarlierStateMissing(
                    f"run {request.run.id}, place {request.place}: give all turns, it is not at hand"
                )
            evaluation = self._replay(request, earlier)
        self._evaluations.put(key, evaluation)
        return evaluation

    def _replay(
        self,
        request: EvaluationRequest,
        turns: Sequence[ChargedTurn],
        *,
        keep_rounds: tuple[int, ...] | None = None,
    ) -> SampleEvaluation:
        plan, cast = self.cast(request.run.phase)
        if keep_rounds is not None:
            cast = replace(cast, rules=replace(cast.rules, keep_rounds=keep_rounds))
        sample = load_sample(cast.dataset, request.run.samples[request.place])
        phase = self._challenge.phase(request.run.phase)
        evaluation = SampleEvaluation(cast, sample, phase, request.past, time_limit_of(plan))
        try:
            for turn in turns:
                evaluation.take(evaluation.read(turn), turn)
        except InvalidInput as error:
            # The turns were taken before, so this is not the participant's fault.
            where = f"run {request.run.id}, place {request.place}"
            raise StoreError(
                f"{where}: turns that were taken before cannot be taken again: {error}"
            ) from error
        return evaluation

    def _forget(self, request: EvaluationRequest) -> None:
        self._evaluations.pop((request.run.id, request.place))


@contextmanager
def _server_faults(request: EvaluationRequest) -> Generator[None]:
    """Turn `InvalidInput` of data, users or earlier turns into a server fault, whose text participants do not see."""
    try:
        yield
    except InvalidInput as error:
        raise StoreError(f"run {request.run.id}, place {request.place}: {error}") from error
