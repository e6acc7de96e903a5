"""Participation in a challenge: evaluate a segmenter, open sessions for a script, read the scores of a run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from segarena.client.address import Address, read_address
from segarena.client.challenge_run_record import (
    Participation,
    delete_participation,
    delete_turns,
    read_participation,
)
from segarena.client.challenge_server_api import Server
from segarena.client.connection import PATIENCE_S, Connection
from segarena.client.dataset import ChallengeDataset
from segarena.client.tokens import token_for
from segarena.engine import custom_loop_sessions
from segarena.engine import evaluate as engine
from segarena.engine.run_folder import RunFolder
from segarena.engine.session_protocol import SessionLike
from segarena.engine.synthetic_sample_trial import trial_sessions
from segarena.errors import InvalidInput, RemoteError, RunConflict, WorkError, WorkStopped
from segarena.options import options_of
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.protocol.challenge_info import ChallengeInfo, PhaseInfo
from segarena.registry import build, find
from segarena.roles import Benchmark, Segmenter, TimeBudget

_POLL_S = 0.2

_ORGANISER_OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "benchmark": ("clicks", None),
    "dataset": (None,),
    "users": (None, []),
    "metrics": (None, []),
    "rounds": (None,),
    "repeats": (None,),
    "limit": (None,),
    "seed": (None,),
    "retry_failed": (None, False),
    "retry_damaged": (None, False),
    "verify": (None, 0),
    "share": (None, False),
}
"""Options that the organiser sets, with the values that mean "not given"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedChallenge:
    """A challenge, and the local folder of a run in it.

    Attributes:
        benchmark: the rules as far as participants know them.
        samples: the dataset of the challenge. The run starts on the server when the first sample is read.
        folder: folder of the run.
    """

    benchmark: Benchmark
    samples: ChallengeDataset
    folder: Path

    def close(self) -> None:
        """Close the connection."""
        self.samples.server.connection.close()


