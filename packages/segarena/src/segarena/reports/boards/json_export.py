"""A board as JSON, for the script of its page and for other programs."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.board import Board, Entry
from segarena.reports.boards.board_wording import (
    NO_SHARED_SAMPLES_NOTE,
    SHARED_SAMPLES_NOTE,
    statistic_of,
)
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.panels import Panel, PanelKey, round_mean
from segarena.reports.display_names import metric_name
from segarena.reports.wording import bounds_text, seconds_text, value_text


def board_data(board: Board, pages: Sequence[str] = ()) -> dict[str, Any]:
    """Return a board as JSON values, all of which the page shows too.

    `pages` holds the addresses of the entries' own pages. The key of a panel is its data, user,
    group and statistic. `ahead` has for each entry of the panel a bit mask, in base64 with the
    highest bit first, of the entries that it beats significantly. Values are numbers and printed
    texts. `samples` has for each entry a bit mask of its samples, if entries differ in them.
    """
    shown = {statistic.name for statistic in board.statistics}
    entries: list[dict[str, Any]] = []
    for number, entry in enumerate(board.entries):
        values = _entry(board, number, entry)
        if pages:
            values["page"] = pages[number]
        entries.append(values)
    panels: list[dict[str, Any]] = []
    for key, panel in board.panels.items():
        if key.statistic in shown:
            panels.append(_panel(board, key, panel))
    return {
        "title": board.title,
        "frozen": board.frozen,
        "first": list(board.first_key),
        "words": list(board.entries[0].extract.words),
        "statistics": [_statistic(board, statistic) for statistic in board.statistics],
        "entries": entries,
        "panels": panels,
        "samples": _samples(board),
        "shared": [SHARED_SAMPLES_NOTE, NO_SHARED_SAMPLES_NOTE],
        "curves": _curves(board),
    }


def board_json(board: Board) -> str:
    """Return `board_data` as JSON text."""
    return json.dumps(board_data(board), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _statistic(board: Board, statistic: Statistic) -> dict[str, Any]:
    about = board.entries[0].extract.definitions[statistic.name]
    return {"name": statistic.name, "definition": about, "higher": statistic.higher_is_better}


def _entry(board: Board, number: int, entry: Entry) -> dict[str, Any]:
    extract = entry.extract
    seconds: dict[str, list[Any]] = {}
    for user, value in extract.seconds.items():
        seconds[user] = [_short(value), _seconds_text(value)]
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
    }


def _control_kind(extract: Extract) -> str:
    if extract.segmenter.sees_truth:
        return "truth"
    return "blind" if extract.ignores_image else ""


def _panel(board: Board, key: PanelKey, panel: Panel) -> dict[str, Any]:
    statistic = statistic_of(board, key)
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
        "ahead": [_bits(row) for row in panel.ahead],
    }


def _samples(board: Board) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = []
    for key, has in board.samples.items():
        # Entries without any sample are on other data.
        distinct = {row.tobytes() for row in has if row.any()}
        if len(distinct) > 1:
            bits = [_bits(row) for row in has]
            samples.append({"key": [*key], "count": has.shape[1], "of": bits})
    return samples


def _bits(row: NDArray[np.bool_]) -> str:
    packed = np.packbits(row).tobytes()
    return base64.b64encode(packed).decode()


def _curves(board: Board) -> list[dict[str, Any]]:
    """Return for each data, user and metric the curves (mean, low, high) of the entries by number."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, entry in enumerate(board.entries):
        data = board.data[number]
        for user, curves in entry.extract.curves.items():
            for metric, curve in curves.items():
                key = (data, user, metric)
                if key not in found:
                    found[key] = {"key": [data, user], "title": metric_name(metric), "of": {}}
                ends = (curve.mean, curve.low, curve.high)
                found[key]["of"][str(number)] = [_list(values, 4) for values in ends]
    return list(found.values())


def _seconds_text(value: float | None) -> str:
    if value is None:
        value = math.nan
    return seconds_text(value)


def _list(values: Iterable[float | None], digits: int = 6) -> list[float | None]:
    return [_short(value, digits) for value in values]


def _short(value: float | None, digits: int = 6) -> float | None:
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.{digits}g}")
