"""The participant's end of the session: your own script holds the loop and asks for the next prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from segarena.engine.evaluate import finish, open_folder
from segarena.engine.lockstep import RunCast, load_sample, open_sessions
from segarena.engine.plan import make_plan
from segarena.engine.rows import Rows, failed_sample
from segarena.engine.session_protocol import RemoteDataset, SessionLike, taking_part
from segarena.errors import DatasetError, InvalidInput
from segarena.roles import Benchmark
from segarena.specs import Plugin


def sessions(
    benchmark: Plugin | Benchmark = "clicks",
    *,
    challenge: str | None = None,
    name: str = "participant",
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Iterator[SessionLike]:
    """Yield the sessions of a run one by one; your script answers them with its own model.

        for session in segarena.sessions("clicks", name="mine", dataset="demo"):
            while (dialogue := session.next()) is not None:
                session.submit(my_model(session.sample.image, dialogue.clicks))

    The same prompts, rules and records as `segarena.evaluate`. Sessions about one sample come one after the
    other and are written when the last of them is over; a script that is started again skips finished samples.
    A session left before its end is recorded as failed.

    Args:
        benchmark: as in `segarena.evaluate`.
        challenge: likewise: the sessions of a run at a server.
        name: what your model is called in tables.
        out: folder of the run.
        overwrite: start anew where `out` holds a run.
        options: whatever else `segarena.evaluate` takes of a run.
    """
    if challenge is not None:
        given = {"name": name, "out": out, "overwrite": overwrite, **options}
        yield from taking_part().sessions(challenge, rules={"benchmark": benchmark}, **given)
        return
    plan = make_plan(benchmark, segmenter=None, name=name, **options)
    cast = plan.cast()
    folder = open_folder(plan, cast.dataset, out, overwrite=overwrite)
    with folder.lock():
        for index in folder.pending():
            rows = Rows()
            try:
                opened = _opened(cast, folder.samples[index])
            except (DatasetError, InvalidInput) as error:
                rules = cast.rules
                rows.records.append(
                    failed_sample(rules.benchmark, rules.dataset, folder.samples[index], str(error))
                )
                opened = []
            for session in opened:
                yield session
                if not session.is_over:
                    session.fail(
                        f"left by the participant after {session.answered} answered rounds"
                    )
                rows.extend(session.rows())
            folder.write(index, rows)
        finish(folder)


def _opened(cast: RunCast, sample_id: str) -> Sequence[SessionLike]:
    sample = load_sample(cast.dataset, sample_id)
    if isinstance(cast.dataset, RemoteDataset):
        return cast.dataset.open_sessions(sample, cast.rules.keep_rounds)
    return open_sessions(cast, sample)
