"""Evaluation of participants' turns on the server.

All state of an evaluator is a cache: the turns alone reproduce the same dialogues and the same
reply bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from segarena.engine.lockstep_dialogues import RunCast, load_sample, open_sessions
from segarena.engine.plan import Plan, time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.errors import EarlierStateMissing, InvalidInput, StoreError
from segarena.prompts import Prompt
from segarena.protocol.sample_serialization import pack_sample
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
from segarena_server.challenges.prompt_knowledge_test import (
    DialogueExcess,
    excess_of_dialogue,
    read_answers,
)
from segarena_server.challenges.prompt_replay import unpack_history
from segarena_server.challenges.run_plan import (
    open_participant_run,
    participant_plan,
    public_user_name,
)
from segarena_server.challenges.sample_evaluation import SampleEvaluation, digest_after

MAX_SAMPLES_MB = 512.0
"""Memory in MiB for samples that an evaluator keeps with their dialogues; it replays the others when they continue.

A replay takes as long as all earlier turns together. Turns are evaluated roughly in order of
arrival, so all open samples alternate; if there are more than fit into memory, each one is evicted
before its next turn. This amount holds fifty photographs of 512 x 512 pixels with five dialogues
each, for the fifty sessions that one worker serves in `tests/stress/load.py`.
"""
MIN_CACHED_SAMPLES = 8
"""Number of samples that stay in memory even if they are large, such as volumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSample:
    """A sample as participants receive it.

    Attributes:
        body: the encoded sample, equal for all runs.
        dialogues: dialogues about it, in order of their index: {target, user, repeat, objects, lift}. Targets appear as
            numbers. Empty if no user has a dialogue about the sample; `pool_of` leaves such samples out.
    """

    body: bytes = field(repr=False)
    dialogues: tuple[dict[str, Any], ...]


class EvaluatorCache:
    """The most recently used evaluators of challenges, each with its datasets and users.

    Args:
        most: maximum number of evaluators.
        samples_mb: memory in MiB for the open samples of each evaluator.
    """

    def __init__(self, most: int, samples_mb: float = MAX_SAMPLES_MB) -> None:
        self._samples_mb = samples_mb
        self._evaluators = LruCache[str, Evaluator](max_entries=most)

    def of(self, description: str) -> Evaluator:
        """Return the evaluator of a challenge.

        Args:
            description: description of the challenge, as JSON.

        Raises:
            InvalidInput: the text does not describe a challenge.
        """
        evaluator = self._evaluators.get(description)
        if evaluator is None:
            evaluator = Evaluator(read_challenge(description), samples_mb=self._samples_mb)
            self._evaluators.put(description, evaluator)
        return evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSample:
    """The dialogues about a sample, replayed with the mask of every round.

    Attributes:
        config: configuration of a run with this sample alone.
        sample: the sample, with or without its truth.
        rows: rows of the dialogues.
        dialogues: sample, target, user and repeat of each dialogue, as in the rows, by index.
    """

    config: RunConfiguration
    sample: Sample
    rows: Rows = field(repr=False)
    dialogues: Mapping[int, tuple[str, str, str, int]]


