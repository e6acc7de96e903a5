"""One limit for declared sizes: checked before any allocation, and raised by one option for all readers."""

import base64
import re

import numpy as np
import polars as pl
import pytest
from PIL import Image

from segarena.errors import DatasetError, InvalidInput, InvalidMask
from segarena.files import limits
from segarena.files.limits import check_voxels, voxel_limit
from segarena.systems.oneshot.pairs.pair_table import read_pairs
from segarena.systems.videos.files.frame_files import read_label_stack


def test_the_limits_grow_together(monkeypatch):
    assert voxel_limit() == 2**31
    monkeypatch.setenv(limits.PIXEL_LIMIT_VARIABLE, str(2 * limits.DEFAULT_PIXEL_LIMIT))
    assert voxel_limit() == 2**32
    check_voxels(2**32, "a.nii")
    with pytest.raises(
        InvalidInput, match=r"a\.nii: expected at most 4,294,967,296 voxels.*--max-pixels"
    ):
        check_voxels(2**32 + 1, "a.nii")


@pytest.fixture
def no_room(monkeypatch):
    """Fail instead of allocating an excessive amount of memory."""

    def empty(shape, dtype=float):
        raise AssertionError(f"{shape} was asked for")

    monkeypatch.setattr(np, "empty", empty)


@pytest.mark.parametrize(("frames", "shape"), [(30, (9000, 9000)), (1, (200_000, 200_000))])
def test_the_labels_of_a_video_are_counted_before_there_is_an_array(
    tmp_path, no_room, frames, shape
):
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(tmp_path / "0.png")
    with pytest.raises(InvalidMask, match="header claims"):
        read_label_stack([tmp_path / "0.png"] * frames, shape)


@pytest.mark.long
def test_a_table_of_a_kilobyte_that_claims_a_billion_cells_is_not_read(tmp_path, monkeypatch):
    file = tmp_path / "pairs.parquet"
    pl.DataFrame({"class": ["1"]}).select(
        pl.col("class").repeat_by(5_000_000).explode()
    ).write_parquet(file)
    assert file.stat().st_size < 20_000
    monkeypatch.setenv(limits.PIXEL_LIMIT_VARIABLE, "100000")
    with pytest.raises(DatasetError, match="the header claims 5,000,000"):
        read_pairs(file)


def test_a_damaged_column_name_of_a_parquet_table_is_told_without_the_fields_of_polars_error(
    tmp_path,
):
    file = tmp_path / "pairs.parquet"
    pl.DataFrame({"class": ["1"], "query": ["a"], "supports": [["c"]]}).write_parquet(file)
    content = file.read_bytes()
    schema = max(re.findall(rb"[A-Za-z0-9+/=]{100,}", content), key=len)
    damaged = base64.b64encode(base64.b64decode(schema).replace(b"query", b"qu\xff\xffy"))
    file.write_bytes(content.replace(schema, damaged))
    with pytest.raises(
        DatasetError, match="expected a Parquet table, got parquet error; copy or export"
    ):
        read_pairs(file)


@pytest.mark.long
def test_a_damaged_parquet_table_never_ends_the_process(tmp_path):
    file = tmp_path / "pairs.parquet"
    pl.DataFrame(
        {"class": ["1", "2"], "query": ["a", "b"], "supports": [["c"], ["d"]]}
    ).write_parquet(file)
    whole, draw = file.read_bytes(), np.random.default_rng(0)
    assert read_pairs(file).height == 2
    # Its footer says how many bytes it has: as many as can be, of which Polars asks for room.
    for content in (
        b"",
        whole[:-9],
        whole[:-8] + b"\xff\xff\xff\x7fPAR1",
        whole[:99] + draw.bytes(len(whole) - 99),
    ):
        file.write_bytes(content)
        with pytest.raises(DatasetError, match=r"pairs\.parquet: expected a Parquet table, got"):
            read_pairs(file)
