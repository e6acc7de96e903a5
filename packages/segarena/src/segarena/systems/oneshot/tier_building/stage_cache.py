"""Stages: one row per item, kept in a table; an interrupted stage goes on where it was and gives the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.whole import write_whole
from segarena.records.parquet_tables import parquet_bytes
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.work.jobs import Executor, FactoryJob
from segarena.work.progress import OnProgress, Progress
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.locks import refuse_sharers, remove_claims
from segarena.work.sharing.shared_ledger import claims_beside, open_ledger

ItemRow: TypeAlias = dict[str, Any]
ItemMeasure: TypeAlias = Callable[[str, str], ItemRow]
"""From class and image to values."""

StageJob: TypeAlias = FactoryJob[Sequence[ClassImage], list[ItemRow]]
_KEYS: dict[str, Any] = {"class": pl.String, "image": pl.String}


def make_stage_job(build: Callable[..., ItemMeasure], *arguments: Any, **options: Any) -> StageJob:
    """Return the job of a stage; its units are all items of an image, for which a measure may look at it only once.

    `build` is a function of a module, so that it can travel; given the arguments and options it returns the measure.

    """
    return FactoryJob(partial(_of_images, partial(build, *arguments, **options)))


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
    """Return a table with columns class, image and `columns`, one row per item, in their order.

    The table is kept as `folder/NAME.parquet`, its parameters beside it; it is computed again when these or the items
    are others, or either file is damaged. Until it is whole, a ledger beside it has the images that are done.

    `parameters` are all that the values depend on besides the items, as plain values; `columns` are types. With `share`
    the images are divided among all processes that make this stage, and each returns the whole table.

    Raises:
        RunConflict: others share the making of this stage with other parameters or items.
        SegarenaError: an item failed, once all others are done; as the first of them.
    """
    told = json.dumps(
        {"parameters": parameters, "items": [list(item) for item in items]}, sort_keys=True
    )
    digest = sha256(told)
    table = folder / f"{name}.parquet"
    facts = folder / f"{name}.json"
    units: dict[str, list[ClassImage]] = {}
    for item in items:
        units.setdefault(item[1], []).append(item)
    if (kept := _kept(table, facts, digest)) is not None:
        on_progress(Progress(stage=name, units=len(units), done=len(units), resumed=len(units)))
        return kept
    finished = folder / f"{name}.{digest[:16]}.jsonl"
    _remove_others(finished, name)
    with open_ledger(finished, {"stage": name, "digest": digest}, share=share) as ledger:
        whole = _kept(table, facts, digest) if share else None  # others may have just finished it
        if whole is None:
            failures = do_pending(job, units, ledger, executor, stage=name, on_progress=on_progress)
            for image, error in failures.items():
                raise type(error)(
                    f"{image}: {error} ({len(failures)} of {len(units)} images fail; the others are done)"
                )
            whole = pl.DataFrame(_rows(items, units, ledger.done), schema={**_KEYS, **columns})
            write_whole(table, parquet_bytes(whole))
            noted = {
                "digest": digest,
                "table": sha256_of_file(table),
                "parameters": parameters,
                "items": len(items),
            }
            write_whole(facts, json.dumps(noted, indent=1) + "\n")
        ledger.discard()
    return whole


def _rows(
    items: Sequence[ClassImage],
    units: Mapping[str, Sequence[ClassImage]],
    done: Mapping[str, Sequence[ItemRow]],
) -> list[ItemRow]:
    values: dict[ClassImage, ItemRow] = {}
    for image, of_image in done.items():
        values.update(zip(units[image], of_image, strict=True))
    return [{"class": item[0], "image": item[1], **values[item]} for item in items]


def _kept(table: Path, facts: Path, digest: str) -> pl.DataFrame | None:
    """Return the table that is kept; None when there is none, of other parameters, or damaged since."""
    try:
        noted = json.loads(facts.read_bytes())
        data = table.read_bytes()
        is_whole = noted["digest"] == digest and noted["table"] == sha256(data)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return pl.read_parquet(data) if is_whole else None


def _of_images(build: Callable[[], ItemMeasure]) -> Callable[[Sequence[ClassImage]], list[ItemRow]]:
    measure = build()
    return lambda items: [measure(label, image) for label, image in items]


def _remove_others(finished: Path, name: str) -> None:
    """Remove what was done for other parameters, and the parts that earlier versions kept."""
    for other in finished.parent.glob(f"{name}.*.jsonl"):
        if other != finished:
            refuse_sharers(claims_beside(other))
            remove_claims(claims_beside(other))
            other.unlink(missing_ok=True)
    shutil.rmtree(finished.parent / f"{name}.parts", ignore_errors=True)
