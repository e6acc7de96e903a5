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
from segarena.reports.boards.board_wording import NO_SHARED_SAMPLES_NOTE, SHARED_SAMPLES_NOTE
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
    shown = {one.name for one in board.statistics}
    return {
        "title": board.title,
        "frozen": board.frozen,
        "first": list(board.first_key),
        "words": list(board.entries[0].extract.words),
        "statistics": [_statistic(board, one) for one in board.statistics],
        "entries": [
            {**_entry(board, number, entry), **({"page": pages[number]} if pages else {})}
            for number, entry in enumerate(board.entries)
        ],
        "panels": [
            _panel(board, key, panel)
            for key, panel in board.panels.items()
            if key.statistic in shown
        ],
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
    return {
        "name": board.names[number],
        "participant": board.participants[number],
        "data": board.data[number],
        "at": "" if entry.time.year == 1 else entry.time.isoformat(timespec="minutes"),
        "chosen": entry.is_chosen,
        "unranked": board.unranked.get(number, ""),
        "floor": number in board.floors,
        "done": [extract.done, extract.samples],
        "failures": extract.failures,
        "seconds": {
            user: [_short(value), _seconds_text(value)] for user, value in extract.seconds.items()
        },
        "control": _control_kind(extract),
    }


def _control_kind(extract: Extract) -> str:
    if extract.segmenter.sees_truth:
        return "truth"
    return "blind" if extract.ignores_image else ""


def _panel(board: Board, key: PanelKey, panel: Panel) -> dict[str, Any]:
    statistic = next(one for one in board.statistics if one.name == key.statistic)
    return {
        "key": list(key),
        "entries": panel.entries,
        "mean": [round_mean(mean.mean) for mean in panel.means],
        "low": _list((mean.low for mean in panel.means), 4),
        "high": _list((mean.high for mean in panel.means), 4),
        "text": [value_text(statistic, mean.mean) for mean in panel.means],
        "bounds": [bounds_text(statistic, mean.low, mean.high) for mean in panel.means],
        "ahead": [_bits(row) for row in panel.ahead],
    }


def _samples(board: Board) -> list[dict[str, Any]]:
    return [
        {"key": [*key], "count": has.shape[1], "of": [_bits(row) for row in has]}
        for key, has in board.samples.items()
        if len({row.tobytes() for row in has if row.any()}) > 1
    ]


def _bits(row: NDArray[np.bool_]) -> str:
    return base64.b64encode(np.packbits(row).tobytes()).decode()


def _curves(board: Board) -> list[dict[str, Any]]:
    """Return for each data, user and metric the curves (mean, low, high) of the entries by number."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, entry in enumerate(board.entries):
        for user, curves in entry.extract.curves.items():
            for metric, curve in curves.items():
                key = (board.data[number], user, metric)
                lines = found.setdefault(
                    key, {"key": [*key[:2]], "title": metric_name(metric), "of": {}}
                )
                lines["of"][str(number)] = [
                    _list(ends, 4) for ends in (curve.mean, curve.low, curve.high)
                ]
    return list(found.values())


def _seconds_text(value: float | None) -> str:
    return seconds_text(math.nan if value is None else value)


def _list(values: Iterable[float | None], digits: int = 6) -> list[float | None]:
    return [_short(value, digits) for value in values]


def _short(value: float | None, digits: int = 6) -> float | None:
    return None if value is None or math.isnan(value) else float(f"{value:.{digits}g}")
