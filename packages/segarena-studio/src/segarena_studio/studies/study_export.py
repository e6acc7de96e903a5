"""A study as an archive: the table of people's prompts, the clicks table, the masks that were corrected."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO

import cv2
import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.arrays.rle import decode_rle
from segarena.errors import InvalidInput
from segarena.files.atomic_write import whole_file
from segarena.files.spreadsheets import plain_cell
from segarena_people.prompt_table import build_prompt_frame
from segarena_server.site import Site
from segarena_studio.studies.orm_models import StudyCode, StudyItem, StudyRow
from segarena_studio.studies.prompt_records import (
    clicks_frame,
    display_modes_of,
    item_stem,
    iterate_prompts,
)

README = """What people gave in a study.

study.json            the study as it was described
prompts.parquet       every prompt, raw, also those of training and of checks; see docs/people.md
clicks.csv            the clicks on images that count, as `segarena clicks check | judge | train` read them
clicks-all.csv        all clicks on images, with a column `fate` that says why one does not count
clicks-by-mode.csv    those that count, with the display mode in place of the dataset, where there are several modes
previous/             FULL_STEM.png: the mask that was to be corrected, 0 and 255
goals/                FULL_STEM.png: the part of it that people were asked to point at
codes.csv             the codes that were given out, in no order, for whoever pays; no code says what its person gave

Nothing in here tells who a person is, or when they came: their names are drawn, and rows are in the order of these.
"""
_AT_ONCE = 5000


def write_export(session: Session, row: StudyRow, file: IO[bytes]) -> None:
    """Write the archive of a study."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr("README.txt", README)
        archive.writestr("study.json", row.description)
        archive.writestr("prompts.parquet", _prompts(session, row))
        for name, text in _tables(session, row).items():
            archive.writestr(name, text)
        archive.writestr("codes.csv", _codes(session, row))
        for name, data in _masks(session, row):
            archive.writestr(name, data, zipfile.ZIP_STORED)


def export_study(site: Site, slug: str, path: Path) -> None:
    """Write the archive of a study to a file.

    Raises:
        InvalidInput: there is no such study.
        StoreError: it cannot be written.
    """
    with site.database.reading() as session, whole_file(path) as file:
        write_export(session, study_named(session, slug), file)


def study_named(session: Session, slug: str) -> StudyRow:
    """Return a study.

    Raises:
        InvalidInput: there is none; the message says which there are.
    """
    row = session.scalar(select(StudyRow).where(StudyRow.slug == slug))
    if row is None:
        known = (
            ", ".join(session.scalars(select(StudyRow.slug).order_by(StudyRow.slug))) or "none yet"
        )
        raise InvalidInput(f"there is no study {slug[:64]!r}; there is {known}")
    return row


def _prompts(session: Session, row: StudyRow) -> bytes:
    import polars as pl

    prompts = (prompt for _, prompt in iterate_prompts(session, row))
    frames = [
        build_prompt_frame(some) for some in iter(lambda: list(islice(prompts, _AT_ONCE)), [])
    ]
    buffer = BytesIO()
    pl.concat(frames or [build_prompt_frame([])]).write_parquet(
        buffer, compression="zstd", statistics=False
    )
    return buffer.getvalue()


def _tables(session: Session, row: StudyRow) -> dict[str, str]:
    import polars as pl

    clicks = clicks_frame(session, row)
    counting = clicks.filter(pl.col("fate") == "").drop("fate")
    tables = {"clicks.csv": counting, "clicks-all.csv": clicks} if clicks.height else {}
    if clicks.height and len(display_modes_of(row)) > 1:
        tables["clicks-by-mode.csv"] = counting.with_columns(dataset=pl.col("display_mode"))
    return {name: table.write_csv() for name, table in tables.items()}


def _codes(session: Session, row: StudyRow) -> str:
    codes = select(StudyCode).where(StudyCode.study_id == row.id).order_by(StudyCode.code)
    lines = [
        f"{plain_cell(one.code)},{one.batches},{one.counted}" for one in session.scalars(codes)
    ]
    return "\n".join(["code,batches,batches_that_count", *lines, ""])


def _masks(session: Session, row: StudyRow) -> Iterator[tuple[str, bytes]]:
    items = (
        select(StudyItem)
        .where(StudyItem.study_id == row.id, StudyItem.model != "")
        .order_by(StudyItem.number)
    )
    for item in session.scalars(items.execution_options(yield_per=20)):
        name = f"{item_stem(item)}.png".replace("/", "__")
        for folder, lengths in (("previous", item.previous), ("goals", item.mask)):
            if lengths is not None:
                mask = decode_rle(lengths, (item.height, item.width))
                yield (
                    f"{folder}/{name}",
                    cv2.imencode(".png", np.where(mask, 255, 0).astype(np.uint8))[1].tobytes(),
                )
