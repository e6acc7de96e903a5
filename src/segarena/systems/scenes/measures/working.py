"""Work on many images, one line of a file for each that is done: what was interrupted goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from segarena.errors import SegarenaError
from segarena.work.executors import executor_of
from segarena.work.jobs import Calling
from segarena.work.ledger import Ledger, upgrade_ledger
from segarena.work.progress import OnProgress, say_nothing
from segarena.work.resuming import work_through

Item = TypeVar("Item")
Record = dict[str, Any]
LEDGER = "images.jsonl"


def work_on_images(
    items: Mapping[str, Item],
    work: Callable[[Item], Record],
    request: Record,
    folder: Path | None,
    *,
    workers: int = 0,
    on_progress: OnProgress = say_nothing,
) -> dict[str, Record]:
    """Return the result of every item, in their order; with a folder, those done before are not done again.

    Args:
        items: what to work on, by key.
        work: a function of a module, so that it can be sent to a process.
        request: what is asked for, in plain values.
        folder: where `images.jsonl` is kept; None keeps nothing.
        workers: processes; 0 works in this one.
        on_progress: told when it starts and after every image.

    Raises:
        RunConflict: the folder holds the results of another request.
        StoreError: nothing can be written there.
        SegarenaError: images that cannot be used, once all others are done; of the type that the first of them raised.
    """
    file = folder and folder / LEDGER
    if file is not None:
        upgrade_ledger(file, _read_earlier)
    with Ledger(file, request) as ledger:
        failures = work_through(Calling(work), items, ledger, executor_of(workers), on_progress=on_progress)
    for key, error in failures.items():
        raise _for_all(key, error, failures)
    return {key: ledger.done[key] for key in items}


def _for_all(key: str, error: SegarenaError, failures: Mapping[str, SegarenaError]) -> SegarenaError:
    kept = "" if len(failures) == 1 else f" ({len(failures)} images fail; the others are done)"
    return type(error)(f"{key}: {error}{kept}")


def _read_earlier(lines: list[Any]) -> tuple[Any, dict[str, Any]]:
    """Read what an earlier version kept: the request in the first line, then a key and a result in each."""
    request, *records = lines
    return request, {record["key"]: record["result"] for record in records}
