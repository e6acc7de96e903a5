"""The plan of a run that a challenge judges, and the rules that participants are told of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from segarena.abilities import prompt_kinds
from segarena.engine.evaluate import open_folder
from segarena.engine.plan import Plan, make_plan
from segarena.engine.store import RunFolder
from segarena.options import options_of
from segarena.protocol.challenge_info import ChallengeInfo, PhaseInfo, UserInfo
from segarena.registry import find
from segarena.roles import Benchmark, Dataset, TimeBudget
from segarena.specs import PluginSpec
from segarena_server.challenges.description import ChallengeDescription, Phase


def participant_plan(
    challenge: ChallengeDescription, phase: Phase, name: str = "participant"
) -> Plan:
    """Return the plan of a participant's run: the benchmark with the phase's limits, its pool, its seed.

    Raises:
        PluginError: no such benchmark, or not with these options.
        InvalidInput: limits that the benchmark does not take.
    """
    spec = PluginSpec.of(challenge.benchmark)
    takes = {option.name for option in options_of(find("benchmark", spec.reference))}
    rounds = 1 if "masks" in phase.takes else phase.rounds
    limits: dict[str, Any] = {"rounds": rounds, "seconds_per_object": phase.seconds_per_object}
    own = {limit: value for limit, value in limits.items() if value is not None and limit in takes}
    plan = make_plan(
        replace(spec, options={**spec.options, **own}),
        segmenter=None,
        name=name,
        dataset=challenge.pool(phase),
        rounds=rounds,
        seed=phase.seed,
    )
    if phase.seconds_per_object is None or "seconds_per_object" in own:
        return plan
    budget = TimeBudget(seconds_per_object=phase.seconds_per_object)
    return replace(plan, benchmark=replace(plan.benchmark, budget=budget))


def open_participant_run(
    path: Path, plan: Plan, dataset: Dataset, samples: Sequence[str]
) -> RunFolder:
    """Start or continue the folder of a run about samples of the plan's dataset, in this order.

    What is written into it is written as by any other run: by place, while `RunFolder.lock` is held.

    Raises:
        DatasetError, PluginError, StoreError: as for any run.
    """
    return open_folder(plan, dataset, path, samples=samples)


def challenge_info(challenge: ChallengeDescription) -> ChallengeInfo:
    """Return what participants see of a challenge; builds its users.

    Raises:
        PluginError, InvalidInput: as `plan_of`.
    """
    rules = participant_plan(challenge, challenge.phases[0]).benchmark
    return ChallengeInfo(
        slug=challenge.slug,
        title=challenge.title,
        text=challenge.text,
        benchmark=str(_without_files(PluginSpec.of(challenge.benchmark))),
        is_public=challenge.is_public,
        frozen=challenge.frozen,
        users=tuple(
            UserInfo(name=public_user_name(user), prompt_kinds=_kinds(user)) for user in rules.users
        ),
        phases=tuple(_shown_phase(challenge, phase) for phase in challenge.phases),
    )


def _shown_phase(challenge: ChallengeDescription, phase: Phase) -> PhaseInfo:
    rules: Benchmark = participant_plan(challenge, phase).benchmark
    takes_runs = "run" in phase.takes
    return PhaseInfo(
        name=phase.name,
        kind=phase.kind,
        opens=phase.opens,
        closes=phase.closes,
        samples_per_run=phase.samples_per_run,
        runs_per_day=phase.runs_per_day,
        runs_in_all=phase.runs_in_all,
        runs_at_once=phase.runs_at_once,
        rounds=rules.rounds,
        seconds_per_object=None if rules.budget is None else rules.budget.seconds_per_object,
        seconds_per_answer=phase.seconds_per_answer,
        bank_s=phase.bank_s,
        seconds_per_run=phase.seconds_per_run,
        shows=phase.shows,
        decimals=phase.decimals,
        late=phase.late,
        ladder=phase.ladder,
        sample_kind=rules.sample_kind,
        adapter="" if rules.adapter is None else str(_without_files(rules.adapter)),
        takes=phase.takes,
        dataset=str(_without_files(PluginSpec.of(challenge.pool(phase)))) if takes_runs else "",
        seed=phase.seed if takes_runs else None,
    )


def public_user_name(user: PluginSpec) -> str:
    """Return what participants are told of a user's name: the one that the benchmark gives it, or no file in it."""
    return user.own_name or str(_without_files(user))


def _kinds(user: PluginSpec) -> list[str] | None:
    given = prompt_kinds(find("user", user.reference))
    return None if given is None else sorted(given)


def _without_files(spec: PluginSpec) -> PluginSpec:
    """Return a plug-in without options that may name files of the server."""
    if ".py:" in spec.reference:
        reference = spec.reference.rpartition(":")[2]
    else:
        reference = spec.reference
    plain = {name: value for name, value in spec.options.items() if not _names_file(value)}
    return replace(spec, reference=reference, options=plain)


def _names_file(value: Any) -> bool:
    if isinstance(value, str):
        return "/" in value or "\\" in value or os.path.exists(value)  # noqa: PTH110 - that of Path raises for long names
    if isinstance(value, Mapping):
        return any(map(_names_file, value.values()))
    return isinstance(value, Sequence) and any(map(_names_file, value))
