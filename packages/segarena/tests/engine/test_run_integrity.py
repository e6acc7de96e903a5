"""A damaged run is never read with wrong values: each damaged file is named and can be repaired."""

import json
import random
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from segarena import RunFolder, evaluate
from segarena.engine.run_integrity import check_run
from segarena.errors import StoreError
from segarena.metrics.overlap import Dice, Iou
from segarena.metrics.surface import Nsd
from segarena.records.consistency import contradictions
from segarena.records.parquet_tables import parquet_bytes, seal_parquet, verify_seal

TABLES = ("records", "timings", "masks")


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def values(path):
    folder = RunFolder.open(path)
    return [folder.read(table).to_dicts() for table in TABLES]


def errors(path):
    return [finding.message for finding in check_run(path) if finding.is_error]


@pytest.fixture
def loose(make_run, make_ramps):
    """A run that was interrupted: a file for each sample."""
    return make_run(make_ramps())


@pytest.mark.parametrize("kind", ["loose", "gathered"])
def test_flipped_bits_are_refused_and_named(kind, request, small_run):
    path = request.getfixturevalue("loose") if kind == "loose" else small_run("sample-disc").path
    assert errors(path) == []
    whole, draw = values(path), random.Random(0)
    for _ in range(40):
        file = draw.choice(sorted(path.glob("*/*.*")))
        data = file.read_bytes()
        file.write_bytes(flipped(data, draw.randrange(8 * len(data))))
        named = errors(path)
        if named:
            assert str(file) in named[0]
            assert "--retry-damaged" in named[0]
            with pytest.raises(StoreError, match=re.escape(str(file))):
                values(path)
        else:  # a bit of the mark itself
            assert values(path) == whole
        file.write_bytes(data)
    assert values(path) == whole


@pytest.mark.parametrize("table", TABLES)
def test_what_is_damaged_is_made_again(small_run, table):
    path = small_run("sample-disc").path
    before = RunFolder.open(path).records()
    (file,) = (path / table).glob("*.parquet")
    file.write_bytes(flipped(file.read_bytes(), 400))
    with pytest.raises(StoreError, match="--retry-damaged"):
        RunFolder.open(path).read(table)
    again = small_run("sample-disc", retry_damaged=True)
    assert again.records().equals(before)
    assert errors(path) == []


def test_values_that_contradict_themselves_are_found_though_every_file_is_whole(small_run):
    folder = small_run("sample-disc")
    records = folder.records()
    assert contradictions(records, 3, [Iou()]) == {}
    better = records.with_columns(iou=pl.lit(0.99))
    assert set(contradictions(better, 3, [Iou()])) == set(folder.samples)
    assert "iou 0.99, intersection" in next(iter(contradictions(better, 3, [Iou()]).values()))
    assert "round 2 is out of order" in next(
        iter(contradictions(records.filter(pl.col("round") != 1), 3).values())
    )


def test_a_sealed_file_is_parquet_still(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, 3]})
    data = seal_parquet(parquet_bytes(frame))
    (tmp_path / "a.parquet").write_bytes(data)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(frame)
    assert pl.scan_parquet(tmp_path / "a.parquet").collect().equals(frame)
    assert verify_seal(data)
    assert not verify_seal(parquet_bytes(frame))


def test_the_command_names_what_is_wrong(small_run, segarena, refused, tmp_path):
    path = small_run("sample-disc").path
    assert segarena("check", path).exit_code == 0
    (file,) = (path / "masks").glob("*.parquet")
    file.unlink()
    answer = segarena("check", path)
    assert answer.exit_code == 1
    assert f"{file} is damaged: it is missing" in answer.stdout.replace("\n", "")
    assert "run folder" in refused("check", tmp_path)


@pytest.mark.long
def test_an_edited_run_json_is_told_by_every_reader_and_written_anew_on_request(
    small_run, segarena
):
    path = small_run("sample-disc").path
    file = path / "run.json"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'"failures": 0', b'"failures": 7'))
    (told,) = errors(path)
    assert f"{file} has changed since it was written" in told
    report = segarena("report", path)
    assert report.exit_code == 0
    assert report.stderr.replace("\n", "").count("has changed since it was written") == 1
    assert "has changed since it was written" in (path / "report/report.html").read_text()
    assert "has changed since it was written" in small_run("sample-disc").notes[0]
    small_run("sample-disc", retry_damaged=True)
    assert errors(path) == []
    assert small_run("sample-disc").notes == ()
    assert RunFolder.open(path).config.counts.failures == 0


def test_no_flipped_bit_of_run_json_goes_unseen(small_run):
    path = small_run("sample-disc").path
    file = path / "run.json"
    whole, config = file.read_bytes(), RunFolder.open(path).config
    draw = random.Random(1)
    for _ in range(150):
        file.write_bytes(flipped(whole, draw.randrange(8 * len(whole))))
        try:
            folder = RunFolder.open(path)
        except StoreError:
            continue
        assert folder.damage or folder.config == config
        assert folder.damage or file.read_bytes().strip() == whole.strip()


