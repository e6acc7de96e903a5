"""From images and masks to tiers: all stages in order, the tables they leave, and the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import DatasetError
from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.whole import write_whole
from segarena.records.parquet_tables import parquet_bytes
from segarena.systems.oneshot.pairs.image_sources import ClassImage, ImageSource
from segarena.systems.oneshot.pairs.pair_table import pairs_table, write_pairs
from segarena.systems.oneshot.pairs.toss_lists import write_toss_lists
from segarena.systems.oneshot.tier_building import generalization_tier, item_measures
from segarena.systems.oneshot.tier_building.build_plan import (
    PUBLISHED_DATASETS,
    BuildPlan,
    assign_partitions,
    check_folds,
    check_plan,
    partition_thresholds,
)
from segarena.systems.oneshot.tier_building.pair_sampling import (
    MeasuredItems,
    TierSample,
    draw_generalization,
    draw_query_complexity,
    draw_support_cognizance,
    similarity_cuts,
)
from segarena.systems.oneshot.tier_building.score_availability import missing_scores
from segarena.systems.oneshot.tier_building.stage_cache import StageJob, make_stage_job, run_stage
from segarena.version import __version__
from segarena.work.executors import make_executor
from segarena.work.jobs import Executor, Workers
from segarena.work.progress import OnProgress, ignore_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class TierBuild:
    """What was built."""

    pairs: pl.DataFrame
    items: pl.DataFrame  # measured items, with partition and fold
    manifest: dict[str, Any]


def build_tiers(
    source: ImageSource,
    out: Path,
    plan: BuildPlan,
    *,
    workers: Workers = 0,
    share: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> TierBuild:
    """Build tiers of a source of images and masks; the same source, plan and version give the same bytes.

    With `share` what is measured is divided among all processes that build the same here, and each returns all of it.

    Written under `out`: `pairs.parquet` and `pairs.jsonl` (every tier and level), `items.parquet` (what was
    measured), `published/` where the data set's names have that form, `keep.txt` and `drop.txt` with training classes,
    `manifest.json`, and `stages/`, from where an interrupted call goes on.

    Raises:
        DatasetError: no item can be used, or classes of the folds are not there.
        InvalidInput: see the stages; a threshold out of range.
    """
    check_plan(plan)
    all_items = sorted(source.items(), key=lambda item: (item[1], item[0]))
    check_folds(plan, {label for label, _ in all_items})
    in_folds = {*chain(*plan.folds), *(plan.training if plan.folds else ())}
    wanted = [item for item in all_items if not plan.folds or item[0] in in_folds]
    run = partial(
        run_stage,
        out / "stages",
        executor=make_executor(workers),
        share=share,
        on_progress=on_progress,
    )
    items, looks, left_out = _measured(source, wanted, plan, make_executor(workers), run)
    if not items.height:
        raise DatasetError(
            f"no item can be used; the first: {next(iter(left_out.values()), 'there are none')}"
        )
    thresholds = partition_thresholds(items, plan)
    items = assign_partitions(items, thresholds, plan)
    pairs, shortfalls, cuts, verdicts = _drawn(items, looks, source, plan)
    if not pairs.height:
        raise DatasetError("no pair could be drawn: no class has two images; give more images")
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "items.parquet", parquet_bytes(items))
    write_pairs(pairs, out / "pairs.parquet")
    write_pairs(pairs, out / "pairs.jsonl")
    lists = write_toss_lists(pairs, out / "published") if plan.name in PUBLISHED_DATASETS else []
    written = [out / name for name in ("items.parquet", "pairs.jsonl", "pairs.parquet")]
    if plan.training:
        written += generalization_tier.write_class_lists(verdicts, out)
    manifest = {
        "segarena": __version__,
        "plan": asdict(plan),
        "inputs": {
            "items": len(wanted),
            "sha256": sha256(*items["sha256"].to_list()),
            "used": items.height,
        },
        "thresholds": {**thresholds, "similar_from": cuts},
        "counts": _counts(pairs),
        "missing_scores": missing_scores(pairs),
        "shortfalls": shortfalls,
        "left_out": left_out,
        "classes_of_generalization": [asdict(verdict) for verdict in verdicts],
        "files": {
            file.relative_to(out).as_posix(): sha256_of_file(file) for file in [*written, *lists]
        },
    }
    write_whole(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return TierBuild(pairs=pairs, items=items, manifest=manifest)


def _measured(
    source: ImageSource,
    wanted: Sequence[ClassImage],
    plan: BuildPlan,
    executor: Executor,
    run: Callable[..., pl.DataFrame],
) -> tuple[pl.DataFrame, np.ndarray[Any, np.dtype[np.float64]], dict[str, str]]:
    """Return what was measured of items that can be used, their looks, and why others cannot."""
    files = dict.fromkeys(chain.from_iterable(source.files(*item) for item in wanted))
    version = {"segarena": __version__, "files": _state(files)}

    def stage(
        name: str,
        items: Sequence[ClassImage],
        job: StageJob,
        columns: Mapping[str, Any],
        **parameters: Any,
    ) -> pl.DataFrame:
        return run(name, items, job, columns=columns, parameters={**version, **parameters})

    threshold = plan.saliency_threshold
    stages = {
        "salience": (
            make_stage_job(
                item_measures.salience_measure, source, plan.saliency, threshold=threshold
            ),
            pl.Float64,
        ),
        "difficulty": (
            make_stage_job(item_measures.difficulty_measure, source, plan.difficulty),
            pl.Float64,
        ),
        "looks": (
            make_stage_job(item_measures.appearance_measure, source, plan.looks),
            pl.List(pl.Float64),
        ),
    }
    parameters: dict[str, dict[str, Any]] = {
        "salience": {"saliency": _named(plan.saliency), "threshold": threshold},
        "difficulty": {"difficulty": _named(plan.difficulty)},
        "looks": {"looks": _named(plan.looks)},
    }
    # What is asked for wrongly is said before anything is measured.
    for job, _ in stages.values():
        job.check(executor)
    find_places = make_stage_job(item_measures.index_measure, source, min_area_px=plan.min_area_px)
    index = stage(
        "index", wanted, find_places, item_measures.INDEX_COLUMNS, min_area_px=plan.min_area_px
    )
    bad = index.filter(pl.col("left_out") != "")
    left_out = {
        f"{row['class']} in {row['image']}": row["left_out"] for row in bad.iter_rows(named=True)
    }
    index = index.filter(pl.col("left_out") == "").drop("left_out")
    good = list(index.select("class", "image").iter_rows())
    found = {
        name: stage(name, good, job, {name: kind}, **parameters[name])
        for name, (job, kind) in stages.items()
    }
    items = index.with_columns(found["salience"]["salience"], found["difficulty"]["difficulty"])
    looks = np.array(found["looks"]["looks"].to_list(), np.float64)
    return items, looks, left_out


def _drawn(
    items: pl.DataFrame,
    looks: np.ndarray[Any, np.dtype[np.float64]],
    source: ImageSource,
    plan: BuildPlan,
) -> tuple[
    pl.DataFrame, list[dict[str, Any]], dict[str, float], list[generalization_tier.ClassDecision]
]:
    is_tested = (
        items["fold"].is_not_null() if plan.folds else items["class"].is_not_null()
    ).to_numpy()
    tested = MeasuredItems(items.filter(is_tested), looks[is_tested], plan.seed)
    cuts = similarity_cuts(tested, per_class=plan.similar_per == "class")
    parts = {
        "complexity": draw_query_complexity(tested, plan.quotas, plan.name),
        "cognizance": draw_support_cognizance(
            tested,
            plan.quotas,
            cuts,
            plan.motion,
            lambda label, image: source.mask(label, image).mask,
            plan.name,
        ),
    }
    verdicts: list[generalization_tier.ClassDecision] = []
    if plan.training:
        means: dict[str, NDArray[np.float64]] = {}
        for label in (*tested.classes, *plan.training):
            of_class = (items["class"] == label).to_numpy()
            if of_class.any():  # there may be no image of a training class
                means[label] = looks[of_class].mean(axis=0)
        verdicts = generalization_tier.select_classes(
            tested.classes, plan.training, looks=means, keep=plan.keep, drop=plan.drop
        )
        kept = [verdict.label for verdict in verdicts if verdict.keep]
        parts["general"] = draw_generalization(tested, plan.quotas, kept, plan.name)
    return (
        _listed(parts),
        list(chain.from_iterable(part.shortfalls for part in parts.values())),
        cuts,
        verdicts,
    )


def _listed(parts: Mapping[str, TierSample]) -> pl.DataFrame:
    """Return all pairs as a table, in lists called as the published ones; a build without folds is fold 0 of these."""
    named: dict[str, list[dict[str, Any]]] = {}
    for part in parts.values():
        for row in part.rows:
            named.setdefault(_list_of(row), []).append(row)
    tables = [
        pairs_table([{"list": name, **row} for row in rows]) for name, rows in sorted(named.items())
    ]
    return pl.concat(tables) if tables else pairs_table([])


def _list_of(row: Mapping[str, Any]) -> str:
    if row["tier"] == "generalization":
        return "general_tier"
    fold = row["fold"] or 0
    if row["tier"] == "query-complexity":
        return f"split{fold}_q_{row['partition']}"
    return f"split{fold}_tier2"


def _counts(pairs: pl.DataFrame) -> list[dict[str, Any]]:
    by = ["tier", "fold", "partition", "level"]
    distinct = {"queries": pl.col("query").n_unique(), "classes": pl.col("class").n_unique()}
    table = pairs.group_by(by).agg(pairs=pl.len(), **distinct)
    return table.sort(by, nulls_last=False).to_dicts()


def _named(written: str) -> Any:
    """Return a method as a stage remembers it: what is read from files with their names, sizes and times."""
    path = Path(written.partition(".py:")[0] + (".py" if ".py:" in written else "")).expanduser()
    if path.is_file():
        files = [path]
    else:
        files = sorted(path.rglob("*")) if path.is_dir() else []
    return {"written": written, "files": _state(files)} if files else written


def _state(files: Iterable[Path]) -> str:
    """Return a hash of names, sizes and times of files, so that changed ones are measured again."""
    lines: list[str] = []
    for file in files:
        state = file.stat() if file.is_file() else None
        lines.append(
            f"{file.name} {state.st_size if state else 0} {state.st_mtime_ns if state else 0}\n"
        )
    return sha256(*lines)
