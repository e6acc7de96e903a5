"""Every round of a run, as far as whoever looks may see: its samples with their times, and the dialogues of one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server.challenges.challenge_repository import cached_info, description_of
from segarena_server.challenges.dialogue_rendering import RenderedDialogue, RenderedSample
from segarena_server.challenges.dialogue_views import DialogueInfo, ExchangeLog
from segarena_server.challenges.time_charge import NOTABLE_EXCESS_S, TimeCharge
from segarena_server.db.orm_models import Challenge, PooledSample, Run, RunSample, Turn
from segarena_server.http import http_errors
from segarena_server.jobs.turn_evaluation import evaluation_request
from segarena_server.runs.image_rendering import OrganiserRendering, ParticipantRendering, Rendering
from segarena_server.runs.run_views import (
    DialogueView,
    RoundView,
    SampleSummary,
    SampleView,
    TurnView,
    Visibility,
)
from segarena_server.site import Site
from segarena_server.storage.compression import unpack
from segarena_server.turns.delayed_replies import delayed_turns
from segarena_server.turns.turn_repository import WITHOUT_BODIES

SAMPLES_PER_PAGE = 100
_IMAGES_AT_ONCE = 8
_STACKS_AT_ONCE = 2
"""Dialogues on a page: a photograph is one picture, a volume or a video many."""


def list_samples(
    session: Session,
    run: Run,
    eyes: Visibility,
    page: int,
    untold: Collection[tuple[str, int]] = (),
) -> list[SampleSummary]:
    """Return a page of the samples of a run, the first page being 1; `untold` are those with a reply kept back."""
    wanted = select(RunSample).where(RunSample.run_id == run.id).order_by(RunSample.number)
    places = list(
        session.scalars(wanted.limit(SAMPLES_PER_PAGE).offset((page - 1) * SAMPLES_PER_PAGE))
    )
    is_apart = case(
        ((Turn.number > 0) & (Turn.charged_s - Turn.client_s > NOTABLE_EXCESS_S), 1), else_=0
    )
    is_fault = case((Turn.state.in_(("refused", "dead")), 1), else_=0)
    sums = (
        func.count(),
        func.sum(Turn.charged_s),
        func.sum(Turn.client_s),
        func.sum(is_apart),
        func.sum(is_fault),
    )
    of_page = select(Turn.place, *sums).where(
        Turn.run_id == run.id, Turn.place.in_([place.number for place in places])
    )
    found = {row[0]: row[1:] for row in session.execute(of_page.group_by(Turn.place))}
    listed: list[SampleSummary] = []
    for place in places:
        turns, charged_s, client_s, apart, faults = found.get(place.number, (0, 0.0, 0.0, 0, 0))
        listed.append(
            SampleSummary(
                number=place.number + 1, sample=place.sample if eyes.is_organiser else "",
                state="open" if (run.id, place.number) in untold else place.state, turns=turns,
                charged_s=charged_s, client_s=client_s, apart=apart, faults=faults,
            )
        )  # fmt: skip
    return listed


_Judged: TypeAlias = dict[str, Any]


class SampleViewBuilder:
    """One sample of a run, read from the tables for somebody who looks at it.

    Args:
        session: reads.
        site: whose samples.
        run, place: which it is.
        eyes: of whoever looks.
        page: of its dialogues, from 1.
    """

    def __init__(
        self, session: Session, site: Site, run: Run, place: RunSample, eyes: Visibility, page: int
    ) -> None:
        self._site = site
        self._run = run
        self._place = place
        self._eyes = eyes
        challenge = session.get_one(Challenge, run.challenge_id)
        pooled = select(PooledSample.dialogues).where(
            PooledSample.challenge_id == challenge.id,
            PooledSample.pool == run.pool,
            PooledSample.sample == place.sample,
        )
        self._told = [
            msgspec.convert(one, DialogueInfo)
            for one in json.loads(session.scalar(pooled.limit(1)) or "[]")
        ]
        found = (
            select(Turn)
            .where(Turn.run_id == run.id, Turn.place == place.number)
            .order_by(Turn.number)
        )
        self._turns = list(session.scalars(found.options(*WITHOUT_BODIES)))
        untold = {} if eyes.is_organiser else delayed_turns(session, [run.id], site.now())
        self._untold = untold.get((run.id, place.number))
        self._done = [
            turn for turn in self._turns if turn.state == "done" and turn is not self._untold
        ]
        self._challenge = challenge
        kinds = {
            phase.name: phase.sample_kind for phase in cached_info(challenge.description).phases
        }
        at_once = _IMAGES_AT_ONCE if kinds[run.phase] == "image" else _STACKS_AT_ONCE
        self.pages = max(1, -(-len(self._told) // at_once))
        self.numbers = tuple(range(len(self._told))[(page - 1) * at_once : page * at_once])

    def shown(self, wait_s: float) -> SampleView:
        """Return what is shown, with pictures if these are there within `wait_s`.

        Raises:
            Refusal: too many pictures wait to be drawn.
        """
        drawn, problem = self._drawn(wait_s)
        by_number = {one.number: one for one in drawn.dialogues} if drawn else {}
        judged = self._judged()
        dialogues = [
            self._dialogue(number, judged[number], by_number.get(number)) for number in self.numbers
        ]
        rounds = (round_ for dialogue in dialogues for round_ in dialogue.rounds)
        return SampleView(
            number=self._place.number + 1,
            sample=self._place.sample if self._eyes.is_organiser else "",
            state="open" if self._untold else self._place.state,
            turns=[self._turn(turn) for turn in self._turns],
            dialogues=dialogues,
            pages=self.pages,
            columns=list(dict.fromkeys(name for round_ in rounds for name in round_.values)),
            has_truth=self._eyes.has_truth,
            is_drawing=drawn is None and not problem and bool(self._done),
            problem=problem,
        )

    def _drawn(self, wait_s: float) -> tuple[RenderedSample | None, str]:
        """Return what was drawn, if it is there; and why it never will be."""
        if not self._done or not self.numbers:
            return None, ""
        decimals = None if self._eyes.is_organiser else self._eyes.decimals
        ways = ("judged", decimals) if self._eyes.has_truth else ("heard",)
        about = (*ways, self._run.id, self._place.number, self._done[-1].digest, self.numbers)
        try:
            content = self._site.album.picture(about, self._drawing, wait_s)
        except http_errors.Refusal:
            raise
        except SegarenaError as error:
            return None, str(error) if self._eyes.is_organiser else "These rounds cannot be drawn."
        return (msgspec.json.decode(content, type=RenderedSample) if content else None), ""

    def _drawing(self) -> Rendering:
        """Return what the drawing process needs; called only when there are no pictures yet."""
        site = self._site
        run = self._run
        place = self._place
        numbers = self.numbers
        if self._eyes.has_truth:
            with site.database.reading() as session:
                job = evaluation_request(session, self._challenge, run, place)
            decimals = None if self._eyes.is_organiser else self._eyes.decimals
            return OrganiserRendering(
                challenge=self._challenge.description, job=job, numbers=numbers, decimals=decimals
            )
        is_told = (
            Turn.number <= self._done[-1].number
        )  # the next reply may be there, and still kept from them
        done = select(Turn.request, Turn.response).where(
            Turn.run_id == run.id, Turn.place == place.number, is_told
        )
        with site.database.reading() as session:
            turns = session.execute(done.where(Turn.state == "done").order_by(Turn.number)).all()
        exchanged = ExchangeLog(
            challenge=description_of(self._challenge),
            phase=run.phase,
            sample=site.folder.samples.read(place.sha256),
            dialogues=tuple(self._told),
            turns=tuple((unpack(request), unpack(response or b"")) for request, response in turns),
        )
        return ParticipantRendering(exchanged=exchanged, numbers=numbers)

    def _turn(self, turn: Turn) -> TurnView:
        is_ours = turn.state in ("waiting", "leased", "dead")
        return TurnView(
            number=turn.number,
            state="leased" if turn is self._untold else turn.state,
            received_at=turn.received_at,
            charged_s=turn.charged_s,
            client_s=turn.client_s,
            round_trip_s=turn.round_trip_s,
            # What judging takes tells of the answer, and what went wrong here of the sample.
            evaluated_s=turn.evaluated_s if self._eyes.is_organiser and turn.done_at else None,
            is_apart=turn.number > 0 and TimeCharge(seconds=turn.charged_s).is_apart(turn.client_s),
            is_late=turn in self._done
            and any(one["is_late"] for one in json.loads(turn.judged or "[]")),
            is_sure=turn.is_sure,
            failure=turn.failure if self._eyes.is_organiser or not is_ours else "",
        )

    def _judged(self) -> Mapping[int, list[tuple[int, _Judged]]]:
        """Return what came of each dialogue, by number, with the turn that it came with."""
        found: defaultdict[int, list[tuple[int, _Judged]]] = defaultdict(list)
        for turn in self._done:
            for one in json.loads(turn.judged or "[]"):
                found[one["number"]].append((turn.number, one))
        return found

    def _dialogue(
        self, number: int, judged: Sequence[tuple[int, _Judged]], drawn: RenderedDialogue | None
    ) -> DialogueView:
        told = self._told[number]
        is_organiser = self._eyes.is_organiser
        target = judged[-1][1]["target"] if judged and is_organiser else told.target
        if is_organiser and drawn and drawn.name not in ("", target):
            named = f"{drawn.name} ({target})"
        else:
            named = target
        return DialogueView(
            number=number + 1,
            target=named if is_organiser else f"target {target}",
            user=judged[-1][1]["user"] if judged and is_organiser else told.user,
            repeat=told.repeat,
            state=self._state(judged),
            rounds=list(_rounds(judged, drawn, knows_end=is_organiser)),
            viewer=drawn.viewer if drawn else "",
        )

    def _state(self, judged: Sequence[tuple[int, _Judged]]) -> str:
        if not judged:
            return "not begun"
        last = judged[-1][1]
        if last["failure"] or (last.get("is_given_up") and not self._eyes.is_organiser):
            return f"failed: {last['failure']}" if self._eyes.is_organiser else "failed"
        if last["is_late"]:
            return "over: out of time"
        return "over" if last["is_over"] else "waits for an answer"


def _rounds(
    judged: Sequence[tuple[int, _Judged]], drawn: RenderedDialogue | None, *, knows_end: bool
) -> Iterator[RoundView]:
    """Yield the rounds of a dialogue; those in which nothing was said follow the one that was answered.

    Participants do not learn where it ended by the rules, when rounds of earlier runs were asked again after that.
    """
    known = drawn.rounds if drawn else []
    rounds, replayed = ("rounds", "replayed") if knows_end else ("heard", "repeated")
    before = 0
    for place, (turn, one) in enumerate(judged):  # the first one only opened it
        for number in range(before + 1, one.get(rounds, one["rounds"]) + 1):
            is_answered = place > 0 and number == before + 1
            shown = known[number - 1] if number <= len(known) else None
            yield RoundView(
                number=number,
                turn=turn if is_answered else None,
                seconds=one["seconds"] if is_answered else None,
                note="with prompts of an earlier run"
                if number <= one.get(replayed, one["replayed"])
                else "",
                prompts=None if shown is None else shown.prompts or ["nothing was said"],
                values={} if shown is None else shown.values,
            )
        if one["is_late"]:
            number = one.get(rounds, one["rounds"]) + 1
            seconds = one["seconds"]
            yield RoundView(
                number=number,
                turn=turn,
                seconds=seconds,
                note="came too late: dropped",
                prompts=None,
                values={},
            )
        before = one.get(rounds, one["rounds"])
