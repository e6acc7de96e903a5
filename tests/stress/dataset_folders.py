"""Folders of every dataset that is not in `folders.py`: annotation tools, published photographs, one-shot sets."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from folders import MASK, PHOTO, Folder, read_dataset, save
from PIL import Image

HEIGHT, WIDTH = MASK.shape
CORNERS = [[5, 5], [13, 5], [13, 11], [5, 11]]
"""Corners of the block in `MASK`, (x, y)."""

_ORIENTATION = 0x0112
_PAIRS = "class,query,supports\ndog,a,b\ndog,b,a\n"


def dataset_folders() -> list[Folder]:
    """Return all dataset folders of this module."""
    images = ("images/a.jpg",)
    return [
        Folder("coco", _coco, read_dataset("coco"), ("instances.json",)),
        Folder(
            "coco-turned",
            _coco,
            read_dataset("coco", mask_orientation="stored"),
            ("instances.json", *images),
        ),
        Folder("cvat", _cvat, read_dataset("cvat"), ("annotations.xml",)),
        Folder("labelme", _labelme, read_dataset("labelme"), ("images/a.json",)),
        Folder("labelme-embedded", _labelme_embedded, read_dataset("labelme"), ("images/a.json",)),
        Folder("label-studio", _label_studio, read_dataset("label-studio"), ("export.json",)),
        Folder("detected", _coco, _detect, ("instances.json",)),
        Folder("bsds500", _bsds, read_dataset("bsds500"), ("human/test/1.npz", "images/test/1.jpg")),
        Folder("grabcut", _photographs("data_GT", "boundary_GT"), read_dataset("grabcut"), ("boundary_GT/a.png",)),
        Folder("berkeley", _photographs("images", "masks"), read_dataset("berkeley"), ("masks/a.png",)),
        Folder("davis345", _photographs("img", "gt"), read_dataset("davis345"), ("gt/a.png",)),
        Folder("coco-mval", _photographs("img", "gt"), read_dataset("coco-mval"), ("img/a.png",)),
        Folder("tetris", _tetris, read_dataset("tetris", split="val.txt"), ("masks/a.png", "val.txt")),
        Folder(
            "oneshot-folder",
            _one_shot,
            _read_one_shot,
            ("images/a.png", "masks/dog/b.png", "pairs.csv"),
        ),
        Folder("fss1000", _fss, read_dataset("fss1000"), ("dog/1.png", "dog/2.jpg")),
        Folder("pascal5i", _pascal, read_dataset("pascal5i", fold=0), ("masks/1_a.png", "images/b.jpg")),
        Folder("coco20i", _coco20i, read_dataset("coco20i"), ("maps/000000000001.png",)),
    ]  # fmt: skip


def _photograph(path: Path, orientation: int = 1) -> None:
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(PHOTO).save(path, exif=exif)


def _coco(folder: Path) -> None:
    _photograph(folder / "images/a.jpg", 3)
    size = {"height": HEIGHT, "width": WIDTH}
    lengths = [HEIGHT * 5, HEIGHT * 2, HEIGHT * (WIDTH - 7)]
    shapes: list[Any] = [
        [np.ravel(CORNERS).tolist()],
        {"size": [HEIGHT, WIDTH], "counts": lengths},
        {"size": [HEIGHT, WIDTH], "counts": "P2`0P8"},
    ]
    annotations: list[dict[str, Any]] = []
    for number, shape in enumerate(shapes[:2], 1):
        annotations.append(
            {
                "id": number,
                "image_id": 1,
                "category_id": 1,
                "iscrowd": number - 1,
                "segmentation": shape,
            }
        )
    value = {
        "images": [{"id": 1, "file_name": "a.jpg", **size}],
        "categories": [{"id": 1, "name": "dog"}],
        "annotations": annotations,
    }
    (folder / "instances.json").write_text(json.dumps(value))


def _cvat(folder: Path) -> None:
    _photograph(folder / "images/a.jpg")
    points = ";".join(f"{x}.00,{y}.00" for x, y in CORNERS)
    text = (
        "<annotations><version>1.1</version>"
        f'<image id="0" name="a.jpg" width="{WIDTH}" height="{HEIGHT}">'
        f'<polygon label="dog" points="{points}" z_order="0" group_id="1"/>'
        '<box label="cat" xtl="2" ytl="3" xbr="9" ybr="8" rotation="30.0"/>'
        '<ellipse label="cat" cx="8" cy="8" rx="4" ry="3"/>'
        '<mask label="cow" rle="1, 3" left="1" top="1" width="2" height="2"/>'
        '<polyline label="dog" points="0,0;5,5"/></image></annotations>'
    )
    (folder / "annotations.xml").write_text(text)


def _labelme(folder: Path) -> None:
    _photograph(folder / "images/a.jpg")
    buffer = io.BytesIO()
    Image.fromarray(MASK[5:11, 5:13]).save(buffer, format="PNG")
    png = base64.b64encode(buffer.getvalue()).decode()
    shapes = [
        {"label": "dog", "points": CORNERS, "group_id": 1, "shape_type": "polygon"},
        {"label": "cat", "points": [[2, 3], [9, 8]], "shape_type": "rectangle"},
        {"label": "cat", "points": [[8, 8], [8, 12]], "shape_type": "circle"},
        {"label": "cow", "points": [[5, 5], [12, 10]], "shape_type": "mask", "mask": png},
    ]
    value = {
        "shapes": shapes,
        "imagePath": "a.jpg",
        "imageData": base64.b64encode((folder / "images/a.jpg").read_bytes()).decode(),
        "imageHeight": HEIGHT,
        "imageWidth": WIDTH,
    }
    (folder / "images/a.json").write_text(json.dumps(value))


def _labelme_embedded(folder: Path) -> None:
    _labelme(folder)
    (folder / "images/a.jpg").unlink()


def _label_studio(folder: Path) -> None:
    _photograph(folder / "images/a.jpg")
    of_image = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}
    values: dict[str, Any] = {
        "polygon": {"points": [[10, 10], [60, 10], [60, 70]]},
        "rectangle": {"x": 10, "y": 10, "width": 40, "height": 50, "rotation": 10},
        "ellipse": {"x": 50, "y": 50, "radiusX": 20, "radiusY": 30, "rotation": 0},
        "brush": {"format": "rle", "rle": _brush()},
        "bitmask": {"imageDataURL": f"data:image/png;base64,{_opaque_png()}"},
        "keypoint": {"x": 50, "y": 50, "width": 0.5},
    }
    results: list[dict[str, Any]] = []
    for kind, value in values.items():
        name = f"{kind}labels"
        results.append({"id": kind, "type": name, "value": {name: ["dog"], **value}, **of_image})
    annotations = [{"id": 1, "was_cancelled": False, "result": results}]
    task = {"id": 1, "data": {"image": "/data/upload/1/0a1b2c3d-a.jpg"}, "annotations": annotations}
    (folder / "export.json").write_text(json.dumps([task]))


def _opaque_png() -> str:
    """Return a base64-encoded PNG that is transparent outside the object."""
    pixels = np.zeros((*MASK.shape, 4), np.uint8)
    pixels[:, :, 3] = MASK
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _brush() -> list[int]:
    """Return the run-length encoding of a brush stroke, one run per pixel."""
    bits = f"{MASK.size * 4:032b}" + f"{7:05b}" + f"{1:04b}" * 4
    for pixel in MASK.ravel().tolist():
        bits += "1" + "00" + "11" + f"{pixel:08b}"
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


def _detect(folder: Path) -> None:
    from segarena.datasets.folder_detection import detect_dataset
    from segarena.registry import build

    found = build("dataset", detect_dataset(folder).spec)
    list(found.check())


def _bsds(folder: Path) -> None:
    _photograph(folder / "images/test/1.jpg")
    (folder / "human/test").mkdir(parents=True)
    labels = 1 + (MASK > 0).astype(np.uint8)
    stack = np.stack([labels, labels])
    edges = np.packbits(stack == 2, axis=2)
    np.savez_compressed(folder / "human/test/1.npz", labels=stack, boundaries=edges)


def _photographs(images: str, masks: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        save(folder / images / "a.png", PHOTO)
        save(folder / masks / "a.png", MASK)

    return make


def _tetris(folder: Path) -> None:
    _photographs("images", "masks")(folder)
    (folder / "val.txt").write_text("a\n")


def _one_shot(folder: Path) -> None:
    for name in ("a", "b"):
        save(folder / f"images/{name}.png", PHOTO)
        save(folder / f"masks/dog/{name}.png", MASK)
    (folder / "pairs.csv").write_text(_PAIRS)


def _read_one_shot(folder: Path) -> None:
    read_dataset("oneshot-folder", pairs=str(folder / "pairs.csv"))(folder)


def _fss(folder: Path) -> None:
    for number in (1, 2, 3):
        save(folder / f"dog/{number}.jpg", PHOTO)
        save(folder / f"dog/{number}.png", MASK)


def _pascal(folder: Path) -> None:
    for name in ("a", "b"):
        save(folder / f"images/{name}.jpg", PHOTO)
        save(folder / f"masks/1_{name}.png", MASK)


def _coco20i(folder: Path) -> None:
    for number in (1, 2):
        save(folder / f"images/{number:012d}.jpg", PHOTO)
        save(folder / f"maps/{number:012d}.png", MASK // 255)
