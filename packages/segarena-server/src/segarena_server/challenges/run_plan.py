"""The plan by which participants' runs are evaluated, and the rules that participants see."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import open_folder
from segarena.engine.plan import Plan, make_plan
from segarena.engine.run_folder import RunFolder
from segarena.options import options_of
from segarena.plugin_capabilities import prompt_kinds
from segarena.plugin_spec import PluginSpec
from segarena.protocol.challenge_info import ChallengeInfo, PhaseInfo, UserInfo
from segarena.registry import find
from segarena.roles import Benchmark, Dataset, TimeBudget
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.score_visibility import is_on_ladder

_SHARED_FIELDS = [name for name in PhaseInfo.__struct_fields__ if name in Phase.__struct_fields__]
"""Fields that a phase and its public description share; `_phase_info` replaces some by the rules in force."""


def participant_plan(
    challenge: ChallengeDescription,
    phase: Phase,
    name: str = "participant",
) -> Plan:
    """Return the plan of a participant's run: the benchmark with a phase's limits, pool and seed.

    Raises:
        PluginError: the benchmark does not exist, or does not accept these options.
        InvalidInput: the benchmark does not accept these limits.
    """
    spec = PluginSpec.of(challenge.benchmark)
    option_names = {option.name for option in options_of(find("benchmark", spec.reference))}
    # Masks are submitted all at once, after the first prompts.
    rounds = 1 if "masks" in phase.takes else phase.rounds
    limits: dict[str, Any] = {"rounds": rounds, "seconds_per_object": phase.seconds_per_object}
    own_limits = {
        limit: value
        for limit, value in limits.items()
        if value is not None and limit in option_names
    }
    plan = make_plan(
        replace(spec, options={**spec.options, **own_limits}),
        segmenter=None,
        name=name,
        dataset=challenge.pool(phase),
        rounds=rounds,
        seed=phase.seed,
    )
    if phase.seconds_per_object is None or "seconds_per_object" in option_names:
        return plan
    # The benchmark has no such option, so the limit becomes a budget around it.
    budget = TimeBudget(seconds_per_object=phase.seconds_per_object)
    return replace(plan, benchmark=replace(plan.benchmark, budget=budget))


def open_participant_run(
    path: Path,
    plan: Plan,
    dataset: Dataset,
    samples: Sequence[str],
) -> RunFolder:
    """Create or continue the folder of a run about samples of the plan's dataset, in this order.

    Write rows into it as in any other run: by the index of the sample, while holding
    `RunFolder.lock`.

    Raises:
        DatasetError, PluginError, StoreError: as for any run.
    """
    return open_folder(plan, dataset, path, samples=samples)


def challenge_info(challenge: ChallengeDescription) -> ChallengeInfo:
    """Return the public description of a challenge; this builds the challenge's users.

    Raises:
        PluginError, InvalidInput: as for `participant_plan`.
    """
    rules = participant_plan(challenge, challenge.phases[0]).benchmark
    users = [
        UserInfo(name=public_user_name(user), prompt_kinds=_prompt_kinds(user))
        for user in rules.users
    ]
    return ChallengeInfo(
        slug=challenge.slug,
        title=challenge.title,
        text=challenge.text,
        benchmark=_public_text(PluginSpec.of(challenge.benchmark)),
        is_public=challenge.is_public,
        frozen=challenge.frozen,
        users=tuple(users),
        phases=tuple(_phase_info(challenge, phase) for phase in challenge.phases),
    )


def public_user_name(user: PluginSpec) -> str:
    """Return a user's name for participants: its name in the benchmark, or its specification without file names."""
    return user.own_name or _public_text(user)


def _phase_info(challenge: ChallengeDescription, phase: Phase) -> PhaseInfo:
    rules: Benchmark = participant_plan(challenge, phase).benchmark
    described = {name: getattr(phase, name) for name in _SHARED_FIELDS}
    # The rules in force: where the phase sets no limit, the benchmark's limit applies.
    in_force: dict[str, Any] = {
        "rounds": rules.rounds,
        "seconds_per_object": None if rules.budget is None else rules.budget.seconds_per_object,
        "sample_kind": rules.sample_kind,
        "adapter": "" if rules.adapter is None else _public_text(rules.adapter),
        "dataset": "",
        "seed": None,
        "ladder": is_on_ladder(phase, is_repeat=False),
    }
    if "run" in phase.takes:
        # Participants make such runs themselves, for which they need the data and the seed.
        in_force["dataset"] = _public_text(PluginSpec.of(challenge.pool(phase)))
        in_force["seed"] = phase.seed
    return PhaseInfo(**(described | in_force))


def _prompt_kinds(user: PluginSpec) -> list[str] | None:
    kinds = prompt_kinds(find("user", user.reference))
    return None if kinds is None else sorted(kinds)


def _public_text(spec: PluginSpec) -> str:
    """Format a plug-in specification, without anything that may name a file on the server."""
    reference = spec.reference
    if ".py:" in reference:
        reference = reference.rpartition(":")[2]
    options = {name: value for name, value in spec.options.items() if not _names_file(value)}
    return str(replace(spec, reference=reference, options=options))


def _names_file(value: Any) -> bool:
    if isinstance(value, str):
        # Path.exists raises for names that are too long; os.path.exists does not.
        return "/" in value or "\\" in value or os.path.exists(value)  # noqa: PTH110
    if isinstance(value, Mapping):
        return any(map(_names_file, value.values()))
    return isinstance(value, Sequence) and any(map(_names_file, value))
