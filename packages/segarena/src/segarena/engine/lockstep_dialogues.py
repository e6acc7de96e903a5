"""Run all dialogues of one sample in lockstep: one encode, then one batched predict per round.

An error becomes a record, and the other dialogues continue. If a batch fails, its dialogues are
submitted one by one to find the cause; segmenters keep no state, so repeating a request changes
nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.engine.encoding_cache import Encoder, Encoding
from segarena.engine.mutation_guard import forbid_mutation
from segarena.engine.plugin_errors import describe_error
from segarena.engine.rows import Rows, encoder_row, failed_sample
from segarena.engine.sample_prefetch import SamplePrefetcher
from segarena.engine.session import Rules, Session
from segarena.engine.session_protocol import RemoteDataset, SessionLike
from segarena.engine.time_limit import SLOW_CALLS, TimeLimit
from segarena.errors import (
    InvalidInput,
    LoadingFailed,
    PredictionInvalid,
    SharedArrayModified,
    WorkStopped,
)
from segarena.multi_object import empty_comparison
from segarena.plugin_capabilities import (
    SegmenterCapabilities,
    UserCapabilities,
    pass_seconds,
    segmenter_capabilities,
    user_capabilities,
)
from segarena.prompts import Prompt
from segarena.readonly import read_only_sample
from segarena.records.row_types import TargetWithoutDialogue, Timing
from segarena.roles import Dataset, Segmenter, User
from segarena.samples import Sample, Support, check_sample

_Result = TypeVar("_Result")

BatchOrder: TypeAlias = Literal["together", "reversed", "alone", "paired"]
"""Batching of a round's dialogues: all in one batch, in order or reversed; each alone; or each
twice, in a batch of two. A run uses "together"; the others show whether answers depend on the
batch."""


def batch_indices(count: int, order: BatchOrder) -> Sequence[Sequence[int]]:
    """Return the indices of `count` dialogues by batch; if an index occurs twice, its last answer counts."""
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
    """The plug-in objects and the rules of a run.

    Attributes:
        users: the users, by their names in the records.
        repeats: number of dialogues of each user about each target, unless the user determines its own number.
        encoder: encodes with the segmenter, or reads encodings from the cache.
        prefetcher: loads the samples, some of them ahead; None loads each when it is opened.
        user_abilities: capabilities of the users, by the same names.
        segmenter_abilities: capabilities of the segmenter.
        remote_dataset: the dataset, if it opens the dialogues itself.
    """

    dataset: Dataset
    segmenter: Segmenter
    users: dict[str, User]
    rules: Rules
    encoder: Encoder
    repeats: int = 1
    prefetcher: SamplePrefetcher | None = None
    user_abilities: dict[str, UserCapabilities] = field(init=False)
    segmenter_abilities: SegmenterCapabilities = field(init=False)
    remote_dataset: RemoteDataset | None = field(init=False)

    @property
    def segmenter_name(self) -> str:
        """Name of the segmenter in error messages."""
        return f"segmenter {type(self.segmenter).__name__}"

    def __post_init__(self) -> None:
        """Read the capabilities of the plug-ins once for the run."""
        found = {name: user_capabilities(user) for name, user in self.users.items()}
        remote = self.dataset if isinstance(self.dataset, RemoteDataset) else None
        # A frozen dataclass can only assign its own attributes this way.
        object.__setattr__(self, "user_abilities", found)
        object.__setattr__(self, "segmenter_abilities", segmenter_capabilities(self.segmenter))
        object.__setattr__(self, "remote_dataset", remote)


SessionOpener: TypeAlias = Callable[[RunCast, Sample], Sequence[SessionLike]]
"""Function that opens the sessions about a sample."""


def run_sample(
    cast: RunCast,
    sample_id: str,
    limit: TimeLimit,
    *,
    opening: SessionOpener | None = None,
    batches: BatchOrder = "together",
) -> Rows:
    """Run every dialogue about one sample; errors of plug-ins and data are recorded, not raised.

    If a plug-in modified the sample, none of its values can be trusted, and the whole sample
    becomes one failure. `WorkStopped` is not a failure of the sample, and propagates.

    Args:
        cast: the plug-ins and rules.
        sample_id: id of the sample.
        limit: time limit of each call.
        opening: function that opens the sessions; by default `open_sessions`, which opens all.
        batches: how dialogues are batched for the segmenter.
    """
    try:
        with limit.ready():
            opened = open_sample(cast, sample_id, limit, opening=opening, batches=batches)
            for _ in opened.hold(opened.sessions):
                pass
        return opened.rows()
    except (LoadingFailed, SharedArrayModified) as error:
        return failed_rows(cast, sample_id, str(error))


def failed_rows(
    cast: RunCast,
    sample_id: str,
    why: str,
) -> Rows:
    """Return the rows of a sample that has no dialogues, or only dialogues that cannot be trusted."""
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
        LoadingFailed: the sample could not be loaded.
        SharedArrayModified: a plug-in modified the sample.
        WorkStopped: the run cannot continue at all.
    """
    open_all = opening or open_sessions
    who = f"dataset {cast.rules.dataset}"
    try:
        with limit.watch(f"loading {sample_id}", times=SLOW_CALLS, who=who):
            if cast.prefetcher is None:
                sample = load_sample(cast.dataset, sample_id)
            else:
                sample = cast.prefetcher.load(sample_id)
            sessions = open_all(cast, sample)
    except WorkStopped:
        # A lost connection concerns the whole run and must not become a failure of this sample.
        raise
    except Exception as error:
        raise LoadingFailed(describe_error("loading", error)) from error
    return OpenSample(cast, sample, sessions, limit, batches)


