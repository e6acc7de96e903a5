"""All dialogues of one sample, round by round: one encode, then one batched predict per round.

What goes wrong becomes a record and the others go on. When a batch fails, its dialogues are asked one by one,
so that the one at fault is found; segmenters keep no state, so asking again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from segarena.abilities import TimesPasses, UserAbilities, abilities_of_segmenter, abilities_of_user
from segarena.dialogue import Dialogue, Prediction
from segarena.engine.batch_order import BatchOrder, batch_indices
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
    SharedChanged,
    WorkStopped,
)
from segarena.objects import begin
from segarena.prompts import Prompt
from segarena.readonly import read_only_sample
from segarena.records.row_types import Timing
from segarena.roles import Dataset, Segmenter, User
from segarena.samples import Sample, Support, check_sample

SLOW_CALLS = 10.0
"""Loading, an encode, a user and the metrics may take this many times the limit of one prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCast:
    """Who takes part in a run: the built plug-ins and the rules.

    Attributes:
        users: by the name they have in the records.
        repeats: how often each user talks about each target.
        encoder: encodes by the segmenter, or knows what it made before.
        user_abilities: what each user can do.
    """

    dataset: Dataset
    segmenter: Segmenter
    users: dict[str, User]
    rules: Rules
    encoder: Encoder
    repeats: int = 1
    user_abilities: dict[str, UserAbilities] = field(init=False)

    @property
    def segmenter_name(self) -> str:
        """What an error calls the segmenter."""
        return f"segmenter {type(self.segmenter).__name__}"

    def __post_init__(self) -> None:
        """Look at the users, once for the run."""
        found = {name: abilities_of_user(user) for name, user in self.users.items()}
        object.__setattr__(self, "user_abilities", found)


def run_sample(
    cast: RunCast,
    sample_id: str,
    limit: TimeLimit,
    *,
    opening: Callable[[RunCast, Sample], Sequence[SessionLike]] | None = None,
    batches: BatchOrder = "together",
) -> Rows:
    """Hold every dialogue about one sample; never raises for what a plug-in or the data does wrong.

    What was said of a sample into which a plug-in wrote cannot be trusted: it is one failure. `WorkStopped` is no
    failure of the sample, and raised.

    Args:
        cast: who takes part.
        sample_id: which sample.
        limit: for each call.
        opening: what gives the sessions; by default `open_sessions`, all of them.
        batches: in which the segmenter is asked.
    """
    try:
        held = open_sample(cast, sample_id, limit, opening=opening, batches=batches)
        with limit.ready():
            for _ in held.hold(held.sessions):
                pass
        return held.rows()
    except (LoadingFailed, SharedChanged) as error:
        return failed_rows(cast, sample_id, str(error))


def failed_rows(cast: RunCast, sample_id: str, why: str) -> Rows:
    """Return what is left of a sample of which no dialogue could be held, or none can be trusted."""
    return Rows([failed_sample(cast.rules.benchmark, cast.rules.dataset, sample_id, why)])


def open_sample(
    cast: RunCast,
    sample_id: str,
    limit: TimeLimit,
    *,
    opening: Callable[[RunCast, Sample], Sequence[SessionLike]] | None = None,
    batches: BatchOrder = "together",
) -> OpenSample:
    """Load and encode a sample; otherwise as `run_sample`.

    Raises:
        LoadingFailed: it could not be loaded.
        SharedChanged: a plug-in wrote into it.
        WorkStopped: the run cannot go on at all.
    """
    try:
        with limit.watch(
            f"loading {sample_id}", times=SLOW_CALLS, who=f"dataset {cast.rules.dataset}"
        ):
            sample = load_sample(cast.dataset, sample_id)
            sessions = (opening or open_sessions)(cast, sample)
    except WorkStopped:
        raise
    except Exception as error:
        raise LoadingFailed(_describe("loading", error)) from error
    return OpenSample(cast, sample, sessions, limit, batches)


