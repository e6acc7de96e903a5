"""Result files in the published layout of the Berkeley benchmark: columns of numbers without headings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.edges.edge_summary import EdgePoint, EdgeSummary
from segarena.systems.scenes.edges.region_measures import RegionSummary


def write_edge_files(folder: Path, summary: EdgeSummary) -> list[Path]:
    """Write eval_bdry.txt, eval_bdry_img.txt and eval_bdry_thr.txt; return their paths.

    - eval_bdry.txt: threshold, recall, precision, F (ODS), recall, precision, F (OIS), AP.
    - eval_bdry_img.txt: index of the image from 1, its best threshold, recall, precision, F.
    - eval_bdry_thr.txt: threshold, recall, precision, F.
    """
    ois = summary.ois
    overall = [*_values(summary.ods), ois.recall, ois.precision, ois.f, summary.ap]
    images: list[list[float]] = []
    for number, point in enumerate(summary.images, 1):
        images.append([float(number), *_values(point)])
    return [
        _write(folder / "eval_bdry.txt", [overall]),
        _write(folder / "eval_bdry_img.txt", images),
        _write(folder / "eval_bdry_thr.txt", [_values(point) for point in summary.curve]),
    ]


def write_region_files(folder: Path, summary: RegionSummary) -> list[Path]:
    """Write eval_cover.txt, eval_cover_img.txt, eval_cover_th.txt, eval_RI_VOI.txt and eval_RI_VOI_thr.txt.

    - eval_cover.txt: threshold, covering (ODS), covering (OIS), covering with the best segmentation
      per region.
    - eval_cover_img.txt: index of the image, its best threshold, covering, reverse covering.
    - eval_cover_th.txt: threshold, covering.
    - eval_RI_VOI.txt: threshold, Rand index (ODS), (OIS); threshold, variation of information
      (ODS), (OIS).
    - eval_RI_VOI_thr.txt: threshold, Rand index, variation of information.
    """
    images: list[list[float]] = []
    for number, row in enumerate(summary.images.tolist(), 1):
        images.append([float(number), *row])
    covering_curve = summary.curve[:, :2].tolist()
    other_curve = summary.curve[:, [0, 2, 3]].tolist()
    return [
        _write(folder / "eval_cover.txt", [[*summary.covering, summary.covering_best]]),
        _write(folder / "eval_cover_img.txt", images),
        _write(folder / "eval_cover_th.txt", covering_curve),
        _write(folder / "eval_RI_VOI.txt", [[*summary.rand, *summary.information]]),
        _write(folder / "eval_RI_VOI_thr.txt", other_curve),
    ]


def _values(point: EdgePoint) -> list[float]:
    return [point.threshold, point.recall, point.precision, point.f]


def _write(path: Path, rows: Iterable[Sequence[float]]) -> Path:
    lines: list[str] = []
    for row in rows:
        columns = [f"{value:10.6g}" for value in row]
        lines.append(" ".join(columns) + "\n")
    return write_atomic(path, "".join(lines))