class OpenSample:
    """A loaded and encoded sample, while its dialogues are run.

    Args:
        cast: the plug-ins and rules.
        sample: the loaded sample.
        sessions: all dialogues about it.
        limit: time limit of each call.
        batches: how dialogues are batched for the segmenter.

    Raises:
        SharedArrayModified: the segmenter modified the sample.
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
                # The encoder pass counts against the time budget of every dialogue that uses it.
                session.spend(self._encoding.seconds)

    def _encode(self) -> Encoding | None:
        """Return the encoding; None if encoding failed, which fails all dialogues."""
        cast = self._cast
        sample = self.sample
        self._encode_together()
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
                session.fail(describe_error("encode", error))
            return None

    def _encode_together(self) -> None:
        """Encode the sample in one pass with the following ones, if the segmenter can."""
        cast = self._cast
        encoder = cast.encoder
        if cast.prefetcher is None or not encoder.wants_batch(self.sample):
            return
        samples = [self.sample]
        for sample in cast.prefetcher.following(self.sample.id, encoder.image_batch - 1):
            # A sample without targets has no dialogues, so it is not encoded.
            if sample.targets:
                samples.append(sample)
        if len(samples) == 1:
            return
        watch = self._limit.watch(
            f"encoding {len(samples)} samples, beginning with {self.sample.id}",
            times=SLOW_CALLS * len(samples),
            who=cast.segmenter_name,
        )
        guard = forbid_mutation(cast.segmenter_name, *samples, is_on=cast.rules.check_plugins)
        try:
            with watch, guard:
                encoder.encode_together(samples)
        except (SharedArrayModified, WorkStopped):
            raise
        # Any error of the plug-in: encoded alone, only the sample that causes it fails.
        except Exception as error:
            warnings.warn(
                f"{len(samples)} samples could not be encoded together, so they are encoded one by one: {error}",
                RuntimeWarning,
                stacklevel=2,
            )

    def hold(self, sessions: Sequence[SessionLike]) -> Generator[None]:
        """Run the dialogues of `sessions` in batches until they end; yield after each round.

        Raises:
            SharedArrayModified: a plug-in modified the sample.
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
            # A round without prompts repeats the previous answer without calling the segmenter.
            to_predict = [dialogue for _, dialogue in open_dialogues if dialogue.rounds[-1]]
            answers = iter(predictor.predict(to_predict))
            for session, dialogue in open_dialogues:
                if dialogue.rounds[-1]:
                    answer, seconds = next(answers)
                else:
                    answer = repeat_previous(session)
                    seconds = 0.0
                submit_answer(session, limit, answer, seconds)
            # Sessions that gave no dialogue have ended as well, so they are dropped here, too.
            active = [session for session, _ in open_dialogues if not session.is_over]
            yield

    def rows(self) -> Rows:
        """Return the rows of the encoder passes, of all dialogues, and of the targets that no user chose."""
        rows = Rows()
        # A network that encodes with prompts has no separate encoder pass.
        is_timed = not self._cast.segmenter_abilities.encodes_with_prompts
        if self._encoding is not None and self._predictor is not None and is_timed:
            rows.timings.extend(_encoder_rows(self.sample.id, self._encoding))
            rows.timings.extend(self._predictor.support_rows)
        for session in self.sessions:
            rows.extend(session.rows())
        rows.without_dialogue.extend(self._targets_without_dialogue(rows))
        return rows

    def _targets_without_dialogue(self, rows: Rows) -> Iterator[TargetWithoutDialogue]:
        """Yield the targets that are missing in the records because no user chose them."""
        abilities = self._cast.user_abilities.values()
        # One user that takes every target makes the records complete. A challenge has no users here.
        if not abilities or not all(one.repeats is not None for one in abilities):
            return
        recorded = {record.target for record in rows.records}
        for target in self.sample.targets:
            if target.id not in recorded:
                yield TargetWithoutDialogue(sample=self.sample.id, target=target.id)


