"""The result files of the Berkeley benchmark, in the published layout: numbers in columns, no headings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from segarena.files.whole import write_whole
from segarena.systems.scenes.edges.edge_summary import EdgePoint, EdgeSummary
from segarena.systems.scenes.edges.region_measures import RegionSummary


def write_edge_files(folder: Path, summary: EdgeSummary) -> list[Path]:
    """Write eval_bdry.txt, eval_bdry_img.txt and eval_bdry_thr.txt; return their paths.

    - eval_bdry.txt: threshold, recall, precision, F (ODS), recall, precision, F (OIS), AP.
    - eval_bdry_img.txt: number of the image from 1, its best threshold, recall, precision, F.
    - eval_bdry_thr.txt: threshold, recall, precision, F.
    """
    ods = summary.ods
    ois = summary.ois
    overall = [*_values(ods), ois.recall, ois.precision, ois.f, summary.ap]
    images = [[float(number), *_values(score)] for number, score in enumerate(summary.images, 1)]
    return [
        _write(folder / "eval_bdry.txt", [overall]),
        _write(folder / "eval_bdry_img.txt", images),
        _write(folder / "eval_bdry_thr.txt", [_values(score) for score in summary.curve]),
    ]


def write_region_files(folder: Path, summary: RegionSummary) -> list[Path]:
    """Write eval_cover.txt, eval_cover_img.txt, eval_cover_th.txt, eval_RI_VOI.txt and eval_RI_VOI_thr.txt.

    - eval_cover.txt: threshold, covering (ODS), covering (OIS), covering with the best segmentation per region.
    - eval_cover_img.txt: number of the image, its best threshold, covering, covering the other way round.
    - eval_cover_th.txt: threshold, covering.
    - eval_RI_VOI.txt: threshold, Rand index (ODS), (OIS); threshold, variation of information (ODS), (OIS).
    - eval_RI_VOI_thr.txt: threshold, Rand index, variation of information.
    """
    images = [[float(number), *row] for number, row in enumerate(summary.images.tolist(), 1)]
    return [
        _write(folder / "eval_cover.txt", [[*summary.covering, summary.covering_best]]),
        _write(folder / "eval_cover_img.txt", images),
        _write(folder / "eval_cover_th.txt", summary.curve[:, :2].tolist()),
        _write(folder / "eval_RI_VOI.txt", [[*summary.rand, *summary.information]]),
        _write(folder / "eval_RI_VOI_thr.txt", summary.curve[:, [0, 2, 3]].tolist()),
    ]


def _values(score: EdgePoint) -> list[float]:
    return [score.threshold, score.recall, score.precision, score.f]


def _write(path: Path, rows: Iterable[Sequence[float]]) -> Path:
    lines = [" ".join(f"{value:10.6g}" for value in row) + "\n" for row in rows]
    return write_whole(path, "".join(lines))