class OpenSample:
    """A sample that is loaded and encoded, while its dialogues are held.

    Args:
        cast: who takes part.
        sample: what is looked at.
        sessions: all dialogues about it.
        limit: for each call.
        batches: in which the segmenter is asked.

    Raises:
        SharedChanged: the segmenter wrote into the sample.
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
        self._encoding = (
            self._encode() if sessions else None
        )  # nothing in it is a target: nothing to encode for
        self._answers: _Answers | None = None
        if self._encoding is not None:
            self._answers = _Answers(cast, self._encoding.value, limit, sample, batches)
            for session in sessions:
                session.spend(self._encoding.seconds)

    def _encode(self) -> Encoding | None:
        """Return the encoding; None when it could not be had, which is a failure of all dialogues."""
        cast = self._cast
        sample = self.sample
        try:
            with (
                self._limit.watch(
                    f"encoding {sample.id}", times=SLOW_CALLS, who=cast.segmenter_name
                ),
                forbid_mutation(cast.segmenter_name, sample, is_on=cast.rules.check_plugins),
            ):
                return cast.encoder.encode(sample)
        except SharedChanged:
            raise
        except Exception as error:
            for session in self.sessions:
                session.fail(_describe("encode", error))
            return None

    def hold(self, sessions: Sequence[SessionLike]) -> Generator[None]:
        """Hold some of the dialogues to their end, in batches; stops after each round.

        Raises:
            SharedChanged: a plug-in wrote into the sample.
        """
        answers = self._answers
        limit = self._limit
        active = sessions
        while active and answers is not None:
            prepare_shared_work(active, limit)
            asked = [
                (session, dialogue)
                for session in active
                if (dialogue := request_prompts(session, limit)) is not None
            ]
            given = iter(answers.to([dialogue for _, dialogue in asked if dialogue.rounds[-1]]))
            for session, dialogue in asked:
                submit_answer(
                    session,
                    limit,
                    *(next(given) if dialogue.rounds[-1] else (repeat_previous(session), 0.0)),
                )
            active = [session for session, _ in asked if not session.is_over]
            yield

    def rows(self) -> Rows:
        """Return what encoding and all dialogues left."""
        rows = Rows()
        is_timed = not abilities_of_segmenter(self._cast.segmenter).encodes_with_prompts
        if self._encoding is not None and self._answers is not None and is_timed:
            rows.timings.extend(_encoder_rows(self.sample.id, self._encoding))
            rows.timings.extend(self._answers.support_rows)
        for session in self.sessions:
            rows.extend(session.rows())
        return rows


def load_sample(dataset: Dataset, sample_id: str) -> Sample:
    """Return a sample, checked and read-only; raises whatever the dataset raises, and as `check_sample`."""
    sample = dataset.load(sample_id)
    check_sample(sample)
    return read_only_sample(sample)


def open_sessions(
    cast: RunCast, sample: Sample, clock: Callable[[], float] = time.perf_counter
) -> list[Session]:
    """Return one session per target, user and repeat, in this order."""
    starts = {target.id: begin(sample, target) for target in sample.targets}
    sessions: list[Session] = []
    for target, (name, user) in product(sample.targets, cast.users.items()):
        abilities = cast.user_abilities[name]
        sessions += [
            Session(
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
            for repeat in range(
                cast.repeats if abilities.repeats is None else abilities.repeats(sample, target)
            )
        ]
    return sessions


def _encoder_rows(sample_id: str, encoding: Encoding) -> list[Timing]:
    if not isinstance(encoding.value, TimesPasses) or encoding.is_from_cache:
        return [encoder_row(sample_id, encoding.seconds, is_from_cache=encoding.is_from_cache)]
    return [encoder_row(sample_id, each) for each in encoding.value.pass_seconds]


def repeat_previous(session: SessionLike) -> Prediction:
    """Return the answer to a round in which nothing was said: the one before."""
    return session.dialogue.previous or Prediction(
        session.dialogue.previous_mask(session.sample.shape)
    )


def prepare_shared_work(sessions: Sequence[SessionLike], limit: TimeLimit) -> None:
    """Let what users share work for all of them at once; when that fails, each is asked without it."""
    here = [session for session in sessions if isinstance(session, Session)]
    shared = {
        id(thing): thing for session in here if (thing := session.abilities.shared) is not None
    }
    for thing in shared.values():
        with suppress(Exception), limit.watch("what users share", times=SLOW_CALLS):
            thing.prepare([session.turn() for session in here if session.abilities.shared is thing])


def request_prompts(session: SessionLike, limit: TimeLimit) -> Dialogue | None:
    """Return the dialogue with the next prompts, None at the end; what goes wrong is the session's failure."""
    with _recorded(session, f"user {session.user_name}", limit, f"asking {session.user_name}"):
        return session.next()
    return None


