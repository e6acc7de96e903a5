"""Exported masks equal the evaluated ones."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from PIL import Image
from separate_files import write_separately

import segarena
from segarena.arrays.rle import encode_rle
from segarena.errors import InvalidInput, RunConflict, SegarenaError, StoreError
from segarena.files.images import read_mask_values
from segarena.records.parquet_tables import parquet_bytes, seal_parquet
from segarena.registry import build
from segarena.reports.mask_export import export_masks


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return segarena.evaluate(
        "clicks",
        segmenter="sample-disc",
        dataset="sample-squares(count=2)",
        users=["centre", "off=uniform(low=0.1)"],
        rounds=4,
        repeats=2,
        out=tmp_path_factory.mktemp("runs") / "r",
    ).path


def table(index):
    with index.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def iou(mask, target):
    return np.count_nonzero(mask & target) / np.count_nonzero(mask | target)


@pytest.mark.parametrize("round_", [None, 2])
def test_masks_of_images_measure_as_the_table_says(run, tmp_path, round_):
    rows = table(export_masks(run, tmp_path / "masks", round_=round_, trust=True))
    assert len(rows) == len({row["file"] for row in rows}) == 2 * 3
    assert {row["round"] for row in rows} <= ({"1", "2"} if round_ else {"1", "2", "3", "4"})
    dataset = build("dataset", "sample-squares(count=2)")
    for row in rows:
        values = read_mask_values(tmp_path / "masks" / row["file"])
        assert set(np.unique(values)) <= {0, 255}
        assert iou(values > 0, dataset.load(row["sample"]).targets[0].mask) == float(row["iou"])


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """Write a run with a different column in the first mask and valid checksums; return the folder."""
    monkeypatch.setattr(
        segarena.RunFolder, "gather", lambda *_: None
    )  # a file for each sample, with its own checksum
    asked = {"segmenter": "sample-disc", "dataset": "sample-squares(count=1)", "rounds": 1}
    path = segarena.evaluate("clicks", **asked, out=tmp_path / "r").path
    write_separately(segarena.RunFolder.open(path), 0)

    def forge(**columns):
        file = path / "masks" / "000000.parquet"
        frame = pl.read_parquet(file).with_columns(**columns)
        file.write_bytes(seal_parquet(parquet_bytes(frame)))
        return path

    return forge


def sides(*shape):
    return pl.lit(list(shape), pl.List(pl.Int32))


OF_SIX = pl.lit(encode_rle(np.ones(6, bool)))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"rle": pl.lit("text")}, "got a column 'rle' of type String"),
        ({"rle": pl.lit(None, pl.Binary)}, "got a column 'rle' with nulls"),
        ({"round": pl.lit(1.0)}, "got a column 'round' of type Float64"),
        ({"rle": OF_SIX, "shape": sides(6)}, "expected one shape of 2 axes"),
        ({"rle": OF_SIX, "shape": sides(1, 1, 2, 3)}, "expected one shape of 2 axes"),
        ({"rle": OF_SIX, "shape": sides(-2, -3)}, "got a different number"),
        ({"object": pl.lit(300)}, "objects 1 to 255"),
    ],
)
def test_tables_of_a_stranger_are_refused_in_a_line(forged, tmp_path, columns, said):
    with pytest.raises(SegarenaError, match=said) as refused:
        export_masks(forged(**columns), tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert not list((tmp_path / "out").rglob("*.png"))


def test_objects_of_two_sizes_are_refused(forged, tmp_path):
    path = forged()
    file = path / "masks" / "000000.parquet"
    frame = pl.read_parquet(file)
    other = frame.with_columns(object=pl.lit(2, pl.Int32), rle=OF_SIX, shape=sides(2, 3))
    file.write_bytes(seal_parquet(parquet_bytes(pl.concat([frame, other]))))
    with pytest.raises(StoreError, match="expected one shape of 2 axes"):
        export_masks(path, tmp_path / "out")


def test_names_tell_sample_target_user_and_repeat(run, tmp_path):
    rows = table(export_masks(run, tmp_path / "masks"))
    own = [row["file"] for row in rows if row["sample"] == "square-1"]
    assert own == [f"square-1/object--{name}.png" for name in ("centre", "off", "off--1")]


def test_a_coco_file_holds_the_masks_of_the_pngs(run, tmp_path):
    pngs = table(export_masks(run, tmp_path / "png"))
    rows = table(export_masks(run, tmp_path / "coco", as_format="coco"))
    assert {row["file"] for row in rows} == {"centre.json", "off.json", "off--1.json"}
    coco = json.loads((tmp_path / "coco" / "off--1.json").read_text(encoding="utf-8"))
    assert [image["file_name"] for image in coco["images"]] == ["square-0", "square-1"]
    assert coco["categories"] == [{"id": 1, "name": "square"}]
    expected = [row["file"] for row in pngs if (row["user"], row["repeat"]) == ("off", "1")]
    for annotation, file in zip(coco["annotations"], expected, strict=True):
        flat, value = [], 0
        for count in annotation["segmentation"]["counts"]:
            flat += [value] * count
            value = 1 - value
        rows_, columns = annotation["segmentation"]["size"]
        mask = np.array(flat).reshape(columns, rows_).T
        assert (mask * 255 == read_mask_values(tmp_path / "png" / file)).all()
        ys, xs = np.nonzero(mask)
        box = [xs.min(), ys.min(), np.ptp(xs) + 1, np.ptp(ys) + 1]
        assert (annotation["area"], annotation["bbox"]) == (mask.sum(), box)


def test_videos_are_frames_with_the_numbers_of_objects(tmp_path):
    data = "demo-videos(size=(48, 64), frames=3)"
    run = segarena.evaluate(
        "davis", segmenter="colour-flow", dataset=data, rounds=1, limit=1, out=tmp_path / "r"
    )
    (row,) = table(export_masks(run.path, tmp_path / "masks"))
    frames = sorted((tmp_path / "masks" / row["file"]).iterdir())
    assert [frame.name for frame in frames] == ["00000.png", "00001.png", "00002.png"]
    labels = np.stack([np.asarray(Image.open(frame)) for frame in frames])
    target = build("dataset", data).load(row["sample"]).targets[0]
    each = [
        iou(labels[frame] == number, target.mask[frame] == number)
        for number in range(1, target.objects + 1)
        for frame in range(3)
    ]
    assert np.mean(each) == pytest.approx(float(row["jaccard"]), abs=1e-12)
    first = Image.open(frames[0])
    assert (first.mode, first.getpalette()[:12]) == (
        "P",
        [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0],
    )


def test_what_was_not_kept_does_not_fit_or_is_not_ours_is_refused(run, tmp_path):
    with pytest.raises(InvalidInput, match="expected coco or png for images, got 'nifti'"):
        export_masks(run, tmp_path / "a", as_format="nifti")
    late = segarena.evaluate(
        "clicks",
        segmenter="sample-disc",
        dataset="sample-squares(count=1)",
        rounds=5,
        out=tmp_path / "late",
    )
    with pytest.raises(InvalidInput, match=r"kept \(1, 2, 3, 5, 10, 20 or the last\), got 4"):
        export_masks(late.path, tmp_path / "b", round_=4)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.txt").write_text("mine")
    with pytest.raises(RunConflict, match="holds other files"):
        export_masks(run, tmp_path / "c")
    assert export_masks(run, tmp_path / "d") == export_masks(run, tmp_path / "d")
