"""Merging of record files, and their state when it is interrupted at any step."""

import hashlib
import math
import time
from pathlib import Path

import msgspec
import polars as pl
import pytest
import separate_files
from separate_files import write_files

from segarena.errors import RunConflict, StoreError
from segarena.files.atomic_write import write_atomic
from segarena.records import compaction, sample_file
from segarena.records.compaction import WritablePieces
from segarena.records.parquet_tables import table_frame
from segarena.records.pieces import PIECES_LEDGER, Pieces
from segarena.records.row_types import TABLES, MaskRow, RoundRecord, Timing
from segarena.records.sample_file import SampleFileWriter, pack_rows
from segarena.work.ledger import Ledger

SAMPLES = tuple(f"sample {index}" for index in range(10))


class Killed(BaseException):
    """Stands for a process that ends here."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(compaction, "BLOCK_SAMPLES", 4)


def rows_of(index, value=0.5):
    key = {"sample": SAMPLES[index], "target": "a", "user": "u", "repeat": 0}
    about = {
        "benchmark": "b",
        "dataset": "d",
        "label": "",
        "attributes": "{}",
        "effort": 1.0,
        "prompts": "[]",
    }
    rounds = [
        RoundRecord(**key, **about, round=number, values={"iou": value}, failure=None)
        for number in (1, 2)
    ]
    return {
        "records": rounds,
        "timings": [Timing(**key, round=1, predict_s=0.25)],
        "masks": [MaskRow(**key, round=2, rle=b"\1\2", shape=(1, 2))],
        "parts": [],
    }


def packed(index, value=0.5):
    """Return the file of a sample."""
    return pack_rows(rows_of(index, value))


def separate(index, value=0.5):
    """Return the files of a sample as earlier versions wrote them."""
    return make_files(separate, rows_of(index, value))


def make_files(how, rows):
    if how is packed:
        return pack_rows(rows)
    return separate_files.separate_files(
        {table: table_frame(table, own) for table, own in rows.items()}
    )


def write(folder, index, files):
    """Write the file or files of a sample."""
    if isinstance(files, bytes):
        SampleFileWriter(folder).write(index, files)
    else:
        write_files(folder, index, files)


def mixed(index, value=0.5):
    """Return the files of a sample in a run that an earlier version began."""
    return (packed if index % 3 else separate)(index, value)


@pytest.fixture(params=[packed, separate, mixed])
def files_of(request):
    return request.param


@pytest.fixture
def held(tmp_path):
    """Return what opens the tables of a run as the process that holds it."""
    opened = []

    def hold():
        for ledger in opened:
            ledger.close()
        opened.append(Ledger(tmp_path / PIECES_LEDGER, {"pieces": 1}, sync_s=0.0))
        pieces = WritablePieces(tmp_path, SAMPLES, opened[-1])
        pieces.clear_incomplete()
        pieces.heal()
        return pieces

    yield hold
    for ledger in opened:
        ledger.close()


def names(folder, table="records"):
    return sorted(file.name for file in (folder / table).glob("*.*"))


def stems(folder):
    """Return the names of record files without suffixes, which depend on who wrote them."""
    return sorted(file.name.split(".")[0] for file in (folder / "records").glob("*.*"))


def samples_of(pieces, table="records"):
    return pieces.read(table)["sample"].unique(maintain_order=True).to_list()


def test_a_stretch_is_gathered_when_all_of_it_is_done_and_everything_at_the_end(
    held, tmp_path, files_of
):
    pieces = held()
    for index in (3, 1, 0, 9):
        write(pieces.folder, index, files_of(index))
        pieces.gather_around(index)
    assert stems(tmp_path) == ["000000", "000001", "000003", "000009"]
    write(pieces.folder, 2, files_of(2))
    pieces.gather_around(2)
    assert stems(tmp_path) == ["000000-000003", "000009"]
    assert samples_of(pieces) == [SAMPLES[index] for index in (0, 1, 2, 3, 9)]
    assert [index for index, is_done in enumerate(pieces.done()) if is_done] == [0, 1, 2, 3, 9]
    for index in range(4, 9):
        write(pieces.folder, index, files_of(index))
    pieces.gather_all()
    assert names(tmp_path) == names(tmp_path, "masks") == ["000000-000009.parquet"]
    assert not (tmp_path / "parts").exists()
    assert samples_of(pieces) == samples_of(Pieces(tmp_path, SAMPLES)) == list(SAMPLES)


def test_the_order_in_which_samples_were_done_does_not_show(held, tmp_path, files_of):
    digests = []
    for number, order in enumerate((range(10), (9, 3, 4, 0, 7, 1, 2, 8, 6, 5))):
        folder = tmp_path / str(number)
        with Ledger(folder / PIECES_LEDGER, {"pieces": 1}) as ledger:
            pieces = WritablePieces(folder, SAMPLES, ledger)
            for index in order:
                write(pieces.folder, index, files_of(index))
                pieces.gather_around(index)
            pieces.gather_all()
        digests.append(
            {file.relative_to(folder): file.read_bytes() for file in folder.glob("*/*.parquet")}
        )
    assert digests[0] == digests[1]


def test_a_piece_that_would_be_too_large_is_cut(held, tmp_path, monkeypatch, files_of):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, files_of(index))
    monkeypatch.setattr(compaction, "MAX_PIECE_BYTES", 1)
    pieces.gather_all()
    assert len(names(tmp_path)) == 10
    assert samples_of(pieces) == list(SAMPLES)


def test_what_is_discarded_is_done_again_and_stands_in_its_place(held, tmp_path, files_of):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, files_of(index))
    pieces.gather_all()
    pieces.discard([2, 5])
    assert [index for index, is_done in enumerate(pieces.done()) if not is_done] == [2, 5]
    assert SAMPLES[2] not in samples_of(pieces)
    assert pieces.read("records", ["iou"]).shape == (16, 1)
    write(pieces.folder, 5, files_of(5, value=0.75))
    assert samples_of(held()) == [sample for index, sample in enumerate(SAMPLES) if index != 2]
    pieces = held()
    write(pieces.folder, 2, files_of(2, value=0.25))
    pieces.gather_all()
    assert samples_of(pieces) == list(SAMPLES)
    values = pieces.read("records", ["sample", "iou"]).unique(maintain_order=True)["iou"].to_list()
    assert values == [0.5, 0.5, 0.25, 0.5, 0.5, 0.75, 0.5, 0.5, 0.5, 0.5]
    assert names(tmp_path) == ["000000-000009.2.parquet"]


@pytest.mark.long
def test_killed_at_any_step_nothing_is_lost_or_there_twice(held, tmp_path, monkeypatch, files_of):
    """Let the process die before each file operation of gathering and discarding, one after the other."""
    steps = {"left": 0}

    def dying(operation):
        def step(*arguments, **options):
            if steps["left"] == 0:
                raise Killed
            steps["left"] -= 1
            return operation(*arguments, **options)

        return step

    def work(pieces):
        for index in [index for index, is_done in enumerate(pieces.done()) if not is_done]:
            write(pieces.folder, index, files_of(index))
            pieces.gather_around(index)
        pieces.gather_all()

    work(held())
    expected = held().read("records")
    for first in range(200):
        with monkeypatch.context() as patched:
            dying_write = dying(write_atomic)
            patched.setattr(sample_file, "write_atomic", dying_write)
            patched.setattr(separate_files, "write_atomic", dying_write)
            patched.setattr(compaction, "write_atomic", dying_write)
            patched.setattr(Path, "unlink", dying(Path.unlink))
            patched.setattr(Ledger, "add", dying(Ledger.add))
            steps["left"] = first
            try:
                pieces = held()
                pieces.discard([1, 6])
                work(pieces)
            except Killed:
                seen = Pieces(tmp_path, SAMPLES)  # a report that is made right then
                done = [
                    sample for sample, is_done in zip(SAMPLES, seen.done(), strict=True) if is_done
                ]
                for table in ("records", "timings", "masks"):
                    assert samples_of(seen, table) == done
            else:
                break
        work(held())
        assert held().read("records").equals(expected)
        assert not list(tmp_path.glob("*/*.part"))
        assert names(tmp_path, "timings") == names(tmp_path, "masks") == names(tmp_path)
    assert 10 < first < 199


def test_a_damaged_or_lost_piece_is_named_and_its_samples_are_done_again(held, tmp_path, files_of):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, files_of(index))
    pieces.gather_all()
    file = tmp_path / "masks" / "000000-000009.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StoreError, match=r"masks/000000-000009\.parquet is damaged: its SHA-256"):
        Pieces(tmp_path, SAMPLES).read("masks")
    file.unlink()
    with pytest.raises(StoreError, match=r"masks/000000-000009\.parquet is missing"):
        Pieces(tmp_path, SAMPLES).read("masks")
    assert not any(held().done())
    assert names(tmp_path) == []


@pytest.mark.parametrize("table", ["masks", "timings"])
def test_a_sample_that_lacks_a_file_is_named_and_done_again(held, tmp_path, table):
    pieces = held()
    for index in (0, 1, 9):
        write(pieces.folder, index, separate(index))
    lost = tmp_path / table / "000001.parquet"
    lost.unlink()
    assert pieces.damaged() == ({lost: "it is missing"}, 0)
    pieces = held()
    assert [index for index, is_done in enumerate(pieces.done()) if is_done] == [0, 9]
    for index in range(1, 9):
        write(pieces.folder, index, separate(index))
    pieces.gather_all()
    assert samples_of(pieces, table) == list(SAMPLES)


def test_samples_whose_first_rounds_failed_give_the_same_columns_as_separate_files(tmp_path):
    """A sample without metrics comes first, and one with an additional metric last."""
    digests = []
    for make in (packed, separate):
        folder = tmp_path / make.__name__
        with Ledger(folder / PIECES_LEDGER, {"pieces": 1}) as ledger:
            pieces = WritablePieces(folder, SAMPLES, ledger)
            for index in range(10):
                rows = rows_of(index)
                values = {"iou": math.nan, "dice": 0.5} if index == 7 else {"iou": index / 7}
                rows["records"] = [
                    msgspec.structs.replace(row, values=values if index else {})
                    for row in rows["records"]
                ]
                write(pieces.folder, index, make_files(make, rows))
            pieces.gather_all()
        digests.append(
            {file.relative_to(folder): file.read_bytes() for file in folder.glob("*/*.parquet")}
        )
    assert digests[0] == digests[1]


def test_a_file_is_flushed_for_each_sample_and_names_once_a_second(tmp_path, monkeypatch):
    writer = SampleFileWriter(tmp_path)
    writer.write(0, packed(0))
    flushed = []
    monkeypatch.setattr("os.fsync", flushed.append)
    now = time.monotonic()
    monkeypatch.setattr("segarena.records.sample_file.time.monotonic", lambda: now + 0.5)
    for index in range(1, 4):
        writer.write(index, packed(index))
    assert len(flushed) == 3
    monkeypatch.setattr("segarena.records.sample_file.time.monotonic", lambda: now + 1.5)
    writer.write(4, packed(4))
    assert len(flushed) == 5


def _flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _with_other_header(data):
    return b"S" + data[1:]


def _cut(data):
    return data[:-1]


def _empty(data):
    return data[:0]


def _other_rows(data):
    rows = rows_of(3)
    return pack_rows({**rows, "records": rows["timings"]})


def _no_messagepack(data):
    rows = b"\xc1"
    return data[:18] + hashlib.sha256(rows).digest() + rows


@pytest.mark.parametrize(
    "damage", [_flipped, _with_other_header, _cut, _empty, _other_rows, _no_messagepack]
)
def test_a_damaged_file_of_a_sample_is_named(held, tmp_path, damage):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, packed(index))
    file = tmp_path / "records" / "000003.msgpack"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(StoreError, match=r"records/000003\.msgpack is damaged.*--retry-damaged"):
        Pieces(tmp_path, SAMPLES).read("records")


def test_loose_files_without_records_are_removed(held, tmp_path):
    pieces = held()
    for index in (0, 1):
        write(pieces.folder, index, separate(index))
    (tmp_path / "records" / "000001.parquet").unlink()
    held()
    assert names(tmp_path, "masks") == names(tmp_path, "timings") == ["000000.parquet"]


def test_an_unfinished_run_is_not_joined(held):
    pieces = held()
    write(pieces.folder, 0, separate(0))
    with pytest.raises(StoreError, match="some samples are not done"):
        pieces.gather_all()


def test_a_damaged_ledger_is_one_line(held, tmp_path):
    pieces = held()
    with Ledger(tmp_path / "other", {"pieces": 1}) as ledger:
        ledger.add("000000-000003", {"first": "zero"})
    pieces.ledger.close()
    (tmp_path / "other").replace(tmp_path / PIECES_LEDGER)
    with pytest.raises(StoreError, match=r"pieces\.jsonl: .* damaged, or a later version"):
        Pieces(tmp_path, SAMPLES).done()


def test_a_run_is_held_by_one_process(held, tmp_path):
    held()
    with pytest.raises(RunConflict, match="in use by another process"):
        Ledger(tmp_path / PIECES_LEDGER, {"pieces": 1})


def test_columns_are_those_asked_for_that_are_there(held, files_of):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, files_of(index))
    assert pieces.read("records", ["iou", "dice", "sample"]).columns == ["iou", "sample"]
    pieces.gather_all()
    assert pieces.read("records", ["iou", "dice", "sample"]).columns == ["iou", "sample"]
    assert all(isinstance(pieces.read(table), pl.DataFrame) for table in TABLES)


@pytest.mark.parametrize("column", ["round", "user", "iou"])
@pytest.mark.parametrize("damaged", [[3], [3, 4], range(10)])
def test_a_loose_file_with_another_column_type_is_named(held, tmp_path, column, damaged):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, separate(index))
    for index in damaged:
        file = tmp_path / "records" / f"{index:06d}.parquet"
        frame = pl.read_parquet(file)
        other = pl.lit(1.5) if column == "user" else pl.lit("text")
        frame.with_columns(other.alias(column)).write_parquet(file)
    with pytest.raises(StoreError) as caught:
        Pieces(tmp_path, SAMPLES).read("records")
    message = str(caught.value)
    assert f"records/{damaged[0]:06d}.parquet: expected " in message
    assert f"column '{column}'" in message


def test_integers_of_other_sizes_are_read(held, tmp_path):
    pieces = held()
    for index in range(10):
        write(pieces.folder, index, separate(index))
    file = tmp_path / "records" / "000003.parquet"
    pl.read_parquet(file).cast({"round": pl.Int64}).write_parquet(file)
    assert Pieces(tmp_path, SAMPLES).read("records")["round"].to_list() == [1, 2] * 10
