"""Build of all tiers from images and masks: stages, tables, lists and the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import DatasetError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256, sha256_of_file
from segarena.records.parquet_tables import parquet_bytes
from segarena.samples import Mask
from segarena.systems.oneshot.pairs.image_sources import ClassImage, ImageSource
from segarena.systems.oneshot.pairs.pair_table import pairs_table, write_pairs
from segarena.systems.oneshot.pairs.toss_lists import write_toss_lists
from segarena.systems.oneshot.tier_building import item_measures
from segarena.systems.oneshot.tier_building.generalization_tier import (
    ClassDecision,
    draw_generalization,
    select_classes,
    write_class_lists,
)
from segarena.systems.oneshot.tier_building.pair_sampling import (
    MeasuredItems,
    PairRow,
    TierSample,
)
from segarena.systems.oneshot.tier_building.query_complexity_tier import draw_query_complexity
from segarena.systems.oneshot.tier_building.score_availability import missing_scores
from segarena.systems.oneshot.tier_building.stage_cache import (
    StageJob,
    make_stage_job,
    run_stage,
)
from segarena.systems.oneshot.tier_building.support_cognizance_tier import (
    draw_support_cognizance,
    similarity_cuts,
)
from segarena.systems.oneshot.tier_building.tier_build_options import (
    PUBLISHED_DATASETS,
    BuildPlan,
    assign_partitions,
    check_folds,
    check_plan,
    partition_thresholds,
)
from segarena.version import __version__
from segarena.work.executors import make_executor
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class TierBuild:
    """Result of a build."""

    pairs: pl.DataFrame
    items: pl.DataFrame  # measured items with partition and fold
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurements:
    items: pl.DataFrame  # usable items with their measured columns
    looks: NDArray[np.float64]  # an appearance vector per item
    left_out: dict[str, str]  # unusable items, with the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draws:
    pairs: pl.DataFrame
    shortfalls: list[dict[str, Any]]
    cuts: dict[str, float]  # minimum similarity of L2 for each class
    decisions: list[ClassDecision]  # on the classes of the Generalization tier


def build_tiers(
    source: ImageSource,
    out: Path,
    plan: BuildPlan,
    *,
    workers: Workers = 0,
    share: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> TierBuild:
    """Build tiers; the same source, plan and version give byte-identical files.

    Writes under `out`: `pairs.parquet` and `pairs.jsonl` (all tiers and levels), `items.parquet`
    (measured items), `manifest.json`, and `stages/`, from which an interrupted call resumes. A
    dataset of `PUBLISHED_DATASETS` also gets lists in the published format in `published/`, and a
    plan with training classes gets `keep.txt` and `drop.txt`.

    Args:
        source: images and masks.
        out: folder that receives the files.
        plan: options of the build.
        workers: number of processes that measure; 0 measures in this process.
        share: divide the measuring among all processes that run this build in the same folder;
            each of them returns the full result.
        on_progress: callback that receives the progress.

    Raises:
        DatasetError: no item can be used, no pair can be drawn, or the folds name classes without
            images.
        InvalidInput: a threshold is out of range, a class is in two folds, or an option of a stage
            is invalid.
    """
    check_plan(plan)
    requested = _requested_items(source, plan)
    measurements = _measure_items(
        source, requested, plan, out / "stages", workers=workers, share=share, progress=on_progress
    )
    left_out = measurements.left_out
    if not measurements.items.height:
        first = next(iter(left_out.values()), "there are no items")
        raise DatasetError(f"no item can be used; first reason: {first}")
    thresholds = partition_thresholds(measurements.items, plan)
    items = assign_partitions(measurements.items, thresholds, plan)
    draws = _draw_pairs(items, measurements.looks, source, plan)
    pairs = draws.pairs
    if not pairs.height:
        raise DatasetError("no pair could be drawn: no class has two images; add more images")
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / "items.parquet", parquet_bytes(items))
    write_pairs(pairs, out / "pairs.parquet")
    write_pairs(pairs, out / "pairs.jsonl")
    written = [out / name for name in ("items.parquet", "pairs.jsonl", "pairs.parquet")]
    toss_lists: list[Path] = []
    if plan.name in PUBLISHED_DATASETS:
        toss_lists = write_toss_lists(pairs, out / "published")
    if plan.training:
        written += write_class_lists(draws.decisions, out)
    digests: dict[str, str] = {}
    for file in (*written, *toss_lists):
        digests[file.relative_to(out).as_posix()] = sha256_of_file(file)
    manifest = {
        "segarena": __version__,
        "plan": asdict(plan),
        "inputs": {
            "items": len(requested),
            "sha256": sha256(*items["sha256"].to_list()),
            "used": items.height,
        },
        "thresholds": {**thresholds, "similar_from": draws.cuts},
        "counts": _count_cells(pairs),
        "missing_scores": missing_scores(pairs),
        "shortfalls": draws.shortfalls,
        "left_out": left_out,
        "classes_of_generalization": [asdict(decision) for decision in draws.decisions],
        "files": digests,
    }
    write_atomic(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return TierBuild(pairs=pairs, items=items, manifest=manifest)


def _requested_items(source: ImageSource, plan: BuildPlan) -> list[ClassImage]:
    """Return the items of the plan's classes, sorted by image; without folds, those of all classes."""
    # Measures keep the last image in memory, so items of one image must be consecutive.
    items = sorted(source.items(), key=lambda item: (item[1], item[0]))
    check_folds(plan, {label for label, _ in items})
    if not plan.folds:
        return items
    classes = {*chain.from_iterable(plan.folds), *plan.training}
    return [item for item in items if item[0] in classes]


