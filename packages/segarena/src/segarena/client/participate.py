"""Take part in a challenge: a segmenter's run, or sessions for a script that holds the loop; and where a run stands."""

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
from segarena.client.connection import PATIENCE_S, Connection
from segarena.client.dataset import ChallengeSamples
from segarena.client.participation import (
    Participation,
    forget_participation,
    forget_turns,
    read_participation,
)
from segarena.client.server import Server
from segarena.client.tokens import token_for
from segarena.engine import evaluate as engine
from segarena.engine import participant
from segarena.engine.session_protocol import SessionLike
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, RemoteError, RunConflict, WorkError, WorkStopped
from segarena.options import options_of
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.protocol.challenge_info import ChallengeInfo, PhaseInfo
from segarena.registry import build, find
from segarena.roles import Benchmark, Segmenter, TimeBudget

_LOOK_S = 0.2

_ORGANISERS: Mapping[str, tuple[Any, ...]] = {
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
"""What participants do not decide, with what it is when nothing was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedChallenge:
    """A challenge with a folder to take part in it.

    Attributes:
        benchmark: its rules, as far as participants know them.
        samples: in place of a dataset. The run begins at the server when they are first asked for.
        folder: of the run.
    """

    benchmark: Benchmark
    samples: ChallengeSamples
    folder: Path

    def close(self) -> None:
        """Let go of the connection."""
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
    **options: Any,
) -> RunFolder:
    """Let a server judge `segmenter`; return the run as far as participants know it. Given again, it resumes.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` where several are open.
        segmenter: as for `segarena.evaluate`.
        rules: what was said of the benchmark: nothing may be, for the organiser says it.
        out: folder of the run; by default `runs/<challenge>-<phase>-<segmenter>`.
        overwrite: end the run that `out` holds, and begin another; the server counts both.
        token: of the participant; by default as `segarena.client.tokens.token_for` finds it.
        patience_s: how long a server that is not reached is asked again.
        on_trouble: told, in a line, that the server is not reached and will be tried again.
        options: whatever else `segarena.evaluate` takes that is not for the organiser to say.

    Raises:
        RemoteError: the server refuses, or is not reached. What was answered is kept, and the run goes on later.
        SegarenaError: as `segarena.evaluate`.
    """
    _check_rules({**(rules or {}), **options})
    options = {name: value for name, value in options.items() if name not in _ORGANISERS}
    called = str(segmenter) if isinstance(segmenter, Plugin) else type(segmenter).__name__
    reach: dict[str, Any] = {"token": token, "patience_s": patience_s, "on_trouble": on_trouble}
    with closing(
        join(challenge, called=called, out=out, overwrite=overwrite, **reach, **options)
    ) as joined:
        about = {"dataset": joined.samples, "out": joined.folder, "overwrite": overwrite}
        try:
            folder = engine.evaluate(joined.benchmark, segmenter=segmenter, **about, **options)
        except WorkStopped:
            raise
        except WorkError as error:  # here the same command again would begin where it ended: the server knows of it
            why = str(error).partition(";")[0]
            raise WorkError(
                f"{why}. The server has counted that; mend it, and --overwrite ends this run and begins another"
            ) from error
        forget_turns(folder.path)
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
    **options: Any,
) -> Iterator[SessionLike]:
    """Yield the sessions of a run at a challenge one by one, as `segarena.sessions` does; see `evaluate` here."""
    _check_rules({**(rules or {}), **options})
    options = {name: value for name, value in options.items() if name not in _ORGANISERS}
    reach: dict[str, Any] = {"token": token, "patience_s": patience_s}
    with closing(
        join(challenge, called=name, out=out, overwrite=overwrite, **reach, **options)
    ) as joined:
        samples = replace(joined.samples, is_together=False)
        yield from participant.sessions(
            joined.benchmark,
            dataset=samples,
            name=name,
            out=joined.folder,
            overwrite=overwrite,
            **options,
        )
        forget_turns(joined.folder)


def join(
    challenge: str,
    *,
    called: str,
    out: str | Path | None = None,
    overwrite: bool = False,
    token: str | None = None,
    patience_s: float = PATIENCE_S,
    on_trouble: Callable[[str], None] | None = None,
    cache: str | Path | None = None,
    cache_gb: float = 20.0,
    **_options: Any,
) -> JoinedChallenge:
    """Ask what a challenge is, and choose the phase and the folder; nothing begins at the server yet.

    Raises:
        InvalidInput: no challenge's URL; or several phases are open, or none.
        RemoteError: the server refuses, or is not reached.
        RunConflict: the folder holds a run at another challenge.
    """
    address = read_address(challenge)
    token = token_for(address.server, token)
    connection = Connection(address.server, token, patience_s=patience_s, on_trouble=on_trouble)
    with ExitStack() as on_refusal:
        on_refusal.callback(connection.close)
        shown = Server(connection).challenge(address.slug)
        phase = choose_phase(shown, address)
        address = replace(address, phase=phase.name)
        if out is not None:
            folder = Path(out)
        else:
            folder = Path("runs") / _plain(f"{address.slug}-{phase.name}-{called}")
        _check_folder(folder, address, connection if overwrite else None)
        rules = participant_rules(shown, phase)
        on_refusal.pop_all()
    samples = ChallengeSamples(
        server=Server(connection),
        address=address,
        rules=rules,
        prompt_kinds=_kinds(shown),
        folder=folder.absolute(),  # a plug-in may change the working directory
        segmenter=_without_folders(called),
        overwrite=overwrite,
        cache=None if cache is None else Path(cache).absolute(),
        cache_bytes=int(cache_gb * 1e9),
    )
    return JoinedChallenge(benchmark=rules, samples=samples, folder=folder)


def _check_folder(folder: Path, address: Address, ending: Connection | None) -> None:
    """Raise `RunConflict` where a folder belongs to another challenge; or where it may be overwritten, end its run."""
    known = read_participation(folder)
    if known is None:
        return
    if ending is not None:
        if known.server == address.server:
            with suppress(RemoteError):  # it is over, or was somebody else's
                Server(ending).finish_run(known.run)
        forget_participation(folder)
    elif known.address != address:
        raise RunConflict(
            f"{folder} holds a run at {known.address}, not {address}; another --out keeps both"
        )


def participant_rules(shown: ChallengeInfo, phase: PhaseInfo) -> Benchmark:
    """Return the benchmark as participants know it: without metrics where no values come with the prompts.

    Raises:
        PluginError: it is one of a package that is not installed here.
    """
    spec = PluginSpec.of(shown.benchmark)
    takes = {option.name for option in options_of(find("benchmark", spec.reference))}
    limits = {"rounds": phase.rounds, "seconds_per_object": phase.seconds_per_object}
    own = {name: value for name, value in limits.items() if name in takes and value is not None}
    rules: Benchmark = build("benchmark", replace(spec, options={**spec.options, **own}))
    seconds = phase.seconds_per_object
    return replace(
        rules,
        rounds=phase.rounds,
        metrics=rules.metrics if phase.kind == "practice" and phase.shows != "prompts" else (),
        budget=rules.budget if seconds is None else TimeBudget(seconds_per_object=seconds),
        sample_kind=phase.sample_kind,
        adapter=PluginSpec.of(phase.adapter) if phase.adapter else None,
    )


def _check_rules(given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` where something was said that is for the organiser to say, or needs the truth."""
    said = [name for name in _ORGANISERS if given.get(name) not in _ORGANISERS[name]]
    if said:
        raise InvalidInput(
            f"{said[0]}: a challenge says that itself, or has no use for it; leave it out"
        )


def _kinds(shown: ChallengeInfo) -> dict[str, frozenset[str] | None]:
    return {
        user.name: None if user.prompt_kinds is None else frozenset(user.prompt_kinds)
        for user in shown.users
    }


def choose_phase(shown: ChallengeInfo, address: Address) -> PhaseInfo:
    """Return the phase of an address; where it names none, the one that is open."""
    names = ", ".join(phase.name for phase in shown.phases) or "none"
    if address.phase:
        found = [phase for phase in shown.phases if phase.name == address.phase]
        if not found:
            raise InvalidInput(f"{address}: there is no phase {address.phase!r}; it has {names}")
        return found[0]
    now = datetime.now(UTC)
    is_open = [
        p for p in shown.phases if (p.opens or now) <= now and (p.closes is None or now < p.closes)
    ]
    if len(is_open) != 1:
        which = "several phases are open" if is_open else "no phase is open"
        raise InvalidInput(f"{address}: {which}; say which one: {address}/PHASE, it has {names}")
    return is_open[0]


def read_standing(
    folder: str | Path, *, token: str | None = None, wait_s: float = 60.0
) -> tuple[Participation, Mapping[str, Any]]:
    """Return the run that a folder took part with, and what the server shows of its scores and its place.

    A run whose last answer has just been judged is waited for, up to `wait_s`.

    Raises:
        InvalidInput: the folder took part in nothing.
        RemoteError: the server refuses, or is not reached.
    """
    begun = read_participation(Path(folder))
    if begun is None:
        raise InvalidInput(
            f"{folder}: expected a run at a challenge, got none; see segarena run --challenge"
        )
    with closing(Connection(begun.server, token_for(begun.server, token))) as connection:
        server = Server(connection)
        until = time.monotonic() + wait_s
        told = server.scores_of(begun.run)
        while told.get("state") == "closing" and time.monotonic() < until:
            time.sleep(_LOOK_S)
            told = server.scores_of(begun.run)
    return begun, told


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", _without_folders(name)).strip("-")


def _without_folders(called: str) -> str:
    """Return a segmenter as written, without where its files lie here."""
    return re.sub(r"[^\s'\"(=,]*/(?=[^/\s'\"]+)", "", called)[:200]
