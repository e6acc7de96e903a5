"""Views of a run's samples, limited to the visitor's access rights, read from the database."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server import http_errors
from segarena_server.challenges.challenge_repository import cached_info, description_of
from segarena_server.challenges.dialogue_rendering import RenderedDialogue, RenderedSample
from segarena_server.challenges.dialogue_views import ExchangeLog, PublicDialogue
from segarena_server.challenges.turn_time_accounting import NOTABLE_EXCESS_S, TimeCharge
from segarena_server.db.orm_models import Challenge, PooledSample, Run, RunSample, Turn
from segarena_server.dialogue_status import DialogueStatus
from segarena_server.runs.delayed_replies import delayed_turns
from segarena_server.runs.evaluation_requests import evaluation_request
from segarena_server.runs.image_cache import image_cache
from segarena_server.runs.image_rendering import OrganiserRendering, ParticipantRendering, Rendering
from segarena_server.runs.run_views import (
    DialogueView,
    RoundView,
    SampleSummary,
    SampleView,
    TurnView,
    Visibility,
)
from segarena_server.runs.turn_repository import WITHOUT_BODIES
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body

SAMPLES_PER_PAGE = 100
_IMAGES_PER_PAGE = 8
_STACKS_PER_PAGE = 2
"""Number of dialogues per page. A photograph is one image; a volume or a video consists of many."""


def list_samples(
    session: Session,
    run: Run,
    visibility: Visibility,
    page: int,
    delayed: Collection[tuple[str, int]] = (),
) -> list[SampleSummary]:
    """Return one page of the samples of a run.

    Args:
        session: a session for reading.
        run: run with the samples.
        visibility: access rights of the visitor.
        page: number of the page, from 1.
        delayed: run id and sample index of withheld replies, whose samples look open.
    """
    of_run = select(RunSample).where(RunSample.run_id == run.id).order_by(RunSample.number)
    first = (page - 1) * SAMPLES_PER_PAGE
    rows = list(session.scalars(of_run.limit(SAMPLES_PER_PAGE).offset(first)))
    is_apart = (Turn.number > 0) & (Turn.charged_s - Turn.client_s > NOTABLE_EXCESS_S)
    is_fault = Turn.state.in_(("refused", "dead"))
    totals_of_page = (
        select(
            Turn.place,
            func.count(),
            func.sum(Turn.charged_s),
            func.sum(Turn.client_s),
            func.sum(case((is_apart, 1), else_=0)),
            func.sum(case((is_fault, 1), else_=0)),
        )
        .where(Turn.run_id == run.id, Turn.place.in_([row.number for row in rows]))
        .group_by(Turn.place)
    )
    totals = {row[0]: row[1:] for row in session.execute(totals_of_page)}
    summaries: list[SampleSummary] = []
    for row in rows:
        turns, charged_s, client_s, apart, faults = totals.get(row.number, (0, 0.0, 0.0, 0, 0))
        is_delayed = (run.id, row.number) in delayed
        summaries.append(
            SampleSummary(
                number=row.number + 1,
                sample=row.sample if visibility.is_organiser else "",
                state="open" if is_delayed else row.state,
                turns=turns,
                charged_s=charged_s,
                client_s=client_s,
                apart=apart,
                faults=faults,
            )
        )
    return summaries


class SampleViewBuilder:
    """Builds the view of one sample of a run for a visitor.

    Args:
        session: a session for reading.
        site: site of the run.
        run: run of the sample.
        sample: row of the sample.
        visibility: access rights of the visitor.
        page: page of its dialogues, from 1.

    Attributes:
        pages: number of pages of dialogues.
        numbers: indices of the dialogues on this page.
    """

    def __init__(
        self,
        session: Session,
        site: Site,
        run: Run,
        sample: RunSample,
        visibility: Visibility,
        page: int,
    ) -> None:
        self._site = site
        self._run = run
        self._sample = sample
        self._visibility = visibility
        self._challenge = session.get_one(Challenge, run.challenge_id)
        self._described = self._described_dialogues(session)
        of_sample = select(Turn).where(Turn.run_id == run.id, Turn.place == sample.number)
        ordered = of_sample.order_by(Turn.number).options(*WITHOUT_BODIES)
        self._turns = list(session.scalars(ordered))
        self._delayed: Turn | None = None
        if not visibility.is_organiser:
            delayed = delayed_turns(session, [run.id], site.now())
            self._delayed = delayed.get((run.id, sample.number))
        self._done = [
            turn for turn in self._turns if turn.state == "done" and turn is not self._delayed
        ]
        per_page = self._dialogues_per_page()
        count = len(self._described)
        self.pages = max(1, -(-count // per_page))
        self.numbers = tuple(range(count)[(page - 1) * per_page : page * per_page])

    def _described_dialogues(self, session: Session) -> list[PublicDialogue]:
        of_sample = select(PooledSample.dialogues).where(
            PooledSample.challenge_id == self._challenge.id,
            PooledSample.pool == self._run.pool,
            PooledSample.sample == self._sample.sample,
        )
        stored = session.scalar(of_sample.limit(1)) or "[]"
        return msgspec.convert(json.loads(stored), list[PublicDialogue])

    def _dialogues_per_page(self) -> int:
        info = cached_info(self._challenge.description)
        kinds = {phase.name: phase.sample_kind for phase in info.phases}
        return _IMAGES_PER_PAGE if kinds[self._run.phase] == "image" else _STACKS_PER_PAGE

    def shown(self, wait_s: float) -> SampleView:
        """Return the view, with images if rendering takes at most `wait_s` seconds.

        Raises:
            Refusal: too many images await rendering.
        """
        rendered, problem = self._rendered(wait_s)
        by_number: dict[int, RenderedDialogue] = {}
        if rendered:
            by_number = {dialogue.number: dialogue for dialogue in rendered.dialogues}
        statuses = self._statuses()
        dialogues = [
            self._dialogue(number, statuses[number], by_number.get(number))
            for number in self.numbers
        ]
        columns: dict[str, None] = {}
        for dialogue in dialogues:
            for round_ in dialogue.rounds:
                columns.update(dict.fromkeys(round_.values))
        return SampleView(
            number=self._sample.number + 1,
            sample=self._sample.sample if self._visibility.is_organiser else "",
            state="open" if self._delayed else self._sample.state,
            turns=[self._turn(turn) for turn in self._turns],
            dialogues=dialogues,
            pages=self.pages,
            columns=list(columns),
            has_truth=self._visibility.has_truth,
            is_drawing=rendered is None and not problem and bool(self._done),
            problem=problem,
        )

    def _rendered(self, wait_s: float) -> tuple[RenderedSample | None, str]:
        """Return the rendered dialogues if available, and the reason if rendering failed."""
        if not self._done or not self.numbers:
            return None, ""
        visibility = self._visibility
        if visibility.has_truth:
            variant = ("judged", self._decimals())
        else:
            variant = ("heard",)
        last_digest = self._done[-1].digest
        cache_key = (*variant, self._run.id, self._sample.number, last_digest, self.numbers)
        try:
            content = image_cache(self._site).picture(cache_key, self._rendering, wait_s)
        except http_errors.Refusal:
            raise
        except SegarenaError as error:
            return None, str(
                error
            ) if visibility.is_organiser else "These rounds cannot be rendered."
        if not content:
            return None, ""
        return msgspec.json.decode(content, type=RenderedSample), ""

    def _decimals(self) -> int | None:
        return None if self._visibility.is_organiser else self._visibility.decimals

    def _rendering(self) -> Rendering:
        """Return the input of the rendering process; called only if the images are not cached."""
        site = self._site
        run = self._run
        sample = self._sample
        if self._visibility.has_truth:
            with site.database.reading() as session:
                request = evaluation_request(session, self._challenge, run, sample)
            return OrganiserRendering(
                job=request,
                numbers=self.numbers,
                decimals=self._decimals(),
            )
        done = select(Turn.request, Turn.response).where(
            Turn.run_id == run.id,
            Turn.place == sample.number,
            Turn.state == "done",
            # The reply to a later turn may still be withheld.
            Turn.number <= self._done[-1].number,
        )
        with site.database.reading() as session:
            stored = session.execute(done.order_by(Turn.number)).all()
        turns = [
            (decompress_body(request), decompress_body(response or b""))
            for request, response in stored
        ]
        exchanged = ExchangeLog(
            challenge=description_of(self._challenge),
            phase=run.phase,
            sample=site.folder.samples.read(sample.sha256),
            dialogues=tuple(self._described),
            turns=tuple(turns),
        )
        return ParticipantRendering(exchanged=exchanged, numbers=self.numbers)

    def _turn(self, turn: Turn) -> TurnView:
        is_organiser = self._visibility.is_organiser
        is_server_fault = turn.state in ("waiting", "leased", "dead")
        is_late = False
        if turn in self._done:
            is_late = any(status.is_late for status in turn.judged)
        charge = TimeCharge(seconds=turn.charged_s)
        return TurnView(
            number=turn.number,
            state="leased" if turn is self._delayed else turn.state,
            received_at=turn.received_at,
            charged_s=turn.charged_s,
            client_s=turn.client_s,
            round_trip_s=turn.round_trip_s,
            # The duration of an evaluation reveals some of the answer, and a server fault some of
            # the sample.
            evaluated_s=turn.evaluated_s if is_organiser and turn.done_at else None,
            is_apart=turn.number > 0 and charge.is_apart(turn.client_s),
            is_late=is_late,
            is_sure=turn.is_sure,
            failure=turn.failure if is_organiser or not is_server_fault else "",
        )

    def _statuses(self) -> Mapping[int, list[tuple[int, DialogueStatus]]]:
        """Return the statuses of each dialogue by its index, each with the number of the turn that led to it."""
        found: defaultdict[int, list[tuple[int, DialogueStatus]]] = defaultdict(list)
        for turn in self._done:
            for status in turn.judged:
                found[status.number].append((turn.number, status))
        return found

    def _dialogue(
        self,
        number: int,
        statuses: Sequence[tuple[int, DialogueStatus]],
        rendered: RenderedDialogue | None,
    ) -> DialogueView:
        described = self._described[number]
        is_organiser = self._visibility.is_organiser
        target = f"target {described.target}"
        user = described.user
        if is_organiser:
            if statuses:
                _, last = statuses[-1]
                target = last.target
                user = last.user
            else:
                target = described.target
            if rendered and rendered.name not in ("", target):
                target = f"{rendered.name} ({target})"
        return DialogueView(
            number=number + 1,
            target=target,
            user=user,
            repeat=described.repeat,
            state=self._state(statuses),
            rounds=list(_rounds(statuses, rendered, knows_end=is_organiser)),
            viewer=rendered.viewer if rendered else "",
        )

    def _state(self, statuses: Sequence[tuple[int, DialogueStatus]]) -> str:
        if not statuses:
            return "not started"
        _, last = statuses[-1]
        if self._visibility.is_organiser:
            if last.failure:
                return f"failed: {last.failure}"
        elif last.failure or last.is_given_up:
            return "failed"
        if last.is_late:
            return "over: out of time"
        return "over" if last.is_over else "waiting for an answer"


def _rounds(
    statuses: Sequence[tuple[int, DialogueStatus]],
    rendered: RenderedDialogue | None,
    *,
    knows_end: bool,
) -> Iterator[RoundView]:
    """Yield the rounds of a dialogue; a turn may complete several, of which the participant answered only the first.

    Args:
        statuses: statuses of the dialogue after each turn; the first turn only opened it.
        rendered: its prompts and metrics; None until they are rendered.
        knows_end: whether the visitor may know where the rules ended the dialogue. To others, rounds of an earlier run
            that were repeated afterwards look like the rest.
    """
    rendered_rounds = rendered.rounds if rendered else []
    rounds_before = 0
    for place, (turn, status) in enumerate(statuses):
        rounds = status.rounds if knows_end else status.heard
        replayed = status.replayed if knows_end else status.repeated
        for number in range(rounds_before + 1, rounds + 1):
            is_answered = place > 0 and number == rounds_before + 1
            shown = rendered_rounds[number - 1] if number <= len(rendered_rounds) else None
            yield RoundView(
                number=number,
                turn=turn if is_answered else None,
                seconds=status.seconds if is_answered else None,
                note="with prompts of an earlier run" if number <= replayed else "",
                prompts=None if shown is None else shown.prompts or ["no prompts"],
                values={} if shown is None else shown.values,
            )
        if status.is_late:
            yield RoundView(
                number=rounds + 1,
                turn=turn,
                seconds=status.seconds,
                note="too late: dropped",
                prompts=None,
                values={},
            )
        rounds_before = rounds
