"""Sessions for user scripts that run the loop themselves and request the prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import finish, open_folder
from segarena.engine.lockstep_dialogues import RunCast, failed_rows, load_sample, open_sessions
from segarena.engine.plan import make_plan
from segarena.engine.rows import Rows
from segarena.engine.session_protocol import SessionLike, remote_evaluation
from segarena.errors import DatasetError, InvalidInput
from segarena.plugin_spec import Plugin
from segarena.roles import Benchmark


def sessions(
    benchmark: Plugin | Benchmark = "clicks",
    *,
    challenge: str | None = None,
    name: str = "participant",
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Iterator[SessionLike]:
    """Yield the sessions of a run one by one, for your script to answer with its own model.

        for session in segarena.sessions("clicks", name="mine", dataset="demo"):
            while (dialogue := session.next()) is not None:
                session.submit(my_model(session.sample.image, dialogue.clicks))

    Prompts, rules and records are those of `segarena.evaluate`. The sessions about one sample come
    one after the other, and their rows are written when the last of them is over; a restarted
    script skips finished samples. If the script leaves a session before its end, the session is
    recorded as failed.

    Args:
        benchmark: see `segarena.evaluate`.
        challenge: see `segarena.evaluate`; yields the sessions of a run in a challenge.
        name: name of your model in tables.
        out: folder of the run; by default as in `segarena.evaluate`.
        overwrite: replace a run that `out` contains.
        options: any further option of a run that `segarena.evaluate` accepts. With `challenge`, `trial=True` yields
            a session about a synthetic sample first, if the run would use up samples of a test phase.
    """
    if challenge is not None:
        rules = {"benchmark": benchmark}
        yield from remote_evaluation().sessions(
            challenge,
            rules=rules,
            name=name,
            out=out,
            overwrite=overwrite,
            **options,
        )
        return
    plan = make_plan(benchmark, segmenter=None, name=name, **options)
    cast = plan.cast()
    folder = open_folder(plan, cast.dataset, out, overwrite=overwrite)
    with folder.lock():
        for index in folder.pending():
            rows = Rows()
            sample_id = folder.samples[index]
            opened: Sequence[SessionLike] = ()
            try:
                opened = _open_sessions(cast, sample_id)
            except (DatasetError, InvalidInput) as error:
                rows = failed_rows(cast, sample_id, str(error))
            for session in opened:
                yield session
                # The script has requested the next session, so it will not answer this one any
                # more.
                if not session.is_over:
                    session.fail(
                        f"abandoned by the participant; answered rounds: {session.answered}"
                    )
                rows.extend(session.rows())
            # Written after the last session of the sample: a script that stops earlier runs the
            # whole sample again.
            folder.write(index, rows)
        finish(folder)


def _open_sessions(cast: RunCast, sample_id: str) -> Sequence[SessionLike]:
    sample = load_sample(cast.dataset, sample_id)
    if cast.remote_dataset is not None:
        return cast.remote_dataset.open_sessions(sample, cast.rules.keep_rounds)
    return open_sessions(cast, sample)