def load_sample(dataset: Dataset, sample_id: str) -> Sample:
    """Load a sample, check it and make it read-only; propagates errors of the dataset and of `check_sample`."""
    sample = dataset.load(sample_id)
    check_sample(sample)
    if sample.id != sample_id:
        raise InvalidInput(f"expected the sample {sample_id!r} from the dataset, got {sample.id!r}")
    return read_only_sample(sample)


def open_sessions(
    cast: RunCast,
    sample: Sample,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Session]:
    """Return one session per target, user and repeat, in this order."""
    # One comparison per target, so that all its dialogues share the cached values of the first
    # round.
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
    # Reading from the cache is one operation, whatever the number of passes that it saved.
    if passes is None or encoding.is_from_cache:
        row = encoder_row(sample_id, encoding.seconds, is_from_cache=encoding.is_from_cache)
        return [row]
    return [encoder_row(sample_id, seconds) for seconds in passes]


def repeat_previous(session: SessionLike) -> Prediction:
    """Return the previous answer, for a round without prompts; an empty mask in the first round."""
    previous = session.dialogue.previous
    if previous is not None:
        return previous
    return Prediction(session.dialogue.previous_mask(session.sample.shape))


def prepare_shared_work(sessions: Sequence[SessionLike], limit: TimeLimit) -> None:
    """Compute once what several users would compute separately; if this fails, each user computes it alone."""
    by_object: dict[int, tuple[Any, list[Session]]] = {}
    for session in sessions:
        if isinstance(session, Session) and session.abilities.shared is not None:
            shared = session.abilities.shared
            # Compare by identity, because an object of a plug-in need not be hashable.
            _, sharing = by_object.setdefault(id(shared), (shared, []))
            sharing.append(session)
    for shared, sharing in by_object.values():
        # Errors are ignored here: each user then computes alone, and reports the error as its own.
        with suppress(Exception), limit.watch("work shared by users", times=SLOW_CALLS):
            turns = [session.turn() for session in sharing]
            shared.prepare(turns)


def request_prompts(session: SessionLike, limit: TimeLimit) -> Dialogue | None:
    """Request the next prompts of a session; return its dialogue, or None at the end. An error fails the session."""
    where = f"user {session.user_name}"
    what = f"prompts of {session.user_name}"
    return _call_recorded(session, where, limit, what, session.next)


def submit_answer(
    session: SessionLike,
    limit: TimeLimit,
    answer: Any,
    seconds: float,
) -> None:
    """Submit an answer to a session; if it is an exception, record a failure instead."""
    if isinstance(answer, Exception):
        session.fail(describe_error("predict", answer))
        return
    what = f"scoring by {session.judges}"
    _call_recorded(session, "judging", limit, what, lambda: session.submit(answer, seconds))


def _call_recorded(
    session: SessionLike,
    where: str,
    limit: TimeLimit,
    what: str,
    call: Callable[[], _Result],
) -> _Result | None:
    """Return the result of a call within a time limit; after an error, fail the session and return None."""
    try:
        with limit.watch(what, times=SLOW_CALLS, who=f"{session.name},"):
            return call()
    except (SharedArrayModified, WorkStopped):
        raise
    except Exception as error:
        session.fail(describe_error(where, error))
        return None


