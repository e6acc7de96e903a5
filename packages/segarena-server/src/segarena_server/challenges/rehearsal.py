"""Rehearsals: a segmenter takes part in a challenge within this process.

A rehearsal shows the organiser what participants will see.

Samples, prompts and masks are encoded and decoded as for the network.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from segarena.engine.evaluate import finish
from segarena.engine.lockstep_dialogues import RunCast, run_sample
from segarena.engine.plan import time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.errors import SegarenaError
from segarena.plugin_spec import PluginSpec
from segarena.protocol.sample_serialization import unpack_sample
from segarena.roles import Finding, Segmenter
from segarena.samples import Sample
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.leak_meter import Leak
from segarena_server.challenges.local_participant import LocalExchange, LocalSession
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.challenges.sample_pool import ProgressContext
from segarena_server.dialogue_status import DialogueStatus

_IMAGE_SEGMENTER = "graph"
_SEGMENTERS = {"video": "colour-flow", "volume": "random-walker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRehearsal:
    """The rehearsal of one sample.

    Attributes:
        sample: name of the sample, which participants never see.
        sample_bytes: size of the sample, which a participant downloads once.
        bytes_down, bytes_up: total size of all prompts and of all answers.
        turns: number of turns.
        seconds: duration on this machine, including the segmenter.
        charged_s: seconds charged for the answers.
        judged: status of each dialogue after each turn.
        given: the sent prompts, in the format in which the server stores them for a team.
        exchanged: the turns and their results.
        leaks: how much the prompts reveal of each target, by target id.
    """

    sample: str
    sample_bytes: int
    bytes_down: int
    bytes_up: int
    turns: int
    seconds: float
    charged_s: float
    judged: Sequence[DialogueStatus]
    given: Sequence[bytes]
    exchanged: Sequence[tuple[ChargedTurn, EvaluationResult]] = field(repr=False)
    leaks: Mapping[str, Leak]


def default_segmenter(challenge: ChallengeDescription) -> str:
    """Return a segmenter without weights that accepts the samples and prompts of a challenge.

    If the benchmark cannot be built, return "graph": the rehearsal then reports the reason.
    """
    try:
        rules = participant_plan(challenge, challenge.phases[0]).benchmark
    except SegarenaError:
        return _IMAGE_SEGMENTER
    if any(user.reference == "support" for user in rules.users):
        return "superpixel-prototypes"
    return _SEGMENTERS.get(rules.sample_kind, _IMAGE_SEGMENTER)


class Rehearsal:
    """Runs of a segmenter in a phase of a challenge.

    Args:
        challenge: description of the challenge.
        phase: name of the phase.
        segmenter: as in `segarena run -s`, or an object.
        answer_s: time limit of one answer; None for the limit of an ordinary run.

    Raises:
        SegarenaError: the challenge cannot be built, or the segmenter does not fit it.
    """

    def __init__(
        self,
        challenge: ChallengeDescription,
        phase: str,
        segmenter: str | Segmenter,
        answer_s: float | None = None,
    ) -> None:
        plan = participant_plan(challenge, challenge.phase(phase))
        if answer_s is not None:
            plan = replace(plan, time_limit_s=answer_s)
        if isinstance(segmenter, str):
            self._name = segmenter
            self._cast = replace(plan, segmenter=PluginSpec.of(segmenter)).cast()
        else:
            self._name = type(segmenter).__name__
            self._cast = replace(plan, segmenter=segmenter).cast()
        self._limit = time_limit_of(plan)
        self._phase = phase
        self.evaluator = Evaluator(challenge)

    def rehearse(
        self,
        samples: Sequence[str],
        folder: Path,
        progress: ProgressContext = lambda done, of: nullcontext(),
    ) -> tuple[RunFolder, list[SampleRehearsal]]:
        """Rehearse a run about some samples of the pool.

        Args:
            samples: names of the samples.
            folder: folder for the run.
            progress: context of each sample.

        Returns:
            The run folder as a server would write it, and the rehearsal of each sample.

        Raises:
            StoreError: the folder is not writable, or contains other files.
        """
        run = RunInfo(
            id=str(uuid.uuid4()),
            phase=self._phase,
            name=self._name,
            samples=tuple(samples),
        )
        run_folder = self.evaluator.open_folder(folder, run)
        rehearsed: list[SampleRehearsal] = []
        spent_s = 0.0
        with run_folder.lock():
            for place in run_folder.pending():
                with progress(place, len(samples)):
                    sample, rows = self.rehearse_sample(run, place, spent_s=spent_s)
                run_folder.write(place, rows)
                rehearsed.append(sample)
                spent_s += sample.charged_s
            finish(run_folder)
        return run_folder, rehearsed

    def rehearse_sample(
        self,
        run: RunInfo,
        place: int,
        past: tuple[bytes, ...] = (),
        spent_s: float = 0.0,
    ) -> tuple[SampleRehearsal, Rows]:
        """Rehearse all dialogues about one sample of a run.

        Args:
            run: a run whose samples are from the pool.
            place: index of the sample in the run.
            past: prompts that the team received about the sample in earlier runs.
            spent_s: seconds charged for other samples of the run.

        Returns:
            The rehearsal, and the rows for the folder of the run.
        """
        started = time.perf_counter()
        name = run.samples[place]
        packed = self.evaluator.sample(self._phase, name)
        exchange = LocalExchange(self.evaluator, run, place, len(packed.dialogues), past, spent_s)

        def open_local_sessions(_: RunCast, sample: Sample) -> list[LocalSession]:
            return [
                LocalSession(exchange, number, sample, described)
                for number, described in enumerate(packed.dialogues)
            ]

        sample = unpack_sample(packed.body, key=str(place + 1))
        cast = replace(self._cast, dataset=_SingleSample(sample))
        run_sample(cast, sample.id, self._limit, opening=open_local_sessions)
        results = exchange.results
        rows = results[-1].rows if results else None
        given = [result.given for result in results if result.given]
        judged: list[DialogueStatus] = []
        for result in results:
            judged += result.judged
        rehearsed = SampleRehearsal(
            sample=name,
            sample_bytes=len(packed.body),
            bytes_down=exchange.bytes_down,
            bytes_up=exchange.bytes_up,
            turns=len(results),
            seconds=time.perf_counter() - started,
            charged_s=exchange.charged_s,
            judged=judged,
            given=given,
            exchanged=tuple(zip(exchange.turns, results, strict=True)),
            leaks=self.evaluator.leaks(self._phase, name, [*past, *given]),
        )
        return rehearsed, rows or Rows()


class _SingleSample:
    """A dataset of the one sample that a participant has downloaded."""

    name = "fetched"
    fingerprint = ""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.sample_ids = (sample.id,)

    def load(self, sample_id: str) -> Sample:
        """Return the sample."""
        return self._sample

    def check(self) -> Sequence[Finding]:
        """Return no findings."""
        return ()
