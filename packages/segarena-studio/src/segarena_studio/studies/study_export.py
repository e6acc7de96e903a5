"""Export of a study as an archive: prompts, click tables, masks to correct, completion codes."""

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
from segarena.files.atomic_write import open_atomic
from segarena.files.spreadsheets import escape_formula
from segarena_people.prompt_table import build_prompt_frame
from segarena_server.site import Site
from segarena_studio.studies.orm_models import StudyCode, StudyItem, StudyRow
from segarena_studio.studies.prompt_records import (
    clicks_frame,
    display_modes_of,
    item_stem,
    iterate_prompts,
)

README = """Prompts that people gave in a study.

study.json            the study as it was described
prompts.parquet       every prompt, raw, including training and attention checks; see docs/people.md
clicks.csv            the clicks on images that count, as `segarena click-data check-table | judge | train` read them
clicks-all.csv        all clicks on images in the main part, with a column `fate` that says why one does not count
clicks-by-mode.csv    those that count, with the display mode in place of the dataset, where there are several modes
previous/             FULL_STEM.png: the mask to correct, 0 and 255
goals/                FULL_STEM.png: the part that people were asked to point at
codes.csv             completion codes for payment, sorted; a code cannot be linked to answers

Nothing here identifies a person or the time of participation: names are random, and rows are in the order of names.
"""
_AT_ONCE = 5000


def write_export(
    session: Session,
    row: StudyRow,
    file: IO[bytes],
) -> None:
    """Write the archive of a study."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr("README.txt", README)
        archive.writestr("study.json", row.description)
        archive.writestr("prompts.parquet", _prompts(session, row))
        for name, text in _tables(session, row).items():
            archive.writestr(name, text)
        archive.writestr("codes.csv", _codes(session, row))
        for name, data in _masks(session, row):
            # PNG is compressed already.
            archive.writestr(name, data, zipfile.ZIP_STORED)


def export_study(
    site: Site,
    slug: str,
    path: Path,
) -> None:
    """Write the archive of a study to a file.

    Raises:
        InvalidInput: the study does not exist.
        StoreError: the file cannot be written.
    """
    with site.database.reading() as session, open_atomic(path) as file:
        write_export(session, study_named(session, slug), file)


def study_named(session: Session, slug: str) -> StudyRow:
    """Return a study by its short name.

    Raises:
        InvalidInput: the study does not exist; the message lists the existing ones.
    """
    row = session.scalar(select(StudyRow).where(StudyRow.slug == slug))
    if row is None:
        slugs = session.scalars(select(StudyRow.slug).order_by(StudyRow.slug))
        known = ", ".join(slugs) or "none yet"
        raise InvalidInput(f"unknown study {slug[:64]!r}; existing studies: {known}")
    return row


def _prompts(session: Session, row: StudyRow) -> bytes:
    # Imported late: polars is slow to load, and most pages do not need it.
    import polars as pl

    prompts = (prompt for _, prompt in iterate_prompts(session, row))
    frames: list[pl.DataFrame] = []
    # In chunks: rows as objects need much more memory than a table.
    while part := list(islice(prompts, _AT_ONCE)):
        frames.append(build_prompt_frame(part))
    table = pl.concat(frames or [build_prompt_frame([])])
    buffer = BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _tables(session: Session, row: StudyRow) -> dict[str, str]:
    # Imported late: polars is slow to load, and most pages do not need it.
    import polars as pl

    clicks = clicks_frame(session, row)
    if not clicks.height:
        return {}
    counting = clicks.filter(pl.col("fate") == "").drop("fate")
    tables = {"clicks.csv": counting.write_csv(), "clicks-all.csv": clicks.write_csv()}
    if len(display_modes_of(row)) > 1:
        # The click tools compare datasets, so the display mode is stored as the dataset.
        by_mode = counting.with_columns(dataset=pl.col("display_mode"))
        tables["clicks-by-mode.csv"] = by_mode.write_csv()
    return tables


def _codes(session: Session, row: StudyRow) -> str:
    # Sort by code: the row order would reveal the order of participants.
    codes = select(StudyCode).where(StudyCode.study_id == row.id).order_by(StudyCode.code)
    lines = ["code,batches,batches_that_count"]
    for code in session.scalars(codes):
        lines.append(f"{escape_formula(code.code)},{code.batches},{code.counted}")
    return "\n".join([*lines, ""])


def _masks(session: Session, row: StudyRow) -> Iterator[tuple[str, bytes]]:
    """Yield name and PNG of the previous mask and of the part to correct, for each correction."""
    query = (
        select(StudyItem)
        .where(StudyItem.study_id == row.id, StudyItem.model != "")
        .order_by(StudyItem.number)
        .execution_options(yield_per=20)
    )
    for item in session.scalars(query):
        name = f"{item_stem(item)}.png".replace("/", "__")
        for folder, lengths in (("previous", item.previous), ("goals", item.mask)):
            if lengths is None:
                continue
            mask = decode_rle(lengths, (item.height, item.width))
            image = np.where(mask, 255, 0).astype(np.uint8)
            yield f"{folder}/{name}", cv2.imencode(".png", image)[1].tobytes()
