"""Submitted run folders, evaluated again from their masks and failures; their metrics are ignored.

The users' prompts follow from the seed and the answers. Replayed with the masks of the folder, each
dialogue must lead to the prompts in the folder. If it does not, the run used other rules or other
data, or was edited. Durations come from the folder, because the server cannot measure them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from segarena.arrays.rle import decode_rle
from segarena.dialogue import Dialogue, Prediction
from segarena.engine.lockstep_dialogues import (
    RunCast,
    load_sample,
    open_sessions,
    prepare_shared_work,
    repeat_previous,
    request_prompts,
    submit_answer,
)
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.engine.run_integrity import check_run
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidInput, SegarenaError
from segarena.records.plugin_trust import restrict_plugins
from segarena.records.prompts import prompts_text
from segarena.reports.wording import count_text
from segarena.samples import Labels, Mask, Shape

_KEY = ["target", "user", "repeat"]
_Key: TypeAlias = tuple[str, str, int]
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RejudgedSample:
    """A sample after its second evaluation.

    Attributes:
        rows: rows of its dialogues.
        faults: differences between the folder and the replayed dialogues, one line each; at most
            `_MOST_FAULTS`.
    """

    rows: Rows
    faults: tuple[str, ...]


def run_faults(
    path: Path,
    plan: Plan,
    samples: Sequence[str],
) -> list[str]:
    """Return why a folder cannot be evaluated as a run of a plan, one line each; build no plug-ins from the folder.

    Args:
        path: path of the folder.
        plan: plan of runs in the phase.
        samples: samples that a run of the phase must contain.
    """
    try:
        with restrict_plugins(trust=False):
            found = [one.message for one in check_run(path) if one.is_error]
            return [
                each.replace(f"{path}/", "").replace(str(path), "the run") for each in found
            ] or list(_differences(RunFolder.open(path), plan, samples))
    except SegarenaError as error:
        return [str(error).replace(f"{path}/", "").replace(str(path), "the run")]


def _differences(
    folder: RunFolder,
    plan: Plan,
    samples: Sequence[str],
) -> Iterator[str]:
    has = folder.config
    rules = plan.benchmark
    expected = {
        "benchmark": (has.benchmark.name, rules.name),
        "options of the benchmark": (dict(has.benchmark.options), dict(rules.options)),
        "rounds": (has.rounds, rules.rounds),
        "repeats": (has.repeats, plan.repeats),
        "seed": (has.seed, plan.seed),
        "users": ([user.written for user in has.users], [user.name for user in rules.users]),
    }
    for what, (there, here) in expected.items():
        if there != here:
            yield f"{what}: expected {here}, got {there}"
    if has.segmenter.sees_truth:
        yield "the segmenter had access to the ground truth"
    missing = [name for name in samples if name not in folder.samples]
    if missing:
        yield f"missing samples: {len(missing)} of {len(samples)}, such as {missing[0]}"
    elif any(folder.samples.index(name) in {*folder.pending()} for name in samples):
        yield "the run is not finished"
    elif not {*range(1, rules.rounds)} <= {*has.keep_rounds}:
        yield f"expected masks of all rounds; run again with segarena run ... --keep-rounds {rules.rounds}"


class SubmittedRun:
    """A submitted run folder.

    Args:
        path: path of the folder, already checked by `run_faults`.
    """

    def __init__(self, path: Path) -> None:
        with restrict_plugins(trust=False):
            self._folder = RunFolder.open(path)

    def rejudge(
        self,
        name: str,
        cast: RunCast,
        limit: TimeLimit,
    ) -> RejudgedSample:
        """Replay all dialogues about a sample with the folder's answers.

        Args:
            name: name of the sample.
            cast: users and metrics; its segmenter is not used.
            limit: time limit of each call of a user or a metric.

        Raises:
            SegarenaError: the sample is unusable.
        """
        place = {self._folder.samples.index(name)}
        tables = {
            table: self._folder.read(table, only=place) for table in ("records", "masks", "timings")
        }
        sample = load_sample(cast.dataset, name)
        rows = Rows()
        faults = list[str]()
        for session in open_sessions(cast, sample, clock=lambda: 0.0):
            faults += _RecordedDialogue(tables, session, limit).replay()
            rows.extend(session.rows())
        asked = {
            (session.target.id, session.user_name, session.repeat)
            for session in open_sessions(cast, sample)
        }
        unknown = set(tables["records"].select(_KEY).iter_rows()) - asked
        faults += [
            f"sample {name}: unexpected dialogue about target {key[0]} with user {key[1]}"
            for key in unknown
        ]
        return RejudgedSample(rows=rows, faults=tuple(faults[:_MOST_FAULTS]))


class _RecordedDialogue:
    """One dialogue in a submitted folder, and its replay."""

    def __init__(
        self,
        tables: Mapping[str, pl.DataFrame],
        session: Session,
        limit: TimeLimit,
    ) -> None:
        key = {"target": session.target.id, "user": session.user_name, "repeat": session.repeat}
        own = {
            name: table.filter(**key).sort("round", maintain_order=True)
            for name, table in tables.items()
        }
        self._rounds = {row["round"]: row for row in own["records"].iter_rows(named=True)}
        self._masks = {number: group for (number,), group in own["masks"].group_by(["round"])}
        self._seconds = dict(own["timings"].select("round", "predict_s").iter_rows())
        self._session = session
        self._limit = limit

    def replay(self) -> list[str]:
        """Replay the dialogue; return the first difference from the folder as a list of one line, or [] for none.

        Rounds after a difference are not comparable.
        """
        session = self._session
        where = f"{self._session.name}, {self._session.user_name}"
        while not session.is_over:
            prepare_shared_work([session], self._limit)
            dialogue = request_prompts(session, self._limit)
            if dialogue is None:
                break
            number = len(dialogue.rounds)
            if fault := self._answer(dialogue, number):
                session.fail(fault)
                return [f"{where}, round {number}: {fault}"]
        further = [number for number in self._rounds if number > len(session.dialogue.rounds)]
        if further:
            return [
                f"{where}: has {count_text(len(further), 'round')} after the end of the dialogue"
            ]
        return []

    def _answer(self, dialogue: Dialogue, number: int) -> str:
        """Answer a round as the folder does; return why that is impossible, or ""."""
        session = self._session
        told = self._rounds.get(number)
        late_s = self._seconds.get(number)
        if told is None:
            if late_s is not None and session.is_late_after(late_s):
                session.drop(late_s)
                return ""
            return "is missing from the run"
        if told["prompts"] != prompts_text(dialogue.rounds[-1]):
            return "its prompts differ from those of this server"
        if told["failure"] is not None:
            session.fail(f"failed in the run: {told['failure']}")
            return ""
        answer = repeat_previous(session) if not dialogue.rounds[-1] else self._mask(number)
        if answer is None:
            return "has no mask"
        submit_answer(session, self._limit, answer, late_s or 0.0)
        return session.failure

    def _mask(self, number: int) -> Prediction | None:
        kept = self._masks.get(number)
        session = self._session
        objects = self._session.target.objects
        if kept is None or kept["object"].to_list() != [*range(1, objects + 1)]:
            return None
        try:
            masks = [_decoded(row, session.sample.shape) for row in kept.iter_rows(named=True)]
        except InvalidInput:
            return None
        if session.target.mask.dtype == np.bool_:
            return Prediction(masks[0])
        labels: Labels = np.zeros(session.sample.shape, dtype=np.uint8)
        for label, mask in enumerate(masks, start=1):
            labels[mask] = label
        return Prediction(labels)


def _decoded(row: Mapping[str, Any], shape: Shape) -> Mask:
    if tuple(row["shape"]) != tuple(shape):
        raise InvalidInput("a mask of another shape")
    return decode_rle(row["rle"], tuple(shape))