def submit_answer(session: SessionLike, limit: TimeLimit, answer: Any, seconds: float) -> None:
    """Let a session judge an answer, or record the exception that came in its place."""
    if isinstance(answer, Exception):
        session.fail(_describe("predict", answer))
        return
    with _recorded(session, "judging", limit, f"judging by {session.judges}"):
        session.submit(answer, seconds)


@contextmanager
def _recorded(session: SessionLike, where: str, limit: TimeLimit, what: str) -> Generator[None]:
    """Run the block within a time limit; what goes wrong in it is a failure of the session."""
    try:
        with limit.watch(what, times=SLOW_CALLS, who=f"{session.name},"):
            yield
    except (SharedChanged, WorkStopped):
        raise
    except Exception as error:
        session.fail(_describe(where, error))


class _Answers:
    """Asks the segmenter about one encoded sample; knows what was encoded on the way."""

    def __init__(
        self, cast: RunCast, encoded: Any, limit: TimeLimit, sample: Sample, batches: BatchOrder
    ) -> None:
        self._cast = cast
        self._batches: BatchOrder = batches
        self._encoded = encoded
        self._limit = limit
        self._sample = sample
        self.support_rows: list[Timing] = []

    def to(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        """Return (answer or exception, seconds) for each dialogue."""
        found: dict[int, tuple[Any, float]] = {}
        for places in batch_indices(len(dialogues), self._batches):
            found.update(
                zip(places, self._of_batch([dialogues[place] for place in places]), strict=True)
            )
        return [found[place] for place in range(len(dialogues))]

    def _of_batch(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        if not dialogues:
            return []
        started = time.perf_counter()
        encoding_s = self._encoding_s()
        try:
            who = f"sample {self._sample.id}, {self._cast.segmenter_name}"
            with self._limit.watch(
                f"predicting {len(dialogues)} dialogues", times=self._limits(dialogues), who=who
            ):
                shown = [self._show_supports(dialogue) for dialogue in dialogues]
                given: Any = self._predict(shown)
            if given is None:
                raise PredictionInvalid(
                    f"expected a list of {len(dialogues)} predictions, got None; return one each"
                )
            answers = list(given)
            if len(answers) != len(dialogues):
                raise PredictionInvalid(
                    f"expected {len(dialogues)} predictions, got {len(answers)}"
                )
        except SharedChanged:
            raise
        except Exception as error:
            if len(dialogues) == 1:
                return [(error, time.perf_counter() - started)]
            return [self._of_batch([dialogue])[0] for dialogue in dialogues]
        seconds = time.perf_counter() - started - (self._encoding_s() - encoding_s)
        return [(answer, seconds / len(dialogues)) for answer in answers]

    def _predict(self, dialogues: Sequence[Dialogue]) -> Any:
        cast = self._cast
        with forbid_mutation(
            cast.segmenter_name, self._sample, dialogues, is_on=cast.rules.check_plugins
        ):
            return cast.segmenter.predict(self._encoded, dialogues)

    def _limits(self, dialogues: Sequence[Dialogue]) -> float:
        """Return how many predictions' time is given: who encodes on the way may need an encode's too."""
        encodes = isinstance(self._encoded, TimesPasses) or any(
            _supports(dialogue) for dialogue in dialogues
        )
        return len(dialogues) * (1 + SLOW_CALLS * encodes)

    def _encoding_s(self) -> float:
        """Return what encoding on the way has taken so far."""
        own = sum(self._encoded.pass_seconds) if isinstance(self._encoded, TimesPasses) else 0.0
        return own + sum(row.predict_s for row in self.support_rows)

    def _show_supports(self, dialogue: Dialogue) -> Dialogue:
        """Return the dialogue with its support examples encoded, each image once in a process."""
        if not _supports(dialogue):
            return dialogue
        rounds = tuple(tuple(map(self._show, prompts)) for prompts in dialogue.rounds)
        return replace(dialogue, rounds=rounds)

    def _show(self, prompt: Prompt) -> Prompt:
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


def _supports(dialogue: Dialogue) -> bool:
    return any(isinstance(prompt, Support) for prompt in dialogue.prompts)


def _describe(where: str, error: Exception) -> str:
    if isinstance(error, SegarenaError):
        return f"{where}: {error}"
    return f"{where}: {type(error).__name__}: {error}"
