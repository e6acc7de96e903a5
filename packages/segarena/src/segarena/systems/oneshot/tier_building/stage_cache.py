"""Cache of the stages of a build: one table per stage with one row per item.

An interrupted stage resumes where it stopped and gives byte-identical results.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256, sha256_of_file
from segarena.records.parquet_tables import parquet_bytes
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.work.jobs import Executor, FactoryJob
from segarena.work.progress import OnProgress, Progress
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.locks import refuse_sharers, remove_claims
from segarena.work.sharing.shared_ledger import claims_beside, open_ledger

ItemRow: TypeAlias = dict[str, Any]
ItemMeasure: TypeAlias = Callable[[str, str], ItemRow]
"""Function that maps class and image to the values of an item."""

StageJob: TypeAlias = FactoryJob[Sequence[ClassImage], list[ItemRow]]
_KEY_COLUMNS: dict[str, Any] = {"class": pl.String, "image": pl.String}


def make_stage_job(
    build: Callable[..., ItemMeasure],
    *arguments: Any,
    **options: Any,
) -> StageJob:
    """Return the job of a stage; `build` creates its measure from the arguments and options.

    A work unit is all items of an image, so that a measure loads each image only once. `build` must
    be a top-level function, because worker processes unpickle it.
    """
    build_measure = partial(build, *arguments, **options)
    return FactoryJob(partial(_build_image_measure, build_measure))


def run_stage(
    folder: Path,
    name: str,
    items: Sequence[ClassImage],
    job: StageJob,
    *,
    columns: Mapping[str, Any],
    parameters: Mapping[str, Any],
    executor: Executor,
    share: bool = False,
    on_progress: OnProgress,
) -> pl.DataFrame:
    """Return a table with columns class, image and `columns`, one row per item in the given order.

    The table is stored as `folder/NAME.parquet`, with its parameters next to it. It is computed
    again if parameters or items differ, or if either file is damaged. Until the table is complete,
    a ledger next to it records the finished images.

    Args:
        folder: folder of the tables.
        name: name of the stage.
        items: classes and images to measure.
        job: job that measures the items of an image.
        columns: names and types of the measured columns.
        parameters: everything besides the items that the values depend on, as plain values.
        executor: executor that runs the job.
        share: divide the images among all processes that run this stage; each returns the whole
            table.
        on_progress: callback that receives the progress.

    Raises:
        RunConflict: other processes run this stage with different parameters or items.
        SegarenaError: an item failed; the first such error, raised after all other items are done.
    """
    identity = {"parameters": parameters, "items": [list(item) for item in items]}
    # Sorted keys, because equal parameters must give equal digests.
    digest = sha256(json.dumps(identity, sort_keys=True))
    table_file = folder / f"{name}.parquet"
    manifest_file = folder / f"{name}.json"
    units: dict[str, list[ClassImage]] = {}
    for item in items:
        # Grouped by image, so that each image is loaded once.
        units.setdefault(item[1], []).append(item)
    cached = _read_cached(table_file, manifest_file, digest)
    if cached is not None:
        on_progress(
            Progress(
                stage=name,
                units=len(units),
                done=len(units),
                resumed=len(units),
            )
        )
        return cached
    ledger_file = folder / f"{name}.{digest[:16]}.jsonl"
    _remove_outdated(ledger_file, name)
    with open_ledger(ledger_file, {"stage": name, "digest": digest}, share=share) as ledger:
        table = None
        if share:
            # Another process may have finished the stage in the meantime.
            table = _read_cached(table_file, manifest_file, digest)
        if table is None:
            failures = do_pending(job, units, ledger, executor, stage=name, on_progress=on_progress)
            for image, error in failures.items():
                raise type(error)(
                    f"{image}: {error} ({len(failures)} of {len(units)} images fail; the others "
                    "are done)"
                )
            rows = _item_rows(items, units, ledger.done)
            table = pl.DataFrame(rows, schema={**_KEY_COLUMNS, **columns})
            write_atomic(table_file, parquet_bytes(table))
            manifest = {
                "digest": digest,
                "table": sha256_of_file(table_file),
                "parameters": parameters,
                "items": len(items),
            }
            write_atomic(manifest_file, json.dumps(manifest, indent=1) + "\n")
        ledger.discard()
    return table


def _item_rows(
    items: Sequence[ClassImage],
    units: Mapping[str, Sequence[ClassImage]],
    done: Mapping[str, Sequence[ItemRow]],
) -> list[ItemRow]:
    # Images finish in any order, so rows are collected in the order of the items.
    values: dict[ClassImage, ItemRow] = {}
    for image, image_rows in done.items():
        values.update(zip(units[image], image_rows, strict=True))
    return [{"class": item[0], "image": item[1], **values[item]} for item in items]


def _read_cached(
    table_file: Path,
    manifest_file: Path,
    digest: str,
) -> pl.DataFrame | None:
    """Return the stored table, or None if it is missing, damaged, or of other parameters or items."""
    try:
        manifest = json.loads(manifest_file.read_bytes())
        data = table_file.read_bytes()
        # The hash of the table detects truncated and edited files.
        is_valid = manifest["digest"] == digest and manifest["table"] == sha256(data)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return pl.read_parquet(data) if is_valid else None


def _build_image_measure(
    build: Callable[[], ItemMeasure],
) -> Callable[[Sequence[ClassImage]], list[ItemRow]]:
    measure = build()
    return lambda items: [measure(label, image) for label, image in items]


def _remove_outdated(ledger_file: Path, name: str) -> None:
    """Delete the stage's ledgers of other parameters or items, and its folder from earlier versions.

    Raises:
        RunConflict: other processes use one of these ledgers.
    """
    for other in ledger_file.parent.glob(f"{name}.*.jsonl"):
        if other != ledger_file:
            claims = claims_beside(other)
            refuse_sharers(claims)
            remove_claims(claims)
            other.unlink(missing_ok=True)
    shutil.rmtree(ledger_file.parent / f"{name}.parts", ignore_errors=True)
