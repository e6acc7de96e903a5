"""Stages: one row per item, kept in a table; an interrupted stage goes on where it was and gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from segarena.systems.oneshot.pairs.sources import Item

Row: TypeAlias = dict[str, Any]
OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of the stage, how many items are done, and how many there are."""

CHUNK = 50
"""So many items are lost at most when a stage is interrupted."""
_KEYS: dict[str, Any] = {"class": pl.String, "image": pl.String}


def run_stage(
    folder: Path,
    name: str,
    items: Sequence[Item],
    compute: Callable[[str, str], Row],
    *,
    columns: Mapping[str, Any],
    parameters: Mapping[str, Any],
    on_progress: OnProgress,
) -> pl.DataFrame:
    """Return a table with columns class, image and `columns`, one row per item, in their order.

    The table is kept as `folder/NAME.parquet`, its parameters beside it; it is computed again when these or the items
    are others. Until it is whole, parts of it lie in a folder of its own.

    Args:
        folder: where stages are kept.
        name: of the stage.
        items: classes and images.
        compute: values of one item.
        columns: types of what it gives.
        parameters: all that the values depend on beside the items; plain values.
        on_progress: told after each part.
    """
    told = json.dumps({"parameters": parameters, "items": [list(item) for item in items]}, sort_keys=True)
    digest = hashlib.sha256(told.encode()).hexdigest()
    table, facts = folder / f"{name}.parquet", folder / f"{name}.json"
    if table.is_file() and facts.is_file() and json.loads(facts.read_text(encoding="utf-8"))["digest"] == digest:
        on_progress(name, len(items), len(items))
        return pl.read_parquet(table)
    parts = folder / f"{name}.parts" / digest[:16]
    _remove_others(parts)
    frames: list[pl.DataFrame] = []
    for start in range(0, len(items), CHUNK):
        part = parts / f"{start:08d}.parquet"
        if not part.is_file():
            rows = [
                {"class": label, "image": image, **compute(label, image)}
                for label, image in items[start : start + CHUNK]
            ]
            write_table(pl.DataFrame(rows, schema={**_KEYS, **columns}), part)
        frames.append(pl.read_parquet(part))
        on_progress(name, min(start + CHUNK, len(items)), len(items))
    whole = pl.concat(frames) if frames else pl.DataFrame(schema={**_KEYS, **columns})
    write_table(whole, table)
    write_text(json.dumps({"digest": digest, "parameters": parameters, "items": len(items)}, indent=1) + "\n", facts)
    shutil.rmtree(parts.parent, ignore_errors=True)
    return whole


def write_table(table: pl.DataFrame, file: Path) -> None:
    """Write a table so that the file is whole or absent."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    table.write_parquet(part)
    part.replace(file)


def write_text(text: str, file: Path) -> None:
    """Write a text so that the file is whole or absent."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _remove_others(parts: Path) -> None:
    for other in parts.parent.glob("*"):
        if other != parts:
            shutil.rmtree(other, ignore_errors=True)
