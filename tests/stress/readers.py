"""Every reader of single files, with a small intact file for it; for readers of folders see `folders.py`."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import pkgutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from dicom import write_ct
from folders import Folder
from PIL import Image

import segarena

LABELS = np.arange(60, dtype=np.uint16).reshape(6, 10) // 12 + 1


def _reader(name: str, make: Callable[[Path], Any], read: Callable[[Path], Any]) -> Folder:
    """Return a folder of one file."""

    def make_in(folder: Path) -> None:
        folder.mkdir(parents=True)
        make(folder / name)

    return Folder(name, make_in, lambda folder: read(folder / name), (name,))


def readers() -> list[Folder]:
    """Return all readers of this module."""
    from segarena.datasets.bsds500 import read_compact, read_original
    from segarena.files.images import read_image, read_mask_colours, read_mask_values
    from segarena.systems.clicks.crowd.clicks_table import read_clicks
    from segarena.systems.clicks.datasets.sbd import read_sbd_instances
    from segarena.systems.clicks.users.recorded_strokes import RecordedStrokes
    from segarena.systems.oneshot.pairs.pair_table import read_pairs
    from segarena.systems.oneshot.pairs.toss_lists import read_class_list
    from segarena.systems.scenes.measures.edge_benchmark import read_detection
    from segarena.systems.scenes.measures.multi_annotator_images import (
        read_boundaries,
        read_segmentations,
    )
    from segarena.systems.videos.scribbles.files import read_scribbles
    from segarena.systems.volumes.files.case_files import read_description
    from segarena.systems.volumes.preparation.dicom_series import read_dicom
    from segarena.systems.volumes.preparation.spreadsheet import read_spreadsheet

    # What readers import when they are called, so that not every child does.
    inside = pkgutil.walk_packages(segarena.__path__, "segarena.")
    for module in [
        *(found.name for found in inside),
        "cv2",
        "nibabel",
        "python_calamine",
        "SimpleITK",
        "torch",
    ]:
        importlib.import_module(module)
    Image.init()

    def human(path: Path) -> None:
        read_boundaries(path, read_segmentations(path))

    grey = Image.fromarray(LABELS.astype(np.uint8))
    colour = Image.fromarray(np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8))
    palette = grey.convert("P")
    return [
        _reader("image.png", colour.save, read_image),
        _reader("image.jpg", colour.save, read_image),
        _reader("image.tif", lambda path: colour.save(path, compression="tiff_lzw"), read_image),
        _reader("image.bmp", colour.save, read_image),
        _reader("image.webp", colour.save, read_image),
        _reader("image.ppm", colour.save, read_image),
        _reader("mask.png", grey.save, read_mask_values),
        _reader("deep.png", Image.fromarray(LABELS).save, read_mask_values),
        _reader("palette.png", palette.save, read_mask_colours),
        _reader("grey16.png", Image.fromarray(LABELS).save, _picture),
        _reader("grey16.tif", Image.fromarray(LABELS).save, _picture),
        _reader("pages.tif", _pages, _picture),
        _reader("picture.dcm", _dicom_picture, _picture),
        _reader("edges.png", grey.save, read_detection),
        _reader("edges.npy", lambda path: np.save(path, LABELS / 9), read_detection),
        _reader(
            "segs.npz", lambda path: np.savez_compressed(path, segs=LABELS[None]), read_detection
        ),
        _reader("human.npz", _compact, human),
        _reader("compact.npz", _compact, read_compact),
        _reader("truth.mat", _original, read_original),
        _reader("packed.mat", lambda path: _original(path, True), human),
        _reader("instances.mat", write_instances, read_sbd_instances),
        _reader("volume.nii", _nifti, _volume),
        _reader("volume.nii.gz", _nifti, _volume),
        _reader("volume.nrrd", lambda path: _itk(path, False), _volume),
        _reader("packed.nrrd", lambda path: _itk(path, True), _volume),
        _reader("volume.mha", lambda path: _itk(path, False), _volume),
        _reader("packed.mha", lambda path: _itk(path, True), _volume),
        _reader(
            "slice.dcm",
            _dicom,
            lambda path: read_dicom(path, ["SeriesInstanceUID", "Modality", "PatientID"]),
        ),
        _reader(
            "table.xlsx",
            lambda path: write_workbook(path, [["ID", "Rows"], [1, 2]]),
            read_spreadsheet,
        ),
        _reader("table.csv", lambda path: path.write_text("ID,Rows\n1,2\n"), read_spreadsheet),
        _reader(
            "dataset.json",
            _json({"labels": {"background": 0, "liver": 1}, "modality": {"0": "CT"}}),
            read_description,
        ),
        _reader("scribbles.json", _json(_SCRIBBLES), read_scribbles),
        _reader(
            "list.txt.gz",
            lambda path: path.write_bytes(gzip.compress(b"abacus\nzebra\n" * 9)),
            read_class_list,
        ),
        _reader(
            "pairs.csv",
            lambda path: path.write_text("class,query,supports\n1,a,b\n1,c,d\n"),
            read_pairs,
        ),
        _reader(
            "pairs.jsonl",
            lambda path: path.write_text('{"class": "1", "query": "a", "supports": ["b"]}\n'),
            read_pairs,
        ),
        _reader("pairs.parquet", _pairs, read_pairs),
        _reader(
            "strokes.csv",
            lambda path: path.write_text(_STROKES),
            lambda path: RecordedStrokes(path=str(path)),
        ),
        _reader("clicks.csv", _clicks, read_clicks),
        _reader("coco.json", _json(_COCO), _scenes),
        _reader("cocoa.json", _json(_COCOA), _scenes),
        _reader("labelme.json", _json(_LABELME), _scenes),
        _reader("scene.ann", _ann, _scenes),
        _reader("cvat.xml", lambda path: path.write_text(_CVAT), _scenes),
        _reader(
            "rle.json",
            _json([{"image_id": 1, "segmentation": {"size": [9, 9], "counts": [9, 9, 63]}}]),
            _scenes,
        ),
    ]


def _picture(path: Path) -> Any:
    """Read a picture as the studio does when it is uploaded."""
    from segarena_studio.annotation.pictures import check_picture

    return check_picture(path.name, path.read_bytes())


def _dicom_picture(path: Path) -> None:
    with TemporaryDirectory() as folder:
        write_ct(Path(folder))
        path.write_bytes((Path(folder) / "0.dcm").read_bytes())


def _pages(path: Path) -> None:
    page = Image.fromarray(LABELS)
    page.save(path, save_all=True, append_images=[page])


_STROKES = """sample,target,person,stroke,is_positive,row,column
a,cup,ann,1,true,3.5,4
a,cup,ann,1,true,3.5,9
"""
_SCRIBBLES = {
    "sequence": "dog",
    "scribbles": [[{"path": [[0.2, 0.5], [0.3, 0.5]], "object_id": 1}]],
}
_COCO = {
    "images": [{"id": 1, "width": 20, "height": 30, "file_name": "a.png"}],
    "categories": [{"id": 1, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "segmentation": [[1, 1, 9, 1, 9, 9]]},
        {
            "id": 2,
            "image_id": 1,
            "category_id": 1,
            "segmentation": {"size": [30, 20], "counts": [100, 30, 470]},
        },
    ],
}
_COCOA = {
    "images": [{"id": 1, "width": 20, "height": 30, "file_name": "a.png"}],
    "annotations": [
        {
            "image_id": 1,
            "author": "x",
            "regions": [{"segmentation": [1, 1, 9, 1, 9, 9], "name": "dog", "order": 1}],
        }
    ],
}
_LABELME = {
    "imagePath": "a.png",
    "imageHeight": 30,
    "imageWidth": 20,
    "shapes": [{"label": "a", "points": [[1, 1], [9, 1], [9, 9]], "shape_type": "polygon"}],
}
_CVAT = (
    '<annotations><image id="0" name="a.png" width="40" height="40"><polygon label="a" points="1,1;9,1;9,9" '
    'z_order="1"/><mask label="c" rle="1, 3" left="1" top="1" width="2" height="2"/></image></annotations>'
)


def _json(value: Any) -> Callable[[Path], Any]:
    return lambda path: path.write_text(json.dumps(value))


def _ann(path: Path) -> None:
    Image.new("L", (9, 9)).save(path.with_name("photograph.png"))
    path.write_text(
        json.dumps(
            {"url": "photograph.png", "polygons_str": "[[0,0,1,0,1,1]]", "namelist": '["a"]'}
        )
    )


def _scenes(path: Path) -> None:
    from segarena.systems.scenes.files import read_scenes
    from segarena.systems.scenes.model.rasters import rasterise

    for scene in read_scenes(path).scenes:
        rasterise(scene)


def _volume(path: Path) -> None:
    from segarena.systems.volumes.files.volume_io import read_labels

    read_labels(path, may_be_empty=True)


def _pairs(path: Path) -> None:
    import polars as pl

    pl.DataFrame(
        {"class": ["1", "1"], "query": ["a", "c"], "supports": [["b"], ["d"]]}
    ).write_parquet(path)


def _compact(path: Path) -> None:
    edges = np.packbits(LABELS[None] % 2 == 0, axis=2)
    np.savez_compressed(
        path, labels=np.stack([LABELS, LABELS]), boundaries=np.concatenate([edges, edges])
    )


def _original(path: Path, is_packed: bool = False) -> None:
    from scipy.io import savemat

    cells = np.empty((1, 2), dtype=object)
    for number in range(2):
        cells[0, number] = {"Segmentation": LABELS, "Boundaries": LABELS % 2 == 0}
    savemat(path, {"groundTruth": cells}, do_compression=is_packed)


def write_instances(path: Path) -> None:
    from scipy.io import savemat

    savemat(
        path,
        {
            "GTinst": {
                "Segmentation": LABELS.astype(np.uint8),
                "Categories": np.arange(1, 6)[:, None],
            }
        },
    )


def _nifti(path: Path) -> None:
    import nibabel

    nibabel.save(
        nibabel.Nifti1Image(np.arange(120, dtype=np.uint8).reshape(4, 5, 6), np.eye(4)), path
    )


def _itk(path: Path, is_packed: bool) -> None:
    import SimpleITK

    image = SimpleITK.GetImageFromArray(np.arange(120, dtype=np.uint8).reshape(4, 5, 6))
    SimpleITK.WriteImage(image, str(path), useCompression=is_packed)


def _dicom(path: Path) -> None:
    import pydicom

    content = pydicom.Dataset()
    content.file_meta = pydicom.dataset.FileMetaDataset()
    content.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    content.file_meta.MediaStorageSOPClassUID = pydicom.uid.CTImageStorage
    content.file_meta.MediaStorageSOPInstanceUID = "1.2.3"
    content.SeriesInstanceUID, content.Modality, content.PatientID = "1.2.3", "CT", "x"
    content.save_as(path, enforce_file_format=True)


def write_workbook(path: Path, rows: list[list[Any]]) -> None:
    """Write a table as .xlsx, with texts stored in the cells."""

    def cell(at: str, value: Any) -> str:
        is_text = isinstance(value, str)
        return (
            f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'
            if is_text
            else f'<c r="{at}"><v>{value}</v></c>'
        )

    lines = (
        f'<row r="{row}">{"".join(cell(f"{chr(65 + at)}{row}", value) for at, value in enumerate(cells))}</row>'
        for row, cells in enumerate(rows, 1)
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="rId1" Type="{kind}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{kind}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="rId1" Type="{kind}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>',
        )
    path.write_bytes(buffer.getvalue())


def _clicks(path: Path) -> None:
    from segarena.systems.clicks.crowd.clicks_table import CLICK_COLUMNS, CLICK_NUMBER_COLUMNS

    values = {
        "click_type": "first",
        "device": "pc",
        "w": "9",
        "h": "9",
        "model_type": "",
        "object_stem": "",
    }
    path.write_text(
        ",".join(CLICK_COLUMNS)
        + "\n"
        + ",".join(
            values.get(name, "1" if name in CLICK_NUMBER_COLUMNS else "a") for name in CLICK_COLUMNS
        )
        + "\n"
    )