def evaluate(
    challenge: str,
    *,
    segmenter: Plugin | Segmenter,
    rules: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    token: str | None = None,
    patience_s: float = PATIENCE_S,
    on_trouble: Callable[[str], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
    skip_trial: bool = False,
    **options: Any,
) -> RunFolder:
    """Evaluate `segmenter` in a challenge and return the run without hidden scores; a second call resumes it.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` if several are open.
        segmenter: as for `segarena.evaluate`.
        rules: options that the organiser sets, such as `benchmark`; each must be absent or None, or have
            another value that means "not given".
        out: folder of the run; by default `runs/<challenge>-<phase>-<segmenter>`.
        overwrite: end the run in `out` and start another one; the server counts both runs.
        token: token of the participant; by default as `segarena.client.tokens.token_for` finds it.
        patience_s: how long to retry an unreachable server.
        on_trouble: called with one line when a request has failed twice in a row and is repeated.
        on_notice: called with one line before the start of a run that will not be ranked.
        skip_trial: start a run in a test phase without the segmenter's answer about a synthetic sample.
        options: other options of `segarena.evaluate` that the organiser does not set.

    Raises:
        RemoteError: the server rejects a request or is unreachable. Answers are kept, and the run can resume.
        SegarenaError: as `segarena.evaluate`.
    """
    _check_rules({**(rules or {}), **options})
    options = _own_options(options)
    called = type(segmenter).__name__
    if isinstance(segmenter, (PluginSpec, str)):
        called = str(segmenter)
    joined = join(
        challenge,
        called=called,
        out=out,
        overwrite=overwrite,
        token=token,
        patience_s=patience_s,
        on_trouble=on_trouble,
        on_notice=on_notice,
        **options,
    )
    with closing(joined):
        try:
            folder = engine.evaluate(
                joined.benchmark,
                segmenter=segmenter,
                dataset=replace(joined.samples, skips_trial=skip_trial),
                out=joined.folder,
                overwrite=overwrite,
                **options,
            )
        except WorkStopped:
            raise
        except WorkError as error:
            # The server already has the failed answers, so repeating the command would end at the
            # same place.
            reason = str(error).partition(";")[0]
            raise WorkError(
                f"{reason}. The server has recorded these failures; correct the cause, and start another run with "
                "--overwrite"
            ) from error
        delete_turns(folder.path)
        return folder


def sessions(
    challenge: str,
    *,
    name: str = "participant",
    rules: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    token: str | None = None,
    patience_s: float = PATIENCE_S,
    trial: bool = False,
    **options: Any,
) -> Iterator[SessionLike]:
    """Yield the sessions of a run in a challenge, one at a time, like `segarena.sessions`; see `evaluate`.

    With `trial`, the first session of a new run in a test phase is about a synthetic sample. The
    run starts on the server only after a valid answer to it.
    """
    _check_rules({**(rules or {}), **options})
    options = _own_options(options)
    joined = join(
        challenge,
        called=name,
        out=out,
        overwrite=overwrite,
        token=token,
        patience_s=patience_s,
        **options,
    )
    with closing(joined):
        samples = replace(joined.samples, is_together=False, skips_trial=not trial)
        if samples.needs_trial:
            yield from trial_sessions(samples.sample_kind, samples.prompt_kinds.values())
        yield from custom_loop_sessions.sessions(
            joined.benchmark,
            dataset=samples,
            name=name,
            out=joined.folder,
            overwrite=overwrite,
            **options,
        )
        delete_turns(joined.folder)


def join(
    challenge: str,
    *,
    called: str,
    out: str | Path | None = None,
    overwrite: bool = False,
    token: str | None = None,
    patience_s: float = PATIENCE_S,
    on_trouble: Callable[[str], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
    cache: str | Path | None = None,
    cache_gb: float = 20.0,
    **_options: Any,
) -> JoinedChallenge:
    """Read the challenge and choose the phase and the folder, without starting a run on the server.

    Raises:
        InvalidInput: `challenge` is not the URL of a challenge, or of an existing phase; or it names no phase, and not
            exactly one is open.
        RemoteError: the server rejects the request or is unreachable.
        RunConflict: the folder contains a run in another challenge or phase, and `overwrite` is False.
    """
    address = read_address(challenge)
    token = token_for(address.server, token)
    connection = Connection(address.server, token, patience_s=patience_s, on_trouble=on_trouble)
    with ExitStack() as on_error:
        on_error.callback(connection.close)
        info = Server(connection).challenge(address.slug)
        phase = choose_phase(info, address)
        address = replace(address, phase=phase.name)
        if out is not None:
            folder = Path(out)
        else:
            folder = Path("runs") / _plain(f"{address.slug}-{phase.name}-{called}")
        _check_folder(folder, address, connection if overwrite else None)
        if on_notice is not None and read_participation(folder) is None:
            # The response that starts the run has the same information, so a failure of this
            # request loses nothing.
            with suppress(RemoteError):
                next_run = Server(connection).next_run(address)
                if next_run.unranked:
                    on_notice(
                        f"this run will not be ranked, because it will be {next_run.unranked}"
                    )
        rules = participant_rules(info, phase)
        on_error.pop_all()
    samples = ChallengeDataset(
        server=Server(connection),
        address=address,
        rules=rules,
        prompt_kinds=_prompt_kinds(info),
        folder=folder.absolute(),  # a plug-in may change the working directory
        segmenter=_without_folders(called),
        overwrite=overwrite,
        cache=None if cache is None else Path(cache).absolute(),
        cache_bytes=int(cache_gb * 1e9),
        uses_up_samples=phase.kind == "test",
    )
    return JoinedChallenge(benchmark=rules, samples=samples, folder=folder)


def _check_folder(
    folder: Path,
    address: Address,
    overwrite_by: Connection | None,
) -> None:
    """Raise `RunConflict` if a folder belongs to another phase; if it may be overwritten, end its run."""
    known = read_participation(folder)
    if known is None:
        return
    if overwrite_by is not None:
        if known.server == address.server:
            with suppress(RemoteError):  # the run has ended, or belongs to another account
                Server(overwrite_by).finish_run(known.run)
        delete_participation(folder)
    elif known.address != address:
        raise RunConflict(
            f"{folder} holds a run at {known.address}, not {address}; choose another --out to keep both"
        )


def participant_rules(info: ChallengeInfo, phase: PhaseInfo) -> Benchmark:
    """Return the benchmark as participants may see it: without metrics, unless a practice phase shows scores.

    Raises:
        PluginError: the package of the benchmark is not installed here.
    """
    spec = PluginSpec.of(info.benchmark)
    takes = {option.name for option in options_of(find("benchmark", spec.reference))}
    limits = {"rounds": phase.rounds, "seconds_per_object": phase.seconds_per_object}
    own = {name: value for name, value in limits.items() if name in takes and value is not None}
    rules: Benchmark = build("benchmark", replace(spec, options={**spec.options, **own}))
    metrics = ()
    if phase.kind == "practice" and phase.shows != "prompts":
        metrics = rules.metrics
    budget = rules.budget
    if phase.seconds_per_object is not None:
        budget = TimeBudget(seconds_per_object=phase.seconds_per_object)
    adapter = PluginSpec.of(phase.adapter) if phase.adapter else None
    return replace(
        rules,
        rounds=phase.rounds,
        metrics=metrics,
        budget=budget,
        sample_kind=phase.sample_kind,
        adapter=adapter,
    )


def _own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without those that the organiser sets."""
    return {name: value for name, value in options.items() if name not in _ORGANISER_OPTIONS}


def _check_rules(given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for an option that the organiser sets, or that needs the ground truth."""
    for name, neutral in _ORGANISER_OPTIONS.items():
        if given.get(name) not in neutral:
            raise InvalidInput(
                f"{name}: the challenge sets this option or does not use it; omit it"
            )


def _prompt_kinds(info: ChallengeInfo) -> dict[str, frozenset[str] | None]:
    kinds: dict[str, frozenset[str] | None] = {}
    for user in info.users:
        kinds[user.name] = None if user.prompt_kinds is None else frozenset(user.prompt_kinds)
    return kinds


def choose_phase(info: ChallengeInfo, address: Address) -> PhaseInfo:
    """Return the phase that an address names, or the only open phase if it names none.

    Raises:
        InvalidInput: there is no such phase, or not exactly one is open.
    """
    names = ", ".join(phase.name for phase in info.phases) or "none"
    if address.phase:
        for phase in info.phases:
            if phase.name == address.phase:
                return phase
        raise InvalidInput(
            f"{address}: there is no phase {address.phase!r}; the challenge has {names}"
        )
    now = datetime.now(UTC)
    open_phases = [phase for phase in info.phases if _is_open(phase, now)]
    if len(open_phases) != 1:
        problem = "several phases are open" if open_phases else "no phase is open"
        raise InvalidInput(f"{address}: {problem}; choose one by {address}/PHASE: {names}")
    return open_phases[0]


def _is_open(phase: PhaseInfo, now: datetime) -> bool:
    if phase.opens is not None and phase.opens > now:
        return False
    return phase.closes is None or now < phase.closes


def read_scores(
    folder: str | Path,
    *,
    token: str | None = None,
    wait_s: float = 60.0,
) -> tuple[Participation, Mapping[str, Any]]:
    """Return the run of a folder, and its scores and rank as far as the server shows them.

    This waits up to `wait_s` for the evaluation of the last answer.

    Raises:
        InvalidInput: the folder contains no challenge run.
        RemoteError: the server rejects the request or is unreachable.
    """
    participation = read_participation(Path(folder))
    if participation is None:
        raise InvalidInput(
            f"{folder}: expected a run in a challenge, got none; see segarena run --challenge"
        )
    token = token_for(participation.server, token)
    with closing(Connection(participation.server, token)) as connection:
        server = Server(connection)
        until = time.monotonic() + wait_s
        scores = server.scores_of(participation.run)
        while scores.get("state") == "closing" and time.monotonic() < until:
            time.sleep(_POLL_S)
            scores = server.scores_of(participation.run)
    return participation, scores


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", _without_folders(name)).strip("-")


def _without_folders(called: str) -> str:
    """Return the specification of a segmenter without local folder paths."""
    return re.sub(r"[^\s'\"(=,]*/(?=[^/\s'\"]+)", "", called)[:200]
