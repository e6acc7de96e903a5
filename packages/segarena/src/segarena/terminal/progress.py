"""Progress of long work: a bar on a terminal, a line every 15 seconds elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from segarena.terminal.remaining_time import RemainingTime
from segarena.work.executors import make_executor
from segarena.work.jobs import Workers
from segarena.work.progress import Progress

# A log gets lines instead of a bar, in an interval that shows activity without flooding the log.
_LINE_EVERY_S = 15.0
# A forecast of only a few seconds would not appear much before the result.
_MIN_FORECAST_S = 10.0
# Estimates below the first number are rounded to multiples of the second.
_ROUGH_STEPS = ((10, 1), (90, 5), (600, 60), (5400, 300), (36000, 1800))


class ProgressBar:
    """A progress display; use it as a context manager and pass `update` as `on_progress`.

    Each stage of the work has its own bar. Once a few units of a stage are done, a line forecasts
    the total time, unless only a few seconds remain.

    Args:
        title: text before the bar.
        console: console for the output.
        unit: plural name of a unit, if the progress does not name it.
        rate: key of `Progress.counts` to show per second; by default units per second.
        workers: the executor or number of processes, for the forecast.
    """

    def __init__(
        self,
        title: str,
        console: Console,
        *,
        unit: str = "samples",
        rate: str = "",
        workers: Workers = 1,
    ) -> None:
        self._title = title
        self._unit = unit
        self._rate = rate
        self._workers = max(1, make_executor(workers).workers)
        self._console = console
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rest]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._stages: dict[str, _Stage] = {}

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def update(self, state: Progress) -> None:
        """Show a new state of the work."""
        title = f"{self._title} {state.stage}" if state.stage else self._title
        stage = self._stages.get(state.stage)
        if stage is None:
            unit = state.unit or self._unit
            task = self._bar.add_task(title, total=None, rest="", unit=unit)
            stage = _Stage(task, RemainingTime(self._workers))
            self._stages[state.stage] = stage
        for note in state.notes[stage.notes :]:
            self._console.print(f"[yellow]{escape(note)}[/yellow]", highlight=False, soft_wrap=True)
        stage.notes = len(state.notes)
        stage.left_s = stage.remaining_time.update(state, time.monotonic())
        self._print_forecast(stage, state)
        rest = self._describe(stage, state)
        self._bar.update(stage.task, completed=state.done, total=state.units, rest=rest)
        now = time.monotonic()
        is_first_or_last = state.done in (state.resumed, state.units)
        is_due = is_first_or_last or now - stage.last_line >= _LINE_EVERY_S
        if not self._console.is_terminal and is_due:
            stage.last_line = now
            self._console.print(
                f"{title}: {state.done}/{state.units} {state.unit or self._unit}, {rest}"
            )

    def _print_forecast(self, stage: _Stage, state: Progress) -> None:
        if stage.left_s is None or stage.is_forecast:
            return
        stage.is_forecast = True
        all_s = time.monotonic() - stage.started + stage.left_s
        if stage.left_s >= _MIN_FORECAST_S:
            count = state.units - state.resumed
            units = f"{stage.remaining_time.units} of {count} {state.unit or self._unit}"
            self._console.print(f"about {rough_text(all_s)} in total, estimated from {units}")

    def _describe(self, stage: _Stage, state: Progress) -> str:
        if state.waiting_for:
            return f"waiting for {state.waiting_for}"
        elapsed_s = time.monotonic() - stage.started
        here = state.done - state.resumed
        amount = state.counts[self._rate] if self._rate else here
        if not (here or amount):
            return f"{state.resumed} done before" if state.resumed else "starting"
        speed = amount / elapsed_s if elapsed_s > 0 else 0.0
        left = ""
        if stage.left_s is not None:
            left = f", {rough_text(stage.left_s)} left"
        failed = f", {state.failures} failed" if state.failures else ""
        return f"{speed:.1f} {self._rate or state.unit or self._unit}/s{left}{failed}"


@dataclass(slots=True)
class _Stage:
    """The bar of one stage, and the times of its last outputs."""

    task: TaskID
    remaining_time: RemainingTime
    left_s: float | None = None
    started: float = field(default_factory=time.monotonic)
    last_line: float = field(default_factory=time.monotonic)
    is_forecast: bool = False
    notes: int = 0


def rough_text(seconds: float) -> str:
    """Format an estimated duration, rounded according to its uncertainty: "20 s", "4 min", "25 min", "3.5 h"."""
    for up_to_s, step_s in _ROUGH_STEPS:
        if seconds < up_to_s:
            return duration_text(step_s * round(seconds / step_s))
    return duration_text(seconds)


def duration_text(seconds: float) -> str:
    """Format seconds with a suitable unit: "80 s", "12 min", "3.4 h", "8.0 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
