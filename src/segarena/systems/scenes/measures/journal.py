"""Work on many images, one line of a file for each that is done: what was interrupted goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from segarena.errors import InvalidInput, RunConflict

Item = TypeVar("Item")
Record = dict[str, Any]


class Journal:
    """A file of JSON lines: first what was asked for, then one record per finished image.

    Args:
        path: the file; None keeps nothing.
        request: what was asked for; a file of another request is refused.

    Raises:
        RunConflict: the file holds the results of another request.
        InvalidInput: it cannot be read or written.
    """

    def __init__(self, path: Path | None, request: Record) -> None:
        self._path = path
        self.done: dict[str, Record] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_bytes().split(b"\n") if path.exists() else []
        except OSError as error:
            raise InvalidInput(f"{path}: expected a file that can be written, got: {error.strerror}") from error
        # What follows the last line end was cut off while it was written, and is done again.
        kept = [json.loads(line) for line in lines[:-1]]
        if kept and kept[0] != json.loads(json.dumps(request)):
            raise RunConflict(
                f"{path}: expected results of this request, found those of {json.dumps(kept[0])}; give another folder"
            )
        self.done = {record["key"]: record["result"] for record in kept[1:]}
        if not kept:
            self._write([request])
        elif lines[-1]:
            self._write(kept)

    def add(self, key: str, result: Record) -> None:
        """Keep the result of one image."""
        self.done[key] = result
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "result": result}) + "\n")

    def _write(self, lines: Sequence[Record]) -> None:
        if self._path is not None:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            try:
                self._path.write_text(text, encoding="utf-8")
            except OSError as error:
                raise InvalidInput(f"{self._path} cannot be written: {error.strerror}") from error


def work_through(
    items: Sequence[tuple[str, Item]], work: Callable[[Item], Record], journal: Journal, *, workers: int = 1
) -> Iterator[tuple[str, Record]]:
    """Yield (key, result) of every item, those done before first; the rest as they are finished, in order.

    Args:
        items: (key, what to work on), keys distinct.
        work: a function of a module, so that it can be sent to a process.
        journal: what was done before, and where results are kept.
        workers: processes; 1 works in this one.
    """
    yield from ((key, journal.done[key]) for key, _ in items if key in journal.done)
    todo = [(key, item) for key, item in items if key not in journal.done]
    if workers < 2 or len(todo) < 2:
        results: Iterator[Record] = map(work, [item for _, item in todo])
        for (key, _), result in zip(todo, results, strict=True):
            journal.add(key, result)
            yield key, result
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for (key, _), result in zip(todo, pool.map(work, [item for _, item in todo]), strict=True):
            journal.add(key, result)
            yield key, result
