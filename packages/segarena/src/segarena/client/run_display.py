"""Terminal output of `segarena run --challenge`: progress, folder and scores of the run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from segarena.client.participate import evaluate, read_scores
from segarena.errors import RemoteError, StoreError
from segarena.reports.wording import count_text
from segarena.terminal.progress import ProgressBar


def participate_and_show(
    challenge: str,
    *,
    segmenter: str,
    workers: int = 1,
    **options: Any,
) -> int:
    """Run with a progress bar, print folder and scores; return the number of failures and of samples not loaded."""
    console = Console(stderr=True, emoji=False)
    here = Path.cwd()
    title = f"{challenge.rstrip('/').rpartition('/challenges/')[2]} · {segmenter}"

    def show_line(text: str) -> None:
        console.print(f"[yellow]{escape(text)}[/yellow]", soft_wrap=True)

    with ProgressBar(title, console, rate="rounds", workers=workers) as progress:
        folder = evaluate(
            challenge,
            segmenter=segmenter,
            workers=workers,
            on_progress=progress.update,
            on_trouble=show_line,
            on_notice=show_line,
            **options,
        )
    for note in folder.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]")
    counts = folder.config.counts
    if counts is None:  # only unfinished runs lack them
        raise StoreError(f"{folder.path}: the run is not finished; give the same command again")
    place = folder.path
    if place.is_relative_to(here):
        place = place.relative_to(here)
    summary = (
        f"{count_text(counts.samples, 'sample')}, {count_text(counts.rounds, 'round')}, "
        f"{count_text(counts.failures, 'failure')}"
    )
    if counts.unloaded:
        summary += f", {count_text(counts.unloaded, 'sample')} not loaded"
    console.print(f"run: {place}   {summary}", soft_wrap=True, highlight=False)
    if folder.config.metrics:
        console.print(
            f"report: segarena report {shlex.quote(str(place))}", soft_wrap=True, highlight=False
        )
    show_scores(folder.path, console)
    return counts.failures + counts.unloaded


def show_scores(folder: Path, console: Console) -> None:
    """Print the scores and the rank of a run, or the reason why the server does not send them."""
    try:
        participation, told = read_scores(folder)
    except RemoteError as error:
        console.print(f"[yellow]{escape(str(error))}[/yellow]", soft_wrap=True)
        return
    for line in score_lines(str(participation.address), told):
        console.print(escape(line), soft_wrap=True, highlight=False)


def score_lines(address: str, told: Mapping[str, Any]) -> list[str]:
    """Return the scores and the rank of a run as lines of text, or the reason why there are none."""
    scores = told.get("scores")
    lines = [f"{address}: {told.get('state', 'over')}"]
    if not isinstance(scores, Sequence) or not scores:
        return [*lines, *_unranked(told), str(told.get("why") or "scores are not shown yet")]
    lines += [_score(score) for score in scores if isinstance(score, Mapping)]
    lines += _unranked(told)
    if told.get("place") and told.get("of") and told.get("board"):
        lines.append(f"your best run has rank {told['place']} of {told['of']}: {told['board']}")
    return lines


def _unranked(told: Mapping[str, Any]) -> list[str]:
    reason = told.get("unranked")
    return [f"this run is not ranked: it is {reason}"] if reason else []


def _score(score: Mapping[str, Any]) -> str:
    low = score.get("low")
    high = score.get("high")
    between = "" if low is None or high is None else f" ({low} to {high})"
    return f"  {score.get('statistic', '')}, {score.get('user', '')}: {score.get('mean')}{between}"