def _measure_items(
    source: ImageSource,
    requested: Sequence[ClassImage],
    plan: BuildPlan,
    folder: Path,
    *,
    workers: Workers,
    share: bool,
    progress: OnProgress,
) -> _Measurements:
    """Measure the items that can be used, which the stage `index` decides."""
    executor = make_executor(workers)
    run = partial(run_stage, folder, executor=executor, share=share, on_progress=progress)
    files: dict[Path, None] = {}
    for item in requested:
        files.update(dict.fromkeys(source.files(*item)))
    inputs = {"segarena": __version__, "files": _fingerprint_files(files)}
    threshold = plan.saliency_threshold
    salience_job = make_stage_job(
        item_measures.salience_measure, source, plan.saliency, threshold=threshold
    )
    difficulty_job = make_stage_job(item_measures.difficulty_measure, source, plan.difficulty)
    looks_job = make_stage_job(item_measures.appearance_measure, source, plan.looks)
    # Measuring takes long, so all options are checked before it starts.
    for job in (salience_job, difficulty_job, looks_job):
        job.check(executor)
    index = run(
        "index",
        requested,
        make_stage_job(item_measures.index_measure, source, min_area_px=plan.min_area_px),
        columns=item_measures.INDEX_COLUMNS,
        parameters={**inputs, "min_area_px": plan.min_area_px},
    )
    left_out: dict[str, str] = {}
    for row in index.filter(pl.col("left_out") != "").iter_rows(named=True):
        left_out[f"{row['class']} in {row['image']}"] = row["left_out"]
    index = index.filter(pl.col("left_out") == "").drop("left_out")
    usable: list[ClassImage] = list(index.select("class", "image").iter_rows())

    def measure(
        name: str,
        job: StageJob,
        dtype: Any,
        parameters: Mapping[str, Any],
    ) -> pl.Series:
        stage = run(name, usable, job, columns={name: dtype}, parameters={**inputs, **parameters})
        return stage[name]

    salience_parameters = {"saliency": _describe_method(plan.saliency), "threshold": threshold}
    difficulty_parameters = {"difficulty": _describe_method(plan.difficulty)}
    looks_parameters = {"looks": _describe_method(plan.looks)}
    salience = measure("salience", salience_job, pl.Float64, salience_parameters)
    difficulty = measure("difficulty", difficulty_job, pl.Float64, difficulty_parameters)
    looks = measure("looks", looks_job, pl.List(pl.Float64), looks_parameters)
    return _Measurements(
        items=index.with_columns(salience, difficulty),
        looks=np.array(looks.to_list(), np.float64),
        left_out=left_out,
    )


