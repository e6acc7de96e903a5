"""Connector for evaluation on this machine: one sample after another; each prediction is stored immediately.

    FOLDER/run.json, records/, ...   an ordinary run, for `segarena report`; a sequence is written when it is finished
    FOLDER/session.json              the session's key and its start
    FOLDER/submissions.jsonl         every answer: its masks, its seconds, and the time spent so far
    FOLDER/result_START.csv          the report, unless it has another folder; `.tmp.csv` until the session is finished

A killed session is resumed by replaying the predictions for its unfinished sequence. Users depend
only on what they are shown, so they draw the same lines again.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from segarena.dialogue import Prediction
from segarena.engine.evaluate import finish, open_folder
from segarena.engine.lockstep_dialogues import load_sample, open_sessions
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.session import Session
from segarena.errors import DatasetError, InvalidInput, PredictionInvalid, StoreError
from segarena.options import parse_protocol
from segarena.records.parquet_tables import table_frame
from segarena.samples import Labels, Mask, VideoSample
from segarena.systems.videos.benchmarks.davis import BY_TIME_ALONE, METRIC_COLUMNS, robot_text
from segarena.systems.videos.measures.challenge_report import (
    SampleScore,
    report_table,
    sample_scores,
    unanswered,
)
from segarena.systems.videos.measures.challenge_summary import CurveEnd, video_summary
from segarena.systems.videos.scribbles.files import Scribbles
from segarena.systems.videos.scribbles.prompt_conversion import (
    fractions_of_round,
    scribbles_from_prompts,
)
from segarena.systems.videos.session.evaluator_connector import CurrentSample
from segarena.systems.videos.session.journal import SessionJournal
from segarena.systems.videos.session.report_file import ReportFile
from segarena.systems.videos.session.session_serialization import (
    Submission,
    cast_object_ids,
    decode_answer,
    make_submission,
    open_session_file,
)


class LocalConnector:
    """Connector that evaluates the samples of a plan in this process.

    An unfinished session in `folder` is resumed, under its `session_id` of 64 hexadecimal digits.
    The report is written to `report_folder`, by default `folder`. `shuffle_seed` randomises the
    order of sequences. See `segarena.systems.videos.session.evaluator_connector.Connector` for the methods.

    Raises:
        RunConflict: the folder contains a different session or is in use.
        DatasetError, PluginError, StoreError: as for a run.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        report_folder: Path | None = None,
        shuffle_seed: int | None = None,
        clock: Callable[[], float],
    ) -> None:
        self.rules = plan.benchmark
        self._cast = plan.cast()
        self._clock = clock
        self._run = open_folder(plan, self._cast.dataset, folder)
        with ExitStack() as stack:
            # Locked before the session file is read, so that two processes never continue one
            # session.
            stack.enter_context(self._run.lock())
            about = open_session_file(folder / "session.json", report_folder or folder)
            self.session_id: str = about["session_id"]
            self._journal = SessionJournal(folder / "submissions.jsonl")
            stack.callback(self._journal.close)
            self.report_name = f"result_{about['started']}"
            # Finished sequences come from the run, the others from the journal.
            self._tables = [self._finished_table()]
            self._file = ReportFile(report_folder or folder, about["started"], self._tables[0])
            stack.callback(self._file.close)
            # From here on `close` releases the lock and the files; before, the stack releases them
            # if an error occurs.
            self._resources = stack.pop_all()
        self._begun: dict[tuple[str, int], int] = {}
        self._entries = self._unfinished_entries()
        order = np.arange(len(self._run.samples))
        if shuffle_seed is not None:
            # Seeded, so that a resumed session continues in the same order.
            np.random.default_rng(shuffle_seed).shuffle(order)
        self._order: list[int] = order.tolist()
        self._samples = self._each_sample()
        self._session: Session | None = None

    def all_samples(self) -> list[tuple[str, int]]:
        """See `Connector`; this reads every sequence."""
        samples: list[tuple[str, int]] = []
        for index in self._order:
            for session in self._sessions(self._run.samples[index], Rows()):
                samples.append((session.sample.id, session.repeat + 1))
        return samples

    def frames(self) -> Sequence[Any]:
        """See `Connector`."""
        sample = self._open().sample
        return sample.frames if isinstance(sample, VideoSample) else ()

    def advance(self) -> CurrentSample | None:
        """Open the next unfinished sample; return None if there is none.

        Raises:
            StoreError: an earlier error stopped the session before its last sample.
        """
        opened = next(self._samples, None)
        if opened is None and self._run.pending():
            raise StoreError(
                f"{self._run.path}: an error stopped this session before its end; start it again to continue"
            )
        return opened

    def ask(self) -> Scribbles | None:
        """See `Connector`."""
        session = self._open()
        try:
            dialogue = session.next()
        except InvalidInput as error:
            session.fail(str(error))
            _warn_of_skipped(session.sample.id, error)
            return None
        if dialogue is None:
            if session.is_late:
                self._note(session, is_over=True)
            return None
        return self._scribbles(session)

    def spend(self, seconds: float) -> None:
        """See `Connector`."""
        self._open().spend(seconds)

    def give_up(self, seconds: float) -> bool:
        """See `Connector`."""
        session = self._open()
        if not session.is_late_after(seconds):
            return False
        session.submit(np.zeros(session.sample.shape, dtype=np.uint8), seconds)
        self._note(session, seconds=seconds, candidates=None, is_taken=False)
        return True

    def submit(
        self,
        masks: Mask | Labels,
        *,
        seconds: float,
        candidates: Sequence[int] | None,
    ) -> bool:
        """See `Connector`; the prediction is on disk when this returns, or `StoreError` is raised."""
        session = self._open()
        labels = cast_object_ids(masks, session.target.objects)
        # None, because the participant did not restrict the frames: the robot may choose any.
        frames = None if candidates is None else tuple(candidates)
        # A late prediction does not count, but is recorded.
        before = session.answered
        session.submit(Prediction(labels, candidates=frames), seconds)
        is_taken = session.answered > before
        self._note(session, seconds=seconds, candidates=frames, is_taken=is_taken)
        if is_taken:
            self._report_last(session)
        return is_taken

    def report(self) -> pl.DataFrame:
        """Return the report so far."""
        return pl.concat(self._tables)

    def summary(self) -> dict[str, Any]:
        """Return the summary of the predictions so far, and under "segarena" the conditions of the session."""
        rules = self.rules
        options = rules.options
        scores = sample_scores(self.report(), METRIC_COLUMNS[options["metric"]])
        answered = {(score.sequence, score.scribble_idx) for score in scores}
        for key, objects in self._begun.items():
            if key not in answered:
                scores.append(unanswered(*key, objects))
        horizon = CurveEnd(
            seconds_per_object=options["seconds_per_object"],
            protocol=parse_protocol(rules.protocol),
        )
        rounds = None if rules.rounds == BY_TIME_ALONE else rules.rounds
        # The published summary counts samples that were never reached as failed.
        not_run = self._not_run() if horizon.protocol == "published" else ()
        summary = video_summary(scores, rounds=rounds, horizon=horizon, not_run=not_run)
        conditions = {
            "session_id": self.session_id,
            "protocol": rules.protocol,
            "robot": robot_text(options),
            "samples": summary.samples,
            "sequences_run": len({sequence for sequence, _ in self._begun}),
            "sequences": len(self._run.samples),
        }
        return {**summary.to_json(options["metric"]), "segarena": conditions}

    def finish(self) -> None:
        """Close the report and the run."""
        finish(self._run)
        self._file.finish()

    def close(self) -> None:
        """Release the folder; the session can be resumed."""
        self._resources.close()

    def _open(self) -> Session:
        if self._session is None:
            raise InvalidInput("no sample is open; call advance() first")
        return self._session

    def _each_sample(self) -> Iterator[CurrentSample]:
        pending = set(self._run.pending())
        for index in self._order:
            if index not in pending:
                continue
            rows = Rows()
            for session in self._sessions(self._run.samples[index], rows):
                self._session = session
                earlier = self._replay(session)
                if not session.is_over:
                    yield CurrentSample(
                        sequence=session.sample.id,
                        scribble_idx=session.repeat + 1,
                        shape=session.sample.shape,
                        objects=session.target.objects,
                        earlier=earlier,
                    )
                rows.extend(session.rows())
            self._run.write(index, rows)

    def _sessions(self, sequence: str, rows: Rows) -> list[Session]:
        try:
            sample = load_sample(self._cast.dataset, sequence)
            if not isinstance(sample, VideoSample) or len(sample.targets) != 1:
                raise InvalidInput(
                    f"sample {sequence}: expected a video with one target that contains all objects"
                )
            return open_sessions(self._cast, sample, self._clock)
        except (DatasetError, InvalidInput) as error:
            rules = self._cast.rules
            rows.records.append(failed_sample(rules.benchmark, rules.dataset, sequence, str(error)))
            _warn_of_skipped(sequence, error)
            return []

    def _replay(self, session: Session) -> tuple[Scribbles, ...]:
        """Replay the journal's predictions for a sample; return the scribbles to which they responded."""
        answered: list[Scribbles] = []
        for entry in self._entries.pop((session.sample.id, session.repeat + 1), ()):
            if entry["is_over"]:
                session.is_over = True
                break
            # The predictions were submitted in time, so a replay must not check the time limit
            # again.
            session.spent_s = -math.inf
            if session.next() is None:
                raise StoreError(
                    f"{self._run.path}: the journal of {session.sample.id} does not fit this session; "
                    "use another folder"
                )
            if not entry["is_taken"]:
                session.spent_s = math.inf
                session.submit(np.zeros(session.sample.shape, dtype=np.uint8), entry["seconds"])
                break
            answered.append(self._scribbles(session))
            try:
                session.submit(decode_answer(entry, session.sample.shape), entry["seconds"])
            except (InvalidInput, PredictionInvalid) as error:
                place = f"{self._run.path}: the journal entries for {session.sample.id}"
                raise StoreError(f"{place} are damaged ({error}); use another folder") from error
            session.spent_s = entry["spent_s"]
            self._report_last(session)
        return tuple(answered)

    def _note(self, session: Session, **answer: Any) -> None:
        self._journal.add(make_submission(session, **answer))
        key = (session.sample.id, session.repeat + 1)
        self._begun.setdefault(key, session.target.objects)

    def _scribbles(self, session: Session) -> Scribbles:
        """Return the last prompts in the form of a scribble file; people's scribbles are unchanged."""
        sample = session.sample
        rounds = session.dialogue.rounds
        people = sample.scribbles if isinstance(sample, VideoSample) else ()
        if people and len(rounds) == 1:
            # People's files are returned as read, because a conversion to pixels and back could
            # change their fractions.
            return copy.deepcopy(dict(people[session.repeat]))
        name = people[session.repeat]["sequence"] if people else sample.id
        fractions = fractions_of_round(len(rounds), self.rules.protocol)
        return scribbles_from_prompts(rounds[-1], sample.shape, name, fractions=fractions)

    def _report_last(self, session: Session) -> None:
        """Add the rows of the last prediction to the report and its file."""
        rows = session.rows()
        parts = table_frame("parts", [row for row in rows.parts if row.round == session.answered])
        timings = table_frame(
            "timings", [row for row in rows.timings if row.round == session.answered]
        )
        table = report_table(parts, timings, self.session_id)
        self._tables.append(table)
        self._file.add(table)

    def _unfinished_entries(self) -> dict[tuple[str, int], list[Submission]]:
        """Return the journal's entries for sequences that are not written yet, by sample."""
        # Written sequences are already evaluated; only the entries of the others are replayed.
        pending = {self._run.samples[index] for index in self._run.pending()}
        unfinished: dict[tuple[str, int], list[Submission]] = {}
        for entry in self._journal.take_entries():
            key = (entry["sequence"], entry["scribble_idx"])
            self._begun[key] = entry["objects"]
            if entry["sequence"] in pending:
                unfinished.setdefault(key, []).append(entry)
        return unfinished

    def _finished_table(self) -> pl.DataFrame:
        """Return the report of the finished sequences."""
        return report_table(self._run.parts(), self._run.timings(), self.session_id)

    def _not_run(self) -> list[SampleScore]:
        """Return scores for the samples that were not started."""
        begun = {sequence for sequence, _ in self._begun}
        pending = set(self._run.pending())
        scores: list[SampleScore] = []
        for index in range(len(self._run.samples)):
            sequence = self._run.samples[index]
            # Loading a video only to count its objects is slow, so completed sequences are skipped.
            if sequence in begun and index not in pending:
                continue
            for session in self._sessions(sequence, Rows()):
                key = (sequence, session.repeat + 1)
                if key not in self._begun:
                    scores.append(unanswered(*key, session.target.objects))
        return scores


def _warn_of_skipped(sequence: str, error: Exception) -> None:
    warnings.warn(f"sequence {sequence} is skipped: {error}", stacklevel=5)
