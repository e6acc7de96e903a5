"""A board as a static site: its page, one page per sample and per run, and their assets.

The files can be opened with or without a web server. The pages of samples and runs are
named by numbers, so that a path never contains a name chosen by a participant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segarena.files.atomic_write import write_atomic
from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.boards.board import Board, Choice, Entry
from segarena.reports.boards.board_tables import board_csv, board_tex, hardest_targets
from segarena.reports.boards.json_export import board_json
from segarena.reports.boards.pages import ASSETS, asset_text, board_page, run_page, sample_page
from segarena.reports.boards.statistic_rankings import PanelKey
from segarena.reports.dialogue_gallery import make_gallery
from segarena.reports.page_parts import Gallery
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.round_table import DialogueId
from segarena.reports.run_statistics import TargetKey

MAX_PICTURED_RUNS = 6
"""Maximum number of runs with pictures on a sample's page; the best runs are chosen."""

MAX_PICTURED_SAMPLES = 60
"""Maximum number of samples with pictures; the hardest samples are chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFiles:
    """The files of a site.

    Attributes:
        index: the page of the board.
        pages: number of samples with a page.
        notes: one line for each item that could not be shown, with the reason.
    """

    index: Path
    pages: int
    notes: tuple[str, ...]


def write_site(
    board: Board,
    out: str | Path,
    *,
    runs: Mapping[Entry, str | Path] | None = None,
    choice: Choice = "all",
    trust: bool = False,
    data: str | Path | None = None,
    pictured: int = MAX_PICTURED_SAMPLES,
) -> SiteFiles:
    """Write a board as a static site.

    Args:
        board: the board.
        out: folder of the site; existing files are replaced.
        runs: run folder of each entry, for pictures; None for a site without pictures.
        choice: which runs of each participant are shown initially.
        trust: whether third-party datasets may be opened; see `segarena.records.plugin_trust`.
        data: current location of the dataset's files, if they have moved.
        pictured: maximum number of samples with pictures.

    Raises:
        StoreError: `out` cannot be written.
    """
    folder = Path(out)
    key = board.first_key
    hardest = hardest_targets(board, key)
    samples = list(dict.fromkeys(sample for sample, _ in hardest))
    pages = {sample: f"samples/{number:04d}.html" for number, sample in enumerate(samples, 1)}
    texts = {
        "board.csv": board_csv(board, key, choice),
        "board.json": board_json(board),
        "board.tex": board_tex(board, key, choice),
    }
    for name in ASSETS:
        texts[f"files/{name}"] = asset_text(name)
    notes: list[str] = []
    anchors: dict[TargetKey, str] = {}
    with restrict_plugins(trust=trust):
        drawn = None
        if runs:
            drawn = _SamplePictures(board, key, choice, runs, hardest, trust=trust, data=data)
        for number, sample in enumerate(samples):
            pictures = None
            if drawn is not None and number < pictured:
                pictures = drawn.gallery(sample)
            if pictures is not None:
                notes += pictures.notes
                for dialogue, anchor in pictures.shown.items():
                    anchors[dialogue[:2]] = anchor
            page = sample_page(
                board,
                key,
                sample,
                home="../index.html",
                choice=choice,
                pictures=pictures,
                before=_page_name(pages, samples, number - 1),
                after=_page_name(pages, samples, number + 1),
            )
            write_atomic(folder / pages[sample], page.html("../files/"))
    run_pages = _write_runs(board, key, folder, pages, anchors)
    index = board_page(
        board,
        choice=choice,
        files=(("board.csv", "CSV"), ("board.json", "JSON"), ("board.tex", "LaTeX")),
        pages=pages,
        anchors=anchors,
        runs=run_pages,
    )
    texts["index.html"] = index.html("files/")
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return SiteFiles(
        index=folder / "index.html", pages=len(samples), notes=tuple(dict.fromkeys(notes))
    )


def _write_runs(
    board: Board,
    key: PanelKey,
    folder: Path,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str],
) -> list[str]:
    """Write a page for each run and return their paths."""
    names = [f"runs/{number:04d}.html" for number in range(1, len(board.entries) + 1)]
    sample_pages = {sample: f"../{page}" for sample, page in pages.items()}
    for number, name in enumerate(names):
        # Sample pages show the data of the first panel only.
        is_on_shown_data = board.data[number] == key.data
        page = run_page(
            board,
            key,
            number,
            home="../index.html",
            pages=sample_pages if is_on_shown_data else None,
            anchors=anchors,
        )
        write_atomic(folder / name, page.html("../files/"))
    return names


def _page_name(
    pages: Mapping[str, str],
    samples: Sequence[str],
    number: int,
) -> str:
    """Return the file name of a sample's page; empty before the first and after the last sample."""
    if not 0 <= number < len(samples):
        return ""
    return pages[samples[number]].rpartition("/")[2]


class _SamplePictures:
    """Pictures of the best runs in the ranking, drawn by the report page of the benchmark."""

    def __init__(
        self,
        board: Board,
        key: PanelKey,
        choice: Choice,
        runs: Mapping[Entry, str | Path],
        hardest: Sequence[TargetKey],
        *,
        trust: bool,
        data: str | Path | None,
    ) -> None:
        best = [row.entry for row in board.rows(key, choice)[:MAX_PICTURED_RUNS]]
        folders = [runs[board.entries[entry]] for entry in best]
        recorded = read_runs(folders, trust=trust, data=data)
        # Label pictures with the run names of the board.
        renamed: list[Run] = []
        for run, entry in zip(recorded, best, strict=True):
            renamed.append(replace(run, label=board.names[entry]))
        self._own = page_of(renamed)
        self._targets: dict[str, list[DialogueId]] = {}
        for sample, target in hardest:
            self._targets.setdefault(sample, []).append((sample, target, key.user, 0))

    def gallery(self, sample: str) -> Gallery | None:
        """Build a card for each target of a sample; None if samples of this kind cannot be drawn."""
        if self._own.pictures is None:
            return None
        keys = self._targets[sample]
        return make_gallery(self._own, self._own.pictures, keys, every=keys)