class Evaluator:
    """Evaluates the turns of a challenge, one at a time. Its process may be killed at any moment.

    Args:
        challenge: description of the challenge.
        samples_mb: memory in MiB for open samples. The last `MIN_CACHED_SAMPLES` used stay in any case.
        max_cached_samples: maximum number of open samples; None for no limit.
    """

    def __init__(
        self,
        challenge: ChallengeDescription,
        *,
        samples_mb: float = MAX_SAMPLES_MB,
        max_cached_samples: int | None = None,
    ) -> None:
        self._challenge = challenge
        self._casts: dict[str, tuple[Plan, RunCast]] = {}
        self._evaluations = LruCache[tuple[str, int], SampleEvaluation](
            max_entries=max_cached_samples,
            max_bytes=int(samples_mb * 2**20),
            min_entries=MIN_CACHED_SAMPLES,
        )

    def cast(self, phase: str) -> tuple[Plan, RunCast]:
        """Return the plan of runs in a phase, and the objects built from it.

        Raises:
            PluginError, DatasetError: an object cannot be built.
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
            DatasetError, InvalidInput: the sample is unusable.
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
        """Create or continue the folder of a run.

        Callers lock the folder and write `EvaluationResult.rows` into it by the index of the
        sample.

        Raises:
            StoreError, DatasetError, PluginError: as for any run.
        """
        plan = participant_plan(self._challenge, self._challenge.phase(run.phase), run.name)
        _, cast = self.cast(run.phase)
        return open_participant_run(path, plan, cast.dataset, run.samples)

    def evaluate(self, request: EvaluationRequest) -> EvaluationResult:
        """Evaluate the last turn of a request.

        Raises:
            InvalidInput: the turn is invalid, through the participant's fault. It has no effect, and the participant
                may send another one in its place while the clock runs.
            EarlierStateMissing: the sample is not in memory, and the request lacks the earlier turns.
            SegarenaError: a fault of this server.
        """
        last = request.turns[-1]
        with _server_faults(request):
            evaluation = self._before_last_turn(request)
        # Outside `_server_faults`, because an unreadable turn is the participant's fault.
        header, answers = evaluation.read(last)
        try:
            with _server_faults(request):
                result = evaluation.take(header, answers, last)
        except BaseException:
            # The dialogues may be in an intermediate state.
            self._forget(request)
            raise
        if result.is_over:
            # No further turn will follow, and open samples need the memory.
            self._forget(request)
        return result

    def leave(self, request: EvaluationRequest, why: str) -> Rows:
        """Fail the unfinished dialogues of a sample and return its rows; the request must contain no new turns.

        Raises:
            SegarenaError: a fault of this server.
        """
        self._forget(request)
        with _server_faults(request):
            return self._replay(request, request.turns).leave(why)

    def replay(self, request: EvaluationRequest) -> ReplayedSample:
        """Replay the dialogues about a sample from all turns of a request; nothing is cached.

        Raises:
            SegarenaError: the sample is unusable, or the turns cannot be replayed.
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

    def leaks(
        self,
        phase: str,
        name: str,
        given: Sequence[bytes],
    ) -> dict[str, Leak]:
        """Measure how much of each target the prompts about a sample reveal.

        Args:
            phase: phase whose pool contains the sample.
            name: name of the sample.
            given: every `EvaluationResult.given` of a team about the sample.

        Returns:
            The leak of each target, by target id.

        Raises:
            DatasetError, StoreError: the sample is unusable, or the stored prompts are damaged.
        """
        _, cast = self.cast(phase)
        sample = load_sample(cast.dataset, name)
        targets = [session.target.id for session in open_sessions(cast, sample)]
        prompts: dict[str, list[Prompt]] = {target.id: [] for target in sample.targets}
        for number, rounds in unpack_history(given, sample.shape).items():
            if not 0 <= number < len(targets):
                raise StoreError(
                    f"sample {name}: expected dialogue numbers below {len(targets)}, got {number}"
                )
            for round_ in rounds:
                prompts[targets[number]] += round_
        return {
            target.id: measure_leak(sample, target, prompts[target.id]) for target in sample.targets
        }

    def knowledge(
        self,
        phase: str,
        name: str,
        run: RunFolder,
        others: Sequence[Sequence[bytes]],
    ) -> list[DialogueExcess]:
        """Compare how often a run's masks are right at points of other runs' prompts and at matched points.

        Args:
            phase: phase whose pool contains the sample.
            name: name of the sample.
            run: the finished run, with the masks of its first rounds.
            others: every `EvaluationResult.given` of each other run about the sample.

        Returns:
            One comparison for each dialogue with masks.

        Raises:
            DatasetError, StoreError: the sample or the run is unreadable, or the stored prompts are damaged.
        """
        _, cast = self.cast(phase)
        sample = load_sample(cast.dataset, name)
        target_ids = [session.target.id for session in open_sessions(cast, sample)]
        other_dialogues: dict[str, list[list[Sequence[Prompt]]]] = {}
        for given in others:
            for number, rounds in unpack_history(given, sample.shape).items():
                if not 0 <= number < len(target_ids):
                    raise StoreError(
                        f"sample {name}: expected dialogue numbers below {len(target_ids)}, got {number}"
                    )
                other_dialogues.setdefault(target_ids[number], []).append(rounds)
        targets = {target.id: target for target in sample.targets}
        found: list[DialogueExcess] = []
        for target_id, answers in read_answers(run, name):
            if target_id in targets:
                # Derived from the names, so that a repeated audit draws the same matches.
                seed = zlib.crc32(f"{name} {target_id}".encode())
                told = other_dialogues.get(target_id, [])
                found.append(excess_of_dialogue(targets[target_id], answers, told, seed))
        return found

    def _before_last_turn(self, request: EvaluationRequest) -> SampleEvaluation:
        """Return the dialogues before the last turn, from memory if possible, otherwise by a replay."""
        key = (request.run.id, request.place)
        earlier = request.turns[:-1]
        digest = request.before
        if earlier:
            digest = ""
            for turn in earlier:
                digest = digest_after(digest, turn)
        evaluation = self._evaluations.get(key)
        # A different digest means that another process evaluated turns in between.
        if evaluation is None or evaluation.digest != digest:
            if request.before and not earlier:
                raise EarlierStateMissing(
                    f"run {request.run.id}, sample {request.place}: the dialogues are not in memory; send all turns"
                )
            evaluation = self._replay(request, earlier)
        self._evaluations.put(key, evaluation, evaluation.size_bytes)
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
                header, answers = evaluation.read(turn)
                evaluation.take(header, answers, turn)
        except InvalidInput as error:
            # The turns were accepted before, so this is not the participant's fault.
            where = f"run {request.run.id}, sample {request.place}"
            raise StoreError(
                f"{where}: turns that were accepted before cannot be replayed: {error}"
            ) from error
        return evaluation

    def _forget(self, request: EvaluationRequest) -> None:
        self._evaluations.pop((request.run.id, request.place))


@contextmanager
def _server_faults(request: EvaluationRequest) -> Generator[None]:
    """Turn `InvalidInput` from data, users or earlier turns into a server fault, whose text participants never see."""
    try:
        yield
    except InvalidInput as error:
        raise StoreError(f"run {request.run.id}, sample {request.place}: {error}") from error
