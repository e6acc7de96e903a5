"""A board as JSON: a file for other programs, and the data for the script of its page."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.board import Board, Choice
from segarena.reports.boards.board_figures import FLOOR_LABEL, best_floor, curves_by_key
from segarena.reports.boards.board_wording import (
    NO_SHARED_SAMPLES_NOTE,
    SHARED_SAMPLES_NOTE,
    leader_text,
    median_seconds,
    range_text,
    run_remarks,
    shared_text,
    time_text,
)
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.statistic_rankings import PanelKey, round_mean
from segarena.reports.charts import MARKERS
from segarena.reports.wording import bounds_text, seconds_text, value_text


def board_data(board: Board) -> dict[str, Any]:
    """Return a board as JSON values, with the same content as its page.

    The key of a panel consists of its dataset, user, group and statistic. `ahead` contains, for
    each entry of the panel, a bit mask of the entries that it beats significantly, as base64 with
    the highest bit first. Values are numbers with their printed form. `samples` contains
    a bit mask of each entry's samples, if these differ between entries.
    """
    panels: list[dict[str, Any]] = []
    for key in board.shown_keys:
        ahead = board.panels[key].ahead
        panels.append({**_panel(board, key), "ahead": _bit_rows(ahead)})
    return {
        "title": board.title,
        "frozen": board.frozen,
        "first": list(board.first_key),
        "words": list(board.entries[0].extract.words),
        "statistics": [_statistic(board, statistic) for statistic in board.statistics],
        "entries": [_entry(board, number) for number in range(len(board.entries))],
        "panels": panels,
        "samples": _samples(board),
        "shared": [SHARED_SAMPLES_NOTE, NO_SHARED_SAMPLES_NOTE],
        "curves": _curves(board),
    }


def board_json(board: Board) -> str:
    """Return `board_data` as JSON text."""
    return json.dumps(board_data(board), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def page_data(
    board: Board,
    pages: Sequence[str],
    choices: Sequence[Choice],
) -> dict[str, Any]:
    """Return the data from which board.js redraws the ranking and the curves.

    Args:
        board: the board.
        pages: page address of each entry; empty if there are no pages.
        choices: the selections of runs between which the page can switch.

    The rows of a ranking are (entry, rank, range of ranks); the rank of an unranked entry is None.
    """
    runs: list[dict[str, Any]] = []
    for number, entry in enumerate(board.entries):
        run = _entry(board, number)
        run["note"] = run_remarks(board, number)
        run["page"] = pages[number] if pages else ""
        run["finished"] = time_text(entry.time, "%Y-%m-%d")
        runs.append(run)
    return {
        "first": list(board.first_key),
        "word": board.entries[0].extract.words[0],
        "statistics": board.statistic_names,
        "runs": runs,
        "panels": [_panel(board, key) for key in board.shown_keys],
        "rankings": list(_rankings(board, choices)),
        "curves": _curves(board),
        "markers": MARKERS,
        "floorLabel": FLOOR_LABEL,
    }


def _rankings(board: Board, choices: Sequence[Choice]) -> Iterator[dict[str, Any]]:
    # Comparing the samples of all pairs is slow, and panels with the same runs have the same notes,
    # so cache them.
    notes: dict[tuple[str, str, frozenset[int]], str] = {}
    for key, choice in product(board.shown_keys, choices):
        rows = board.rows(key, choice)
        rank_texts: list[tuple[int, int | None, str]] = []
        for row in rows:
            rank_texts.append((row.entry, row.place or None, range_text(row)))
        shown = frozenset(board.shown(key, choice))
        same_notes = (key.data, key.user, shown)
        if same_notes not in notes:
            notes[same_notes] = shared_text(board, key, rows)
        yield {
            "key": [*key, choice],
            "rows": rank_texts,
            "leader": leader_text(board, key, rows),
            "shared": notes[same_notes],
            "floor": best_floor(board, key),
        }


def _statistic(board: Board, statistic: Statistic) -> dict[str, Any]:
    about = board.entries[0].extract.definitions[statistic.name]
    return {"name": statistic.name, "definition": about, "higher": statistic.higher_is_better}


def _entry(board: Board, number: int) -> dict[str, Any]:
    entry = board.entries[number]
    extract = entry.extract
    seconds: dict[str, list[Any]] = {}
    for user, value in extract.seconds.items():
        seconds[user] = [_short(value), seconds_text(median_seconds(extract, user))]
    # Year 1 stands for an unknown time; see `time_of`.
    is_time_known = entry.time.year > 1
    return {
        "name": board.names[number],
        "participant": board.participants[number],
        "data": board.data[number],
        "at": entry.time.isoformat(timespec="minutes") if is_time_known else "",
        "chosen": entry.is_chosen,
        "unranked": board.unranked.get(number, ""),
        "floor": number in board.floors,
        "done": [extract.done, extract.samples],
        "failures": extract.failures,
        "seconds": seconds,
        "control": _control_kind(extract),
        "isolation": extract.segmenter.isolation,
    }


def _control_kind(extract: Extract) -> str:
    if extract.segmenter.sees_truth:
        return "truth"
    return "blind" if extract.ignores_image else ""


def _panel(board: Board, key: PanelKey) -> dict[str, Any]:
    panel = board.panels[key]
    statistic = board.statistic_of(key)
    means: list[float] = []
    lows: list[float | None] = []
    highs: list[float | None] = []
    texts: list[str] = []
    bounds: list[str] = []
    for interval in panel.means:
        means.append(round_mean(interval.mean))
        lows.append(_short(interval.low, 4))
        highs.append(_short(interval.high, 4))
        texts.append(value_text(statistic, interval.mean))
        bounds.append(bounds_text(statistic, interval.low, interval.high))
    return {
        "key": list(key),
        "entries": panel.entries,
        "mean": means,
        "low": lows,
        "high": highs,
        "text": texts,
        "bounds": bounds,
    }


def _samples(board: Board) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = []
    for key, has in board.samples.items():
        # Entries without any sample belong to other datasets.
        distinct = np.unique(has[has.any(axis=1)], axis=0)
        if len(distinct) > 1:
            samples.append({"key": [*key], "count": has.shape[1], "of": _bit_rows(has)})
    return samples


def _bit_rows(rows: NDArray[np.bool_]) -> list[str]:
    """Encode each row as a bit mask in base64, highest bit first."""
    texts: list[str] = []
    for row in rows:
        packed = np.packbits(row).tobytes()
        texts.append(base64.b64encode(packed).decode())
    return texts


def _curves(board: Board) -> list[dict[str, Any]]:
    """Return, for each dataset, user and metric, the curves (mean, low, high) by entry index."""
    found: list[dict[str, Any]] = []
    for key, curve_by_entry in curves_by_key(board).items():
        ends: dict[str, list[list[float | None]]] = {}
        for number, curve in curve_by_entry.items():
            mean = _numbers(curve.mean)
            ends[str(number)] = [mean, _numbers(curve.low), _numbers(curve.high)]
        found.append({"key": [key.data, key.user], "title": key.title, "of": ends})
    return found


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [_short(value, 4) for value in values]


def _short(value: float | None, digits: int = 6) -> float | None:
    """Round a value to a few significant digits; None for NaN, which JSON lacks."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{digits}g}")
