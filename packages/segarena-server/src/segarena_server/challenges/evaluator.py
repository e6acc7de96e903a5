"""The evaluation of turns: sessions of the engine behind what participants send.

All that is kept here is a cache: from the turns alone the same sessions come about, with the same bytes to send.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

from segarena.engine.lockstep import RunCast, load_sample, open_sessions
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows
from segarena.engine.sample_job import time_limit_of
from segarena.engine.store import RunFolder
from segarena.errors import EarlierNeeded, InvalidInput, StoreError
from segarena.prompts import Prompt
from segarena.protocol.samples import pack_sample
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
"""So many places are kept at hand, with their samples and last masks; the others are replayed when they go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSample:
    """A sample as participants get it.

    Attributes:
        body: the same for all runs.
        dialogues: about it, in the order of their numbers: {target, user, repeat, objects, lift}. Targets are numbers
            too. Without any, there is nothing to ask about this sample, and no run should draw it.
    """

    body: bytes = field(repr=False)
    dialogues: tuple[dict[str, Any], ...]


class EvaluatorCache:
    """The evaluators of the challenges that were asked for last, each with its datasets and users.

    Args:
        most: so many are kept.
    """

    def __init__(self, most: int) -> None:
        self._kept = LruCache[str, Evaluator](max_entries=most)

    def of(self, description: str) -> Evaluator:
        """Return that of a challenge, by its description as text.

        Raises:
            InvalidInput: it describes none.
        """
        found = self._kept.get(description)
        if found is None:
            found = Evaluator(read_challenge(description))
            self._kept.put(description, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSample:
    """A place whose dialogues were held again, with the mask of every round.

    Attributes:
        config: of a run about this sample alone.
        sample: with its truth, or without.
        rows: that the dialogues leave.
        dialogues: by number, the sample, target, user and repeat that rows call them by.
    """

    config: RunConfiguration
    sample: Sample
    rows: Rows = field(repr=False)
    dialogues: Mapping[int, tuple[str, str, str, int]]


class Evaluator:
    """Evaluates the turns of a challenge, one at a time, in a process that may be ended at any moment.

    Args:
        challenge: as described.
        most_places: that are kept at hand.
    """

    def __init__(
        self, challenge: ChallengeDescription, most_places: int = MAX_CACHED_SAMPLES
    ) -> None:
        self._challenge = challenge
        self._casts: dict[str, tuple[Plan, RunCast]] = {}
        self._places = LruCache[tuple[str, int], SampleEvaluation](max_entries=most_places)

    def samples(self, phase: str) -> tuple[str, ...]:
        """Return the names of all samples of a phase's pool.

        Raises:
            PluginError, DatasetError: the benchmark or the dataset cannot be built.
        """
        return tuple(self.cast(phase)[1].dataset.sample_ids)

    def sample(self, phase: str, name: str) -> PackedSample:
        """Return what participants get of a sample.

        Raises:
            DatasetError, InvalidInput: it cannot be used.
        """
        cast = self.cast(phase)[1]
        sample = load_sample(cast.dataset, name)
        numbers = {target.id: str(number) for number, target in enumerate(sample.targets, start=1)}
        shown = {user.name: public_user_name(user) for user in self.cast(phase)[0].benchmark.users}
        dialogues = [
            {
                "target": numbers[session.target.id],
                "user": shown[session.user_name],
                "repeat": session.repeat,
                "objects": session.target.objects,
                "lift": None if session.dialogue.lift is None else asdict(session.dialogue.lift),
            }
            for session in open_sessions(cast, sample)
        ]
        return PackedSample(body=pack_sample(sample), dialogues=tuple(dialogues))

    def open_folder(self, path: Path, run: RunInfo) -> RunFolder:
        """Start or continue the folder of a run; `StepDone.rows` are written there by place, while it is locked.

        Raises:
            StoreError, DatasetError, PluginError: as for any run.
        """
        plan = participant_plan(self._challenge, self._challenge.phase(run.phase), run.name)
        return open_participant_run(path, plan, self.cast(run.phase)[1].dataset, run.samples)

    def step(self, job: EvaluationRequest) -> EvaluationResult:
        """Evaluate the last of the job's turns.

        Raises:
            InvalidInput: this turn cannot be, by the participant's fault; it counts for nothing, and another one may
                be sent in its place while the time goes on.
            EarlierNeeded: the place is not at hand, and the turns before are not given.
            SegarenaError: something is wrong here.
        """
        given = job.turns[-1]
        with _own_faults(job):
            place = self._before_last(job)
        turn = place.read(given)
        try:
            with _own_faults(job):
                return place.take(turn, given)
        except BaseException:
            self._forget(job)
            raise

    def leave(self, job: EvaluationRequest, why: str) -> Rows:
        """Return what a place leaves whose dialogues end before their end; all its turns were evaluated, or none.

        Raises:
            SegarenaError: something is wrong here.
        """
        self._forget(job)
        with _own_faults(job):
            return self._after(job, job.turns).leave(why)

    def hold_again(self, job: EvaluationRequest) -> ReplayedSample:
        """Return a place as it stands after the job's turns, which are all that were evaluated; nothing is kept.

        Raises:
            SegarenaError: the sample cannot be used, or the turns cannot be taken again.
        """
        plan, cast = self.cast(job.run.phase)
        name = job.run.samples[job.place]
        every = tuple(range(1, cast.rules.rounds + 1))
        config = plan.describe(cast.dataset)
        place = self._after(job, job.turns, keep_rounds=every)
        return ReplayedSample(
            config=replace(
                config, dataset=replace(config.dataset, samples=(name,)), keep_rounds=every
            ),
            sample=place.sample,
            rows=place.rows(),
            dialogues=place.dialogues,
        )

    def leaks(self, phase: str, name: str, given: Sequence[bytes]) -> dict[str, Leak]:
        """Return what prompts give away about each target of a sample, by its name.

        Args:
            phase: from whose pool the sample is.
            name: of the sample.
            given: all that `StepDone.given` ever said of a team about it.

        Raises:
            DatasetError, StoreError: the sample cannot be used, or what was kept is damaged.
        """
        cast = self.cast(phase)[1]
        sample = load_sample(cast.dataset, name)
        prompts: dict[str, list[Prompt]] = {target.id: [] for target in sample.targets}
        asked_about = dict(enumerate(session.target.id for session in open_sessions(cast, sample)))
        for number, rounds in unpack_history(given, sample.shape).items():
            if number not in asked_about:
                raise StoreError(
                    f"sample {name}: prompts were given in dialogue {number}, there are {len(asked_about)}"
                )
            prompts[asked_about[number]] += chain.from_iterable(rounds)
        return {
            target.id: measure_leak(sample, target, prompts[target.id]) for target in sample.targets
        }

    def _before_last(self, job: EvaluationRequest) -> SampleEvaluation:
        key = (job.run.id, job.place)
        earlier = job.turns[:-1]
        before = reduce(digest_after, earlier, "") if earlier else job.before
        place = self._places.get(key)
        if place is None or place.digest != before:
            if job.before and not earlier:
                raise EarlierNeeded(
                    f"run {job.run.id}, place {job.place}: give all turns, it is not at hand"
                )
            place = self._after(job, earlier)
        self._places.put(key, place)
        return place

    def _after(
        self,
        job: EvaluationRequest,
        turns: Sequence[ChargedTurn],
        *,
        keep_rounds: tuple[int, ...] | None = None,
    ) -> SampleEvaluation:
        plan, cast = self.cast(job.run.phase)
        if keep_rounds is not None:
            cast = replace(cast, rules=replace(cast.rules, keep_rounds=keep_rounds))
        sample = load_sample(cast.dataset, job.run.samples[job.place])
        place = SampleEvaluation(
            cast, sample, self._challenge.phase(job.run.phase), job.past, time_limit_of(plan)
        )
        try:
            for given in turns:
                place.take(place.read(given), given)
        except (
            InvalidInput
        ) as error:  # they were taken before, so this is not the participant's fault
            where = f"run {job.run.id}, place {job.place}"
            raise StoreError(
                f"{where}: turns that were taken before cannot be taken again: {error}"
            ) from error
        return place

    def _forget(self, job: EvaluationRequest) -> None:
        self._places.pop((job.run.id, job.place))

    def cast(self, phase: str) -> tuple[Plan, RunCast]:
        """Return the plan of runs in a phase, and what is built by it.

        Raises:
            PluginError, DatasetError: it cannot be built.
        """
        if phase not in self._casts:
            plan = participant_plan(self._challenge, self._challenge.phase(phase))
            self._casts[phase] = plan, plan.cast()
        return self._casts[phase]


@contextmanager
def _own_faults(job: EvaluationRequest) -> Generator[None]:
    """Let no fault of data, users or earlier turns pass for the participant's, who would be told what it says."""
    try:
        yield
    except InvalidInput as error:
        raise StoreError(f"run {job.run.id}, place {job.place}: {error}") from error