def _draw_pairs(
    items: pl.DataFrame,
    looks: NDArray[np.float64],
    source: ImageSource,
    plan: BuildPlan,
) -> _Draws:
    def mask_of(label: str, image: str) -> Mask:
        return source.mask(label, image).mask

    # Without folds, every class is tested.
    tested_column = "fold" if plan.folds else "class"
    is_tested = items[tested_column].is_not_null().to_numpy()
    tested = MeasuredItems(items.filter(is_tested), looks[is_tested], plan.seed)
    cuts = similarity_cuts(tested, per_class=plan.similar_per == "class")
    samples = [
        draw_query_complexity(tested, plan.quotas, plan.name),
        draw_support_cognizance(tested, plan.quotas, cuts, plan.motion, mask_of, plan.name),
    ]
    decisions: list[ClassDecision] = []
    if plan.training:
        means: dict[str, NDArray[np.float64]] = {}
        for label in (*tested.classes, *plan.training):
            is_label = (items["class"] == label).to_numpy()
            if is_label.any():  # a training class may have no image here
                means[label] = looks[is_label].mean(axis=0)
        decisions = select_classes(
            tested.classes, plan.training, looks=means, keep=plan.keep, drop=plan.drop
        )
        kept = [decision.label for decision in decisions if decision.keep]
        samples.append(draw_generalization(tested, plan.quotas, kept, plan.name))
    shortfalls: list[Any] = []
    for sample in samples:
        shortfalls += sample.shortfalls
    return _Draws(
        pairs=_table_of_lists(samples),
        shortfalls=shortfalls,
        cuts=cuts,
        decisions=decisions,
    )


def _table_of_lists(samples: Iterable[TierSample]) -> pl.DataFrame:
    """Return all pairs as one table, divided into lists with published names."""
    rows_by_list: dict[str, list[PairRow]] = {}
    for sample in samples:
        for row in sample.rows:
            name = _list_name(row)
            rows_by_list.setdefault(name, []).append({"list": name, **row})
    if not rows_by_list:
        return pairs_table([])
    return pl.concat([pairs_table(rows) for _, rows in sorted(rows_by_list.items())])


def _list_name(row: PairRow) -> str:
    """Return the published list name of a pair; a build without folds uses fold 0."""
    if row["tier"] == "generalization":
        return "general_tier"
    fold = row["fold"] or 0
    if row["tier"] == "query-complexity":
        return f"split{fold}_q_{row['partition']}"
    return f"split{fold}_tier2"


def _count_cells(pairs: pl.DataFrame) -> list[dict[str, Any]]:
    cell = ["tier", "fold", "partition", "level"]
    counts = pairs.group_by(cell).agg(
        pairs=pl.len(),
        queries=pl.col("query").n_unique(),
        classes=pl.col("class").n_unique(),
    )
    return counts.sort(cell, nulls_last=False).to_dicts()


def _describe_method(written: str) -> Any:
    """Return a method as a stage parameter; if it names a file or folder, add a fingerprint of the files."""
    if ".py:" in written:
        path = Path(written.partition(".py:")[0] + ".py").expanduser()
    else:
        path = Path(written).expanduser()
    files: list[Path] = []
    if path.is_file():
        files = [path]
    elif path.is_dir():
        files = sorted(path.rglob("*"))
    if not files:
        return written
    return {"written": written, "files": _fingerprint_files(files)}


def _fingerprint_files(files: Iterable[Path]) -> str:
    """Hash the names, sizes and modification times of files, which tells whether a file has changed."""
    lines: list[str] = []
    for file in files:
        size = 0
        modified_ns = 0
        if file.is_file():
            state = file.stat()
            size = state.st_size
            modified_ns = state.st_mtime_ns
        lines.append(f"{file.name} {size} {modified_ns}\n")
    return sha256(*lines)
