"""A rehearsal: a segmenter takes part in a challenge within this process; its organiser sees what people will see.

All that participants get travels as it will: samples, prompts and masks are packed and unpacked.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from segarena.engine.evaluate import finish
from segarena.engine.lockstep import RunCast, run_sample
from segarena.engine.rows import Rows
from segarena.engine.sample_job import time_limit_of
from segarena.engine.store import RunFolder
from segarena.protocol.samples import unpack_sample
from segarena.roles import Finding, Segmenter
from segarena.samples import Sample
from segarena.specs import PluginSpec
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    DialogueStatus,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.leak_meter import Leak
from segarena_server.challenges.local_participant import LocalExchange, LocalSession
from segarena_server.challenges.run_plan import participant_plan

ProgressContext = Callable[[int, int], AbstractContextManager[object]]
"""What a sample is held within, given how many were before it and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRehearsal:
    """What came of one sample.

    Attributes:
        sample: its name, which participants never see.
        sample_bytes: that a participant fetches once.
        bytes_down, bytes_up: of prompts and answers.
        turns: how many there were.
        seconds: that all of it took here, the segmenter too.
        charged_s: for the answers.
        judged: where each dialogue stood after each turn.
        given: the prompts that were given, as they are kept for a team.
        exchanged: the turns, and what came of each.
        leaks: what these give away of each target, to whoever never looks at the sample.
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


class Rehearsal:
    """A run of a segmenter at a challenge.

    Args:
        challenge: as described.
        phase: its name.
        segmenter: as written for `segarena run -s`, or an object.
        answer_s: what one answer may take, in place of what a run of one's own gives it.

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
        plan = plan if answer_s is None else replace(plan, time_limit_s=answer_s)
        built = PluginSpec.of(segmenter) if isinstance(segmenter, str) else segmenter
        self._cast = replace(plan, segmenter=built).cast()
        self._limit = time_limit_of(plan)
        self._phase = phase
        self._name = segmenter if isinstance(segmenter, str) else type(segmenter).__name__
        self.evaluator = Evaluator(challenge)

    def hold(
        self,
        samples: Sequence[str],
        folder: Path,
        watch: ProgressContext = lambda done, of: nullcontext(),
    ) -> tuple[RunFolder, list[SampleRehearsal]]:
        """Hold a run about some samples of the pool; return its folder as a server has it, and what came of each.

        Args:
            samples: their names.
            folder: where the run is kept.
            watch: what each sample is held within.

        Raises:
            StoreError: the folder cannot be written, or holds something else.
        """
        run = RunInfo(
            id=str(uuid.uuid4()), phase=self._phase, name=self._name, samples=tuple(samples)
        )
        opened = self.evaluator.open_folder(folder, run)
        found: list[SampleRehearsal] = []
        with opened.lock():
            for place in opened.pending():
                with watch(place, len(samples)):
                    one, rows = self.hold_place(
                        run, place, spent_s=sum(each.charged_s for each in found)
                    )
                opened.write(place, rows)
                found.append(one)
            finish(opened)
        return opened, found

    def hold_place(
        self, run: RunInfo, place: int, past: tuple[bytes, ...] = (), spent_s: float = 0.0
    ) -> tuple[SampleRehearsal, Rows]:
        """Hold all dialogues about one sample of a run; return what came of it, and the rows of the run's folder.

        Args:
            run: any; its samples are of the pool.
            place: which of them.
            past: what the team was given before about it.
            spent_s: what the run was charged before, about other samples.
        """
        started = time.perf_counter()
        pooled = self.evaluator.sample(self._phase, run.samples[place])
        exchange = LocalExchange(self.evaluator, run, place, len(pooled.dialogues), past, spent_s)

        def opening(_: RunCast, sample: Sample) -> list[LocalSession]:
            return [
                LocalSession(exchange, number, sample, told)
                for number, told in enumerate(pooled.dialogues)
            ]

        sample = unpack_sample(pooled.body, key=str(place + 1))
        run_sample(
            replace(self._cast, dataset=_Fetched(sample)), sample.id, self._limit, opening=opening
        )
        rows = exchange.steps[-1].rows if exchange.steps else None
        given = [step.given for step in exchange.steps if step.given]
        told = SampleRehearsal(
            sample=run.samples[place],
            sample_bytes=len(pooled.body),
            bytes_down=exchange.bytes_down,
            bytes_up=exchange.bytes_up,
            turns=len(exchange.steps),
            seconds=time.perf_counter() - started,
            charged_s=exchange.charged_s,
            judged=[judged for step in exchange.steps for judged in step.judged],
            given=given,
            exchanged=tuple(zip(exchange.turns, exchange.steps, strict=True)),
            leaks=self.evaluator.leaks(self._phase, run.samples[place], [*past, *given]),
        )
        return told, rows or Rows()


class _Fetched:
    """A dataset of the one sample that was fetched."""

    name = "fetched"
    fingerprint = ""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.sample_ids = (sample.id,)

    def load(self, sample_id: str) -> Sample:
        """Return the sample."""
        return self._sample

    def check(self) -> Sequence[Finding]:
        """Return nothing."""
        return ()
