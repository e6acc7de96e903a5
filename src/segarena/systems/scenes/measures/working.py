"""Work on many images, one line of a file for each that is done: what was interrupted goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from segarena.errors import SegarenaError
from segarena.work.executors import executor_of
from segarena.work.jobs import Calling
from segarena.work.ledger import Ledger
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
        _upgrade(file)
    with Ledger(file, request) as ledger:
        failures = work_through(Calling(work), items, ledger, executor_of(workers), on_progress=on_progress)
    for key, error in failures.items():
        raise _for_all(key, error, failures)
    return {key: ledger.done[key] for key in items}


def _for_all(key: str, error: SegarenaError, failures: Mapping[str, SegarenaError]) -> SegarenaError:
    kept = "" if len(failures) == 1 else f" ({len(failures)} images fail; the others are done)"
    return type(error)(f"{key}: {error}{kept}")


def _upgrade(file: Path) -> None:
    """Make a ledger of a file of an earlier version: the request in the first line, then a key and a result in each."""
    lines = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
    if not lines or b'"ledger":' in lines[0]:
        return
    request, *records = (json.loads(line) for line in lines)
    upgraded = file.with_name(f"{file.name}.upgraded")
    upgraded.unlink(missing_ok=True)
    with Ledger(upgraded, request) as ledger:
        for record in records:
            ledger.add(record["key"], record["result"])
    upgraded.replace(file)
