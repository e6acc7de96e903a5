"""How far a run is: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from segarena.engine import evaluate

_LINE_EVERY_S = 15.0
_WORTH_SAYING_S = 10.0


class RunProgress:
    """Shows the progress of a run; use as a context manager and pass `update` as `on_progress`.

    Once the first sample is done, a line says how long all of them may take, unless that is seconds.
    """

    def __init__(self, title: str, console: Console, *, workers: int = 1) -> None:
        self._title = title
        self._workers = max(1, workers)
        self._is_estimated = False
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("samples"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rest]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None, rest="")
        self._started = time.monotonic()
        self._last_line = self._started

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, state: evaluate.Progress) -> None:
        """Take the new state of the run."""
        self._estimate(state)
        rest = self._describe(state)
        self._bar.update(self._task, completed=state.done, total=state.samples, rest=rest)
        now = time.monotonic()
        is_due = now - self._last_line >= _LINE_EVERY_S or state.done in (state.resumed, state.samples)
        if not self._console.is_terminal and is_due:
            self._last_line = now
            self._console.print(f"{self._title}: {state.done}/{state.samples} samples, {rest}")

    def _estimate(self, state: evaluate.Progress) -> None:
        here, pending = state.done - state.resumed, state.samples - state.resumed
        if not here or self._is_estimated:
            return
        self._is_estimated = True
        all_s = state.seconds / here * pending / min(self._workers, pending)
        if pending > here and all_s >= _WORTH_SAYING_S:
            self._console.print(f"about {duration_text(all_s)} in all, as the first of {pending} samples went")

    def _describe(self, state: evaluate.Progress) -> str:
        elapsed_s = time.monotonic() - self._started
        here = state.done - state.resumed
        if not here:
            return f"{state.resumed} done before" if state.resumed else "starting"
        left_s = elapsed_s / here * (state.samples - state.done)
        rate = state.rounds / elapsed_s if elapsed_s > 0 else 0.0
        failed = f", {state.failures} failed" if state.failures else ""
        return f"{rate:.1f} rounds/s, {duration_text(left_s)} left{failed}"


def duration_text(seconds: float) -> str:
    """Return seconds in the unit that reads best: "80 s", "12 min", "3.4 h", "8.0 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
