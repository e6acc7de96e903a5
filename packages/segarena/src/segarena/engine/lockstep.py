"""Run all dialogues of one sample in lockstep: one encode, then one batched predict per round.

An error becomes a record and the other dialogues go on. If a batch fails, its dialogues are submitted one by
one to find the one at fault; segmenters keep no state, so a repeated request changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from segarena.capabilities import (
    UserCapabilities,
    pass_seconds,
    segmenter_capabilities,
    user_capabilities,
)
from segarena.dialogue import Dialogue, Prediction
from segarena.engine.embeddings import Encoder, Encoding
from segarena.engine.mutation_guard import forbid_mutation
from segarena.engine.rows import Rows, encoder_row, failed_sample
from segarena.engine.session import Rules, Session
from segarena.engine.session_protocol import SessionLike
from segarena.engine.time_limit import TimeLimit
from segarena.errors import (
    LoadingFailed,
    PredictionInvalid,
    SegarenaError,
    SharedArrayModified,
    WorkStopped,
)
from segarena.multi_object import empty_comparison
from segarena.prompts import Prompt
from segarena.readonly import read_only_sample
from segarena.records.row_types import Timing
from segarena.roles import Dataset, Segmenter, User
from segarena.samples import Sample, Support, check_sample

SLOW_CALLS = 10.0
"""Loading, an encode, a user and the metrics may take this many times the limit of one prediction."""

BatchOrder: TypeAlias = Literal["together", "reversed", "alone", "paired"]
"""How the dialogues of a round are batched: all in one batch, in order or reversed; each alone; or each
twice, in a batch of two. A run uses "together"; the others show whether answers depend on the batch."""


def batch_indices(count: int, order: BatchOrder) -> Sequence[Sequence[int]]:
    """Return the indices of `count` dialogues by batch; of one submitted twice the last answer counts."""
    match order:
        case "together":
            return [range(count)]
        case "reversed":
            return [range(count)[::-1]]
        case "alone":
            return [[index] for index in range(count)]
        case "paired":
            return [[index, index] for index in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCast:
    """The built plug-ins of a run, and its rules.

    Attributes:
        users: by their names in the records.
        repeats: number of dialogues of each user about each target.
        encoder: encodes with the segmenter, or reads from the cache.
        user_abilities: by the same names.
    """

    dataset: Dataset
    segmenter: Segmenter
    users: dict[str, User]
    rules: Rules
    encoder: Encoder
    repeats: int = 1
    user_abilities: dict[str, UserCapabilities] = field(init=False)

    @property
    def segmenter_name(self) -> str:
        """Name of the segmenter in error messages."""
        return f"segmenter {type(self.segmenter).__name__}"

    def __post_init__(self) -> None:
        """Determine the abilities of the users once for the run."""
        found = {name: user_capabilities(user) for name, user in self.users.items()}
        object.__setattr__(self, "user_abilities", found)


SessionOpener: TypeAlias = Callable[[RunCast, Sample], Sequence[SessionLike]]
"""Opens the sessions about a sample."""


def run_sample(
    cast: RunCast,
    sample_id: str,
    limit: TimeLimit,
    *,
    opening: SessionOpener | None = None,
    batches: BatchOrder = "together",
) -> Rows:
    """Run every dialogue about one sample; errors of plug-ins and data are recorded, not raised.

    If a plug-in wrote into the sample, none of its values can be trusted: the sample becomes one failure.
    `WorkStopped` is not a failure of the sample, and propagates.

    Args:
        cast: the plug-ins and rules.
        sample_id: id of the sample.
        limit: time limit of each call.
        opening: opens the sessions; by default `open_sessions`, which opens all of them.
        batches: the batches in which the segmenter answers.
    """
    try:
        opened = open_sample(cast, sample_id, limit, opening=opening, batches=batches)
        with limit.ready():
            for _ in opened.hold(opened.sessions):
                pass
        return opened.rows()
    except (LoadingFailed, SharedArrayModified) as error:
        return failed_rows(cast, sample_id, str(error))


def failed_rows(cast: RunCast, sample_id: str, why: str) -> Rows:
    """Return the rows of a sample without dialogues, or whose dialogues cannot be trusted."""
    return Rows([failed_sample(cast.rules.benchmark, cast.rules.dataset, sample_id, why)])


def open_sample(
    cast: RunCast,
    sample_id: str,
    limit: TimeLimit,
    *,
    opening: SessionOpener | None = None,
    batches: BatchOrder = "together",
) -> OpenSample:
    """Load and encode a sample; arguments as in `run_sample`.

    Raises:
        LoadingFailed: it could not be loaded.
        SharedArrayModified: a plug-in wrote into it.
        WorkStopped: the run cannot go on at all.
    """
    open_all = opening or open_sessions
    who = f"dataset {cast.rules.dataset}"
    try:
        with limit.watch(f"loading {sample_id}", times=SLOW_CALLS, who=who):
            sample = load_sample(cast.dataset, sample_id)
            sessions = open_all(cast, sample)
    except WorkStopped:
        raise
    except Exception as error:
        raise LoadingFailed(_describe("loading", error)) from error
    return OpenSample(cast, sample, sessions, limit, batches)


class OpenSample:
    """A loaded and encoded sample, while its dialogues are run.

    Args:
        cast: the plug-ins and rules.
        sample: the loaded sample.
        sessions: all dialogues about it.
        limit: time limit of each call.
        batches: the batches in which the segmenter answers.

    Raises:
        SharedArrayModified: the segmenter wrote into the sample.
    """

    def __init__(
        self,
        cast: RunCast,
        sample: Sample,
        sessions: Sequence[SessionLike],
        limit: TimeLimit,
        batches: BatchOrder = "together",
    ) -> None:
        self.sample = sample
        self.sessions = sessions
        self._cast = cast
        self._limit = limit
        self._predictor: _BatchPredictor | None = None
        # A sample without targets has no sessions, and an encoder pass would be wasted on it.
        self._encoding = self._encode() if sessions else None
        if self._encoding is not None:
            self._predictor = _BatchPredictor(cast, self._encoding.value, limit, sample, batches)
            for session in sessions:
                session.spend(self._encoding.seconds)

    def _encode(self) -> Encoding | None:
        """Return the encoding; None if it failed, which is a failure of all dialogues."""
        cast = self._cast
        sample = self.sample
        watch = self._limit.watch(
            f"encoding {sample.id}", times=SLOW_CALLS, who=cast.segmenter_name
        )
        guard = forbid_mutation(cast.segmenter_name, sample, is_on=cast.rules.check_plugins)
        try:
            with watch, guard:
                return cast.encoder.encode(sample)
        except SharedArrayModified:
            raise
        except Exception as error:
            for session in self.sessions:
                session.fail(_describe("encode", error))
            return None

    def hold(self, sessions: Sequence[SessionLike]) -> Generator[None]:
        """Run some of the dialogues to their end, in batches; yields after each round.

        Raises:
            SharedArrayModified: a plug-in wrote into the sample.
        """
        predictor = self._predictor
        limit = self._limit
        active = sessions
        while active and predictor is not None:
            prepare_shared_work(active, limit)
            open_dialogues: list[tuple[SessionLike, Dialogue]] = []
            for session in active:
                dialogue = request_prompts(session, limit)
                if dialogue is not None:
                    open_dialogues.append((session, dialogue))
            # A round without prompts repeats the answer before it; the segmenter is not called.
            to_predict = [dialogue for _, dialogue in open_dialogues if dialogue.rounds[-1]]
            answers = iter(predictor.predict(to_predict))
            for session, dialogue in open_dialogues:
                if dialogue.rounds[-1]:
                    answer, seconds = next(answers)
                else:
                    answer = repeat_previous(session)
                    seconds = 0.0
                submit_answer(session, limit, answer, seconds)
            active = [session for session, _ in open_dialogues if not session.is_over]
            yield

    def rows(self) -> Rows:
        """Return the rows of the encoder passes and of all dialogues."""
        rows = Rows()
        # A network that encodes with prompts has no encoder pass of its own.
        is_timed = not segmenter_capabilities(self._cast.segmenter).encodes_with_prompts
        if self._encoding is not None and self._predictor is not None and is_timed:
            rows.timings.extend(_encoder_rows(self.sample.id, self._encoding))
            rows.timings.extend(self._predictor.support_rows)
        for session in self.sessions:
            rows.extend(session.rows())
        return rows


def load_sample(dataset: Dataset, sample_id: str) -> Sample:
    """Return a sample, checked and read-only; raises like the dataset and like `check_sample`."""
    sample = dataset.load(sample_id)
    check_sample(sample)
    return read_only_sample(sample)


def open_sessions(
    cast: RunCast, sample: Sample, clock: Callable[[], float] = time.perf_counter
) -> list[Session]:
    """Return one session per target, user and repeat, in this order."""
    starts = {target.id: empty_comparison(sample, target) for target in sample.targets}
    sessions: list[Session] = []
    for target in sample.targets:
        for name, user in cast.users.items():
            abilities = cast.user_abilities[name]
            if abilities.repeats is None:
                repeats = cast.repeats
            else:
                repeats = abilities.repeats(sample, target)
            for repeat in range(repeats):
                session = Session(
                    rules=cast.rules,
                    sample=sample,
                    target=target,
                    start=starts[target.id],
                    user=user,
                    user_name=name,
                    abilities=abilities,
                    repeat=repeat,
                    clock=clock,
                )
                sessions.append(session)
    return sessions


def _encoder_rows(sample_id: str, encoding: Encoding) -> list[Timing]:
    passes = pass_seconds(encoding.value)
    if passes is None or encoding.is_from_cache:
        return [encoder_row(sample_id, encoding.seconds, is_from_cache=encoding.is_from_cache)]
    return [encoder_row(sample_id, seconds) for seconds in passes]


def repeat_previous(session: SessionLike) -> Prediction:
    """Return the previous answer, for a round without prompts; an empty mask in the first round."""
    previous = session.dialogue.previous
    if previous is not None:
        return previous
    return Prediction(session.dialogue.previous_mask(session.sample.shape))


def prepare_shared_work(sessions: Sequence[SessionLike], limit: TimeLimit) -> None:
    """Prepare the turns of users that share an object; on failure, each works alone."""
    by_object: dict[int, tuple[Any, list[Session]]] = {}
    for session in sessions:
        if isinstance(session, Session) and session.abilities.shared is not None:
            shared = session.abilities.shared
            # By identity, because an object of a plug-in need not be hashable.
            _, sharing = by_object.setdefault(id(shared), (shared, []))
            sharing.append(session)
    for shared, sharing in by_object.values():
        with suppress(Exception), limit.watch("what users share", times=SLOW_CALLS):
            shared.prepare([session.turn() for session in sharing])


def request_prompts(session: SessionLike, limit: TimeLimit) -> Dialogue | None:
    """Return the dialogue with the next prompts, None at the end; an error fails the session."""
    with _recorded(session, f"user {session.user_name}", limit, f"asking {session.user_name}"):
        return session.next()
    return None


def submit_answer(session: SessionLike, limit: TimeLimit, answer: Any, seconds: float) -> None:
    """Submit an answer to a session, or record the exception raised instead."""
    if isinstance(answer, Exception):
        session.fail(_describe("predict", answer))
        return
    with _recorded(session, "judging", limit, f"judging by {session.judges}"):
        session.submit(answer, seconds)


@contextmanager
def _recorded(session: SessionLike, where: str, limit: TimeLimit, what: str) -> Generator[None]:
    """Run the block within a time limit; an error in it becomes a failure of the session."""
    try:
        with limit.watch(what, times=SLOW_CALLS, who=f"{session.name},"):
            yield
    except (SharedArrayModified, WorkStopped):
        raise
    except Exception as error:
        session.fail(_describe(where, error))


class _BatchPredictor:
    """Calls the segmenter on batches of dialogues about one encoded sample.

    Attributes:
        support_rows: timings of the support images encoded on the way.
    """

    def __init__(
        self, cast: RunCast, encoded: Any, limit: TimeLimit, sample: Sample, batches: BatchOrder
    ) -> None:
        self._cast = cast
        self._batches: BatchOrder = batches
        self._encoded = encoded
        self._limit = limit
        self._sample = sample
        self.support_rows: list[Timing] = []

    def predict(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        """Return (answer or exception, seconds) for each dialogue."""
        by_index: dict[int, tuple[Any, float]] = {}
        for indices in batch_indices(len(dialogues), self._batches):
            answers = self._predict_batch([dialogues[index] for index in indices])
            by_index.update(zip(indices, answers, strict=True))
        return [by_index[index] for index in range(len(dialogues))]

    def _predict_batch(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        if not dialogues:
            return []
        started = time.perf_counter()
        encoding_before_s = self._encoding_s()
        try:
            answers = self._call_segmenter(dialogues)
        except SharedArrayModified:
            raise
        except Exception as error:
            if len(dialogues) == 1:
                return [(error, time.perf_counter() - started)]
            # One by one, so that only the dialogue at fault fails.
            alone: list[tuple[Any, float]] = []
            for dialogue in dialogues:
                alone.extend(self._predict_batch([dialogue]))
            return alone
        encoding_s = self._encoding_s() - encoding_before_s
        seconds = time.perf_counter() - started - encoding_s
        return [(answer, seconds / len(dialogues)) for answer in answers]

    def _call_segmenter(self, dialogues: Sequence[Dialogue]) -> list[Any]:
        """Return one answer per dialogue.

        Raises:
            PredictionInvalid: the segmenter returned another number of answers.
        """
        count = len(dialogues)
        who = f"sample {self._sample.id}, {self._cast.segmenter_name}"
        times = self._time_factor(dialogues)
        with self._limit.watch(f"predicting {count} dialogues", times=times, who=who):
            shown = [self._encode_supports(dialogue) for dialogue in dialogues]
            given: Any = self._predict_guarded(shown)
        if given is None:
            raise PredictionInvalid(
                f"expected a list of {count} predictions, got None; return one each"
            )
        answers = list(given)
        if len(answers) != count:
            raise PredictionInvalid(f"expected {count} predictions, got {len(answers)}")
        return answers

    def _predict_guarded(self, dialogues: Sequence[Dialogue]) -> Any:
        cast = self._cast
        with forbid_mutation(
            cast.segmenter_name, self._sample, dialogues, is_on=cast.rules.check_plugins
        ):
            return cast.segmenter.predict(self._encoded, dialogues)

    def _time_factor(self, dialogues: Sequence[Dialogue]) -> float:
        """Return the time limit in predictions; a segmenter that encodes on the way needs more."""
        encodes = pass_seconds(self._encoded) is not None or any(map(_has_supports, dialogues))
        return len(dialogues) * (1 + SLOW_CALLS * encodes)

    def _encoding_s(self) -> float:
        """Return the seconds spent so far on encoding within predictions."""
        own_s = sum(pass_seconds(self._encoded) or ())
        return own_s + sum(row.predict_s for row in self.support_rows)

    def _encode_supports(self, dialogue: Dialogue) -> Dialogue:
        """Return the dialogue with its support examples encoded, each image once in a process."""
        if not _has_supports(dialogue):
            return dialogue
        rounds = tuple(self._encode_round(prompts) for prompts in dialogue.rounds)
        return replace(dialogue, rounds=rounds)

    def _encode_round(self, prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
        return tuple(self._encode_support(prompt) for prompt in prompts)

    def _encode_support(self, prompt: Prompt) -> Prompt:
        if not isinstance(prompt, Support) or prompt.encoded is not None:
            return prompt
        encoding, is_new = self._cast.encoder.encode_support(prompt.sample)
        if is_new:
            row = encoder_row(
                self._sample.id,
                encoding.seconds,
                support=prompt.sample.id,
                is_from_cache=encoding.is_from_cache,
            )
            self.support_rows.append(row)
        return replace(prompt, encoded=encoding.value)


def _has_supports(dialogue: Dialogue) -> bool:
    return any(isinstance(prompt, Support) for prompt in dialogue.prompts)


def _describe(where: str, error: Exception) -> str:
    if isinstance(error, SegarenaError):
        return f"{where}: {error}"
    return f"{where}: {type(error).__name__}: {error}"