def test_a_run_json_of_before_checksums_is_told_and_opens(small_run, segarena):
    path = small_run("sample-disc").path
    file = path / "run.json"
    config = json.loads(file.read_text())
    del config["sha256"]
    file.write_text(json.dumps(config))
    assert (
        "has changed since it was written" in errors(path)[0]
    )  # of today's format, it should have one
    file.write_text(json.dumps({**config, "format": 2}))
    assert errors(path) == []
    assert segarena("report", path).stderr.count("without a checksum") == 1
    assert "has changed" not in (path / "report/report.html").read_text()


def test_a_damaged_ledger_does_not_bring_back_what_was_done_again(small_run):
    folder = small_run("sample-disc")
    before = folder.records()
    ledger = folder.path / "pieces.jsonl"
    whole = ledger.read_bytes()
    with folder.lock():
        folder.discard([1])
    assert folder.pending() == [1]
    discarded = ledger.read_bytes()
    ledger.write_bytes(whole + discarded[len(whole) :].replace(b'"without":[1]', b'"without":[2]'))
    for read in (lambda: RunFolder.open(folder.path).pending(), lambda: small_run("sample-disc")):
        with pytest.raises(
            StoreError,
            match=r"pieces\.jsonl: a line is damaged, and may have changed 000000-000003",
        ):
            read()
    assert small_run("sample-disc", retry_damaged=True).records().equals(before)
    assert errors(folder.path) == []


def test_each_metric_knows_what_its_values_must_agree_on():
    sound = {
        "iou": 1 / 3,
        "dice": 0.5,
        "nsd": 0.2,
        "intersection": 1.0,
        "union": 3.0,
        "prediction_area": 2.0,
        "target_area": 2.0,
    }
    empty = {
        "iou": 1.0,
        "dice": 1.0,
        "nsd": 1.0,
        "intersection": 0.0,
        "union": 0.0,
        "prediction_area": 0.0,
        "target_area": 0.0,
    }
    wrong = [
        (Iou(), {"iou": 0.99}), (Iou(), {"union": 4.0}), (Iou(), {"target_area": 1.0}), (Iou(), {"iou": float("nan")}),
        (Dice(), {"dice": 0.6}), (Dice(), {"prediction_area": 3.0}), (Nsd(), {"nsd": 1.2}), (Nsd(), {"nsd": -0.1}),
    ]  # fmt: skip
    for metric, change in wrong:
        rows = [sound, empty, sound | change, dict.fromkeys(sound, float("nan"))]
        values = {name: np.array([row[name] for row in rows]) for name in sound}
        assert metric.contradicts(values, {}).tolist() == [False, False, True, False], (
            metric,
            change,
        )
    assert (
        Iou(empty=0.0)
        .contradicts({name: np.array([value]) for name, value in empty.items()}, {})
        .all()
    )
    assert Dice().contradicts({"dice": np.array([0.4, 1.5])}, {}).tolist() == [False, True]


def test_damaged_fingerprints_of_the_data_are_named_and_written_anew(rules, plugin, tmp_path):
    for name in ("images", "masks"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.fromarray(np.full((30, 40), 255, np.uint8)).save(tmp_path / "photos" / name / "a.png")

    def run():
        data = f"folder(path='{tmp_path / 'photos'}')"
        return evaluate(rules, segmenter=plugin("Good"), dataset=data, out=tmp_path / "run")

    path = run().path
    file = path / "data.parquet"
    whole = file.read_bytes()
    assert errors(path) == []
    for spoil, said in (
        (lambda: file.write_bytes(flipped(whole, 300)), "is damaged"),
        (file.unlink, "is missing"),
    ):
        spoil()
        (told,) = errors(path)
        assert told.startswith(f"{file} {said}")
        assert "repeating the command of the run writes it again" in told
        run()
        assert file.read_bytes() == whole
        assert errors(path) == []


BEFORE = Path(__file__).parents[1] / "data" / "before"


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("videos", "jaccard", 0.9),
        ("videos", "j_and_f", 0.9),
        ("volumes", "dice", 1.1),
        ("oneshot", "iou", 0.9),
    ],
)
def test_another_value_is_named_though_every_file_is_whole(name, column, value, tmp_path):
    with zipfile.ZipFile(BEFORE / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    path = next(tmp_path.rglob("run.json")).parent
    assert errors(path) == []
    file = sorted((path / "records").glob("*.parquet"))[0]
    frame = pl.read_parquet(file)
    changed = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(value).otherwise(pl.col(column)).alias(column)
    )
    file.write_bytes(seal_parquet(parquet_bytes(changed)))
    (told,) = errors(path)
    assert told.startswith(f"sample {frame['sample'][0]}, target {frame['target'][0]}, ")
    assert f"{column} {value:.4g}" in told
    assert "--retry-damaged" in told