class _BatchPredictor:
    """Calls of the segmenter on batches of dialogues about one encoded sample.

    Attributes:
        support_rows: timings of support images that were encoded during predictions.
    """

    def __init__(
        self,
        cast: RunCast,
        encoded: Any,
        limit: TimeLimit,
        sample: Sample,
        batches: BatchOrder,
    ) -> None:
        self._cast = cast
        self._batches: BatchOrder = batches
        self._encoded = encoded
        self._limit = limit
        self._sample = sample
        self.support_rows: list[Timing] = []

    def predict(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        """Return (answer or exception, seconds) for each dialogue."""
        count = len(dialogues)
        by_index: dict[int, tuple[Any, float]] = {}
        for indices in batch_indices(count, self._batches):
            batch = [dialogues[index] for index in indices]
            answers = self._predict_batch(batch)
            # Keyed by index, so that answers of reversed or repeated batches return to their
            # dialogues.
            by_index.update(zip(indices, answers, strict=True))
        return [by_index[index] for index in range(count)]

    def _predict_batch(self, dialogues: Sequence[Dialogue]) -> list[tuple[Any, float]]:
        if not dialogues:
            return []
        started = time.perf_counter()
        # Encoding on demand has its own timings, so it must not count as prediction time as well.
        encoding_before_s = self._encoding_s()
        try:
            answers = self._call_segmenter(dialogues)
        except SharedArrayModified:
            raise
        except Exception as error:
            if len(dialogues) == 1:
                return [(error, time.perf_counter() - started)]
            # Submit one by one, so that only the dialogue that causes the error fails.
            alone: list[tuple[Any, float]] = []
            for dialogue in dialogues:
                alone.extend(self._predict_batch([dialogue]))
            return alone
        encoding_s = self._encoding_s() - encoding_before_s
        seconds = time.perf_counter() - started - encoding_s
        # A batch has one duration, which its dialogues share equally.
        return [(answer, seconds / len(dialogues)) for answer in answers]

    def _call_segmenter(self, dialogues: Sequence[Dialogue]) -> list[Any]:
        """Return one answer per dialogue.

        Raises:
            PredictionInvalid: the number of answers differs from the number of dialogues.
        """
        count = len(dialogues)
        who = f"sample {self._sample.id}, {self._cast.segmenter_name}"
        has_supports = any(map(_has_supports, dialogues))
        times = self._time_factor(count, has_supports=has_supports)
        with self._limit.watch(f"predicting {count} dialogues", times=times, who=who):
            if has_supports:
                dialogues = [self._encode_supports(dialogue) for dialogue in dialogues]
            predictions: Any = self._predict_guarded(dialogues)
        if predictions is None or isinstance(predictions, (dict, Prediction, str)):
            kind = "None" if predictions is None else f"a {type(predictions).__name__}"
            raise PredictionInvalid(
                f"expected a list of {count} predictions, got {kind}; return one for each dialogue"
            )
        # Iterating over a single mask would yield its rows as if they were predictions.
        if isinstance(predictions, np.ndarray) and predictions.shape == self._sample.shape:
            raise PredictionInvalid(
                f"expected a list of {count} predictions, got one mask; return a list with one for each dialogue"
            )
        answers = list(predictions)
        if len(answers) != count:
            raise PredictionInvalid(f"expected {count} predictions, got {len(answers)}")
        return answers

    def _predict_guarded(self, dialogues: Sequence[Dialogue]) -> Any:
        cast = self._cast
        with forbid_mutation(
            cast.segmenter_name, self._sample, dialogues, is_on=cast.rules.check_plugins
        ):
            return cast.segmenter.predict(self._encoded, dialogues)

    def _time_factor(self, count: int, *, has_supports: bool) -> float:
        """Return the time limit as a multiple of that of one prediction; encoding on demand raises it."""
        encodes = has_supports or pass_seconds(self._encoded) is not None
        # A batch may take as long as its dialogues one by one.
        return count * (1 + SLOW_CALLS * encodes)

    def _encoding_s(self) -> float:
        """Return the seconds that predictions have spent on encoding so far."""
        own_s = sum(pass_seconds(self._encoded) or ())
        return own_s + sum(row.predict_s for row in self.support_rows)

    def _encode_supports(self, dialogue: Dialogue) -> Dialogue:
        """Return the dialogue with its support examples encoded; each image is encoded once per process."""
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
    for prompts in dialogue.rounds:
        for prompt in prompts:
            if isinstance(prompt, Support):
                return True
    return False
