"""Small intact inputs of every kind that a command reads; `commands.py` damages them one at a time."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path

import cv2
import nibabel
import numpy as np
import polars as pl
import scipy.io
from dicom import write_ct, write_seg
from folders import write_flair
from program import segarena

from segarena.arrays.coco_rle import Rle
from segarena.systems.oneshot.list_analysis.partition_recovery import ATTRIBUTE_NAMES

RNG = np.random.default_rng(0)
LABELS = np.ones((24, 32), np.uint8)
LABELS[4:12, 4:14], LABELS[14:22, 16:28] = 2, 3


def make_all(folder: Path) -> None:
    """Create the inputs in `folder`, which must be the current folder."""
    os.chdir(folder)
    for make in (
        _scenes,
        _segmentations,
        _shapes,
        _pairs,
        _statistics,
        _volumes,
        _sets,
        _clips,
        _clicks,
        _runs,
    ):
        make()


def succeed(*arguments: str) -> None:
    """Run a command that must succeed."""
    done = segarena(*arguments)
    if done.exit_code:
        raise RuntimeError(f"{arguments}: {done.output}") from done.exception


def _scenes() -> None:
    succeed("amodal", "demo", "--images", "2", "-o", "am")
    for name, to in (("coco", "coco"), ("rle", "rle")):
        succeed("amodal", "convert", "am/scenes.json", f"am/{name}.json", "--to", to)
    square = [[4, 4], [20, 4], [20, 18], [4, 18]]
    size = {"imagePath": "scene-1.png", "imageHeight": 24, "imageWidth": 32}
    shape = {"label": "box", "points": square, "shape_type": "polygon"}
    Path("am/labelme.json").write_text(json.dumps({"shapes": [shape], **size}))
    ann = {
        "polygons_str": [[0.1, 0.1, 0.6, 0.1, 0.6, 0.6]],
        "namelist": ["box"],
        "url": "images/scene-1.png",
    }
    Path("am/images/shape_me.ann").write_text(json.dumps(ann))
    drawn = '<polygon label="box" points="4,4;20,4;20,18" z_order="0"/>'
    drawn += '<mask label="m" rle="3, 5, 8" left="1" top="1" width="4" height="4"/>'
    image = f'<image id="0" name="a.png" width="32" height="24">{drawn}</image>'
    Path("am/cvat.xml").write_text(f"<annotations>{image}</annotations>")
    mask = np.zeros((240, 320), np.bool_)
    mask[80:160, 100:220] = True
    segments = [
        {
            "image_id": 1,
            "score": 1.0,
            "segmentation": {"size": [240, 320], "counts": Rle.of(mask).counts},
        }
    ]
    Path("segments.json").write_text(json.dumps(segments))


def _segmentations() -> None:
    """Create BSDS500 in both layouts, and edge maps."""
    for root, human in (("bsds", "human"), ("bsds-mat", "groundTruth")):
        for place in (f"{root}/images/test", f"{root}/{human}/test"):
            Path(place).mkdir(parents=True)
        cv2.imwrite(f"{root}/images/test/1.jpg", cv2.merge([40 * LABELS] * 3))
    np.savez_compressed(
        "bsds/human/test/1.npz", labels=np.stack([LABELS, LABELS]).astype(np.uint16)
    )
    cells = np.empty((1, 1), object)
    cells[0, 0] = np.array([[(LABELS,)]], dtype=[("Segmentation", object)])
    scipy.io.savemat("bsds-mat/groundTruth/test/1.mat", {"groundTruth": cells})
    edges = RNG.random(LABELS.shape)
    for ending in ("npy", "npz", "mat", "png"):
        Path(f"maps-{ending}").mkdir()
    np.save("maps-npy/1.npy", edges)
    np.savez_compressed("maps-npz/1.npz", segs=LABELS[None])
    segs = np.empty((1, 1), object)
    segs[0, 0] = LABELS
    scipy.io.savemat("maps-mat/1.mat", {"segs": segs})
    cv2.imwrite("maps-png/1.png", (255 * edges).astype(np.uint8))


def _shapes() -> None:
    """Create a folder of photographs and masks, and the same as a one-shot dataset."""
    for number in range(3):
        photo = RNG.normal(110, 6, (*LABELS.shape, 3)).clip(0, 255).astype(np.uint8)
        photo[LABELS == 2] = (30, 30, 220)
        for file in (f"shapes/images/{number}.png", f"photos/images/{number}.png"):
            _write_image(file, photo)
        for label, name in ((2, "left"), (3, "right")):
            mask = np.where(label == LABELS, 255, 0).astype(np.uint8)
            for file in (f"shapes/masks/{number}__{name}.png", f"photos/masks/{name}/{number}.png"):
                _write_image(file, mask)


def _pairs() -> None:
    rows = [
        f"{label},{query},{(query + 1) % 3},0" for label in ("left", "right") for query in range(3)
    ]
    Path("pairs.csv").write_text("class,query,supports,fold\n" + "\n".join(rows) + "\n")
    tier = "1_psp_1 1_psp_2\n1_psp_1 2_pspgo_2\n"
    Path("tier.txt").write_text(tier)
    Path("tier.txt.gz").write_bytes(gzip.compress(tier.encode(), mtime=0))
    Path("names.txt").write_text("left\nright\n")
    Path("folds.txt").write_text("a\nb, c\n")
    asked = "segmenter = 'nothing'\ndataset = \"folder(path='shapes')\"\nrounds = 2\nlimit = 1\n"
    Path("options.toml").write_text(f"benchmark = 'clicks'\n{asked}")
    Path("counts.csv").write_text(
        "row,inter,union\n" + "".join(f"{row},{row},9\n" for row in range(6))
    )


def _statistics() -> None:
    rows = ["a,1,0.9,0.1", "b,1,0.8,0.7", "a,2,0.9,0.3", "c,3,0.9,0.9", "b,3,0.7,0.7"]
    Path("own.csv").write_text("class,image,supervised,one_shot\n" + "\n".join(rows) + "\n")
    names = [f"1_2009_{n:06d}" for n in range(40)]
    columns = {"oss_perf": RNG.random(40), **{name: RNG.random(40) for name in ATTRIBUTE_NAMES}}
    pl.DataFrame({"filename": names, **columns}).write_csv("stats.csv")
    Path("tiers").mkdir()
    for place, partition in enumerate(("easy_sal", "easy_nsal", "hard_sal", "hard_nsal")):
        text = "\n".join(f"{name} 1_2010_000001" for name in names[place::4])
        Path(f"tiers/split0_q_{partition}.txt").write_text(text)


def _volumes() -> None:
    voxels = RNG.integers(-900, 900, (10, 9, 8)).astype(np.int16)
    labels = np.zeros_like(voxels, np.uint8)
    labels[2:6, 2:6, 2:6] = 1
    for place, data in (("images", voxels), ("labels", labels)):
        Path(f"volumes/{place}").mkdir(parents=True)
        nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), f"volumes/{place}/a.nii.gz")
    Path("volumes/dataset.json").write_text(
        json.dumps({"labels": {"background": 0, "organ": 1, "ignore": 7}})
    )


def _sets() -> None:
    """Create two datasets as downloaded: DICOM, and volumes with a workbook, also packed and prepared."""
    write_ct(Path("dicom/ct"), "rle")
    write_seg(Path("dicom/seg.dcm"))
    write_flair(Path("flair"))
    Path("flair/archive").mkdir()
    with zipfile.ZipFile("flair/archive/a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in Path("flair/raw").iterdir():
            archive.write(file, file.name)


def _clips() -> None:
    for number in range(2):
        _write_image(f"clips/frames/one/{number + 1:04d}.jpg", cv2.merge([40 * LABELS] * 3))
        _write_image(f"clips/masks/one/{number + 1:04d}.png", (LABELS == 2).astype(np.uint8))


def _clicks() -> None:
    succeed(
        "click-data",
        "crowd",
        "-d",
        "folder(path='shapes')",
        "-o",
        "raw.csv",
        "--clicks",
        "6",
        "--limit",
        "2",
    )
    succeed("click-data", "filter", "raw.csv", "-d", "folder(path='shapes')", "-o", "clicks.csv")
    masks = ("--previous-masks", "crowd/previous")
    succeed(
        "click-data",
        "crowd",
        "-d",
        "folder(path='shapes')",
        "-o",
        "crowd/raw.csv",
        "--clicks",
        "3",
        "--limit",
        "1",
        *masks,
    )
    table = pl.read_csv("clicks.csv")
    table.with_columns(dataset=pl.lit("Text_Description")).write_csv("modes.csv")


def _runs() -> None:
    succeed(
        "run",
        "clicks",
        "-s",
        "nothing",
        "-d",
        "folder(path='shapes')",
        "--rounds",
        "2",
        "-o",
        "runs/clicks",
    )
    oneshot = "oneshot-folder(path='photos')"
    succeed("run", "toss", "-s", "copy-support-mask", "-d", oneshot, "-o", "runs/toss")


def _write_image(file: str, pixels: np.ndarray) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(file, pixels)
