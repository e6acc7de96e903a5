"""Readers of files that belong to a folder: runs, sessions, series of slices, datasets, lists next to a dataset."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

FLAIR_FILES = ("raw/Table 2.xlsx", "raw/1-Flair.nii.gz", "out/prepared.json")
MASK = np.pad(np.full((6, 8), 255, np.uint8), 5)
DEMO_VIDEO = (24, 120, 200)
PHOTO = np.random.default_rng(0).integers(0, 255, (*MASK.shape, 3), dtype=np.uint8)


class Folder(NamedTuple):
    """A folder: its name, the functions that create and read it, and which of its files are damaged."""

    name: str
    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    files: tuple[str, ...]


def folders() -> list[Folder]:
    """Return all folders of this module."""
    piece = "000000-000001.parquet"
    tables = tuple(f"{table}/{piece}" for table in ("records", "timings", "masks"))
    return [
        Folder("run", _run, _read_run, ("run.json", "pieces.jsonl", *tables)),
        Folder("loose", _loose, _read_run, ("records/000000.msgpack", "records/000001.msgpack")),
        Folder("session", _session, _go_on, ("session.json", "submissions.jsonl", "run.json")),
        Folder("series", _series("plain"), _read_series, ("ct/1.dcm", "seg.dcm")),
        Folder("fractions", _series("rle", "FRACTIONAL"), _read_series, ("ct/1.dcm", "seg.dcm")),
        Folder("jpeg", _series("jpeg"), _read_series, ("ct/1.dcm",)),
        Folder("j2k", _series("j2k"), _read_series, ("ct/1.dcm",)),
        Folder("set", write_flair, _prepare("ms_flair"), FLAIR_FILES),
        Folder("pictures", _pictures, read_dataset("folder"), ("images/a.png", "masks/a.png")),
        Folder(
            "labels",
            _labels,
            read_dataset("nifti-folder"),
            ("dataset.json", "labels/a.nrrd", "images/a.nii"),
        ),
        Folder(
            "clip",
            _clip,
            read_dataset("video-folder"),
            ("frames/one/0001.jpg", "masks/one/0001.png"),
        ),
        Folder(
            "davis",
            _davis,
            read_dataset("davis", subset="val"),
            ("ImageSets/2017/val.txt", "Scribbles/one/001.json"),
        ),
        Folder("sbd", _sbd, read_dataset("sbd"), ("val.txt", "inst/one.mat")),
        Folder(
            "bucket",
            _bucket,
            _list_bucket,
            ("list.xml", "manifest.s5cmd", "zenodo.json", "tcia.json"),
        ),
        Folder("archive", _archive, _unpack, ("a.zip",)),
        Folder("weights", _weights, _read_weights, ("network.pt",)),
        Folder("cache", _cache, _read_cache, ("a.emb",)),
        Folder("stage", _stage, _read_stage, ("salience.parquet", "salience.json")),
        Folder(
            "lists",
            _lists,
            _read_lists,
            ("folds.txt", "classes.txt", "iou.csv", "config.toml", "own.csv", "counts.csv"),
        ),
        Folder("strokes", _strokes, _read_strokes, ("a/cup/ann.png",)),
        Folder("maps", _maps, _read_maps, ("a.png", "b.npy", "previous.png", "shared.npz")),
    ]


@functools.cache
def _made() -> Path:
    """Return a folder with a finished run, a run of single samples, and an unfinished session."""
    import segarena
    from segarena import RunFolder

    folder = Path(tempfile.mkdtemp())
    asked: dict[str, Any] = {
        "segmenter": "nothing",
        "dataset": "sample-squares(count=2)",
        "rounds": 2,
    }
    segarena.evaluate("clicks", **asked, keep_rounds=(1, 2), out=folder / "run")
    gather, RunFolder.gather = RunFolder.gather, lambda *_: None
    segarena.evaluate("clicks", **asked, keep_rounds=(1, 2), out=folder / "loose")
    RunFolder.gather = gather
    _go_on(folder / "session", answers=1)
    return folder


def _run(folder: Path) -> None:
    shutil.copytree(_made() / "run", folder)


def _loose(folder: Path) -> None:
    shutil.copytree(_made() / "loose", folder)


def _session(folder: Path) -> None:
    shutil.copytree(_made() / "session", folder)


def _read_run(folder: Path) -> None:
    from segarena import RunFolder
    from segarena.engine.run_integrity import check_run
    from segarena.reports.mask_export import export_masks
    from segarena.reports.recorded_run import read_runs

    check_run(folder)
    export_masks(folder, folder / "exported")
    RunFolder.open(folder).pending()
    for table in ("records", "timings", "masks"):
        RunFolder.open(folder).read(table).to_dicts()
    read_runs([folder])


def _go_on(folder: Path, answers: int = 0) -> None:
    """Start or resume a session, give this many answers, and leave it unfinished."""
    from segarena.davis import DavisInteractiveSession
    from segarena.engine.run_integrity import check_run

    if not answers:
        check_run(folder)
    settings: dict[str, Any] = {
        "dataset": "demo-videos",
        "sequences": ["crossing"],
        "max_nb_interactions": 3,
    }
    with DavisInteractiveSession(**settings, folder=folder) as session:
        while session.next():
            session.get_scribbles()
            if not answers:
                return
            session.submit_masks(np.zeros(DEMO_VIDEO, np.uint8))
            answers -= 1


def _series(packed: str, kind: str = "BINARY") -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        from dicom import write_ct, write_seg

        write_ct(folder / "ct", packed)
        write_seg(folder / "seg.dcm", kind)

    return make


def _read_series(folder: Path) -> None:
    from segarena.systems.volumes.preparation.dicom_ct import read_ct
    from segarena.systems.volumes.preparation.dicom_seg import read_segmentation
    from segarena.systems.volumes.preparation.dicom_series import find_series

    found = find_series(folder)
    for series in found:
        if series.modality == "CT":
            _, grid = read_ct(series)
            for other in found:
                if other.modality == "SEG":
                    read_segmentation(other.files[0], grid)


def write_flair(folder: Path) -> None:
    """Write the dataset ms_flair as downloaded to `raw`, and as prepared to `out`."""
    import nibabel
    from readers import write_workbook

    (folder / "raw").mkdir(parents=True)
    (folder / "out").mkdir()
    lesions = np.zeros((5, 6, 7), np.uint8)
    lesions[1:3, 1:3, 1:3] = 1
    for name, values in (("1-Flair", lesions.astype(np.int16) * 9), ("1-LesionSeg-Flair", lesions)):
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), folder / f"raw/{name}.nii.gz")
    write_workbook(
        folder / "raw/Table 2.xlsx",
        [["", "FLAIR", "FLAIR"], ["ID", "Rows", "Spacing Between Slices"], [1, 9, 3]],
    )
    _prepare("ms_flair")(folder)


def _prepare(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        from segarena.errors import SampleInvalid
        from segarena.systems.volumes.preparation.dataset_catalogue import find_set
        from segarena.systems.volumes.preparation.prepare import prepare_set

        if failed := prepare_set(find_set(name), folder / "raw", folder / "out").failed:
            raise SampleInvalid(str(failed))

    return read


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def _pictures(folder: Path) -> None:
    save(folder / "images/a.png", PHOTO)
    save(folder / "masks/a.png", MASK)


def _labels(folder: Path) -> None:
    import nibabel
    import SimpleITK

    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    voxels = np.zeros((6, 5, 4), np.uint8)
    voxels[1:3, 1:3, 1:3] = 1
    nibabel.save(nibabel.Nifti1Image(voxels.T, np.diag([-1, -1, 1, 1])), folder / "images/a.nii")
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(voxels), str(folder / "labels/a.nrrd"))
    (folder / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "liver": 1}}))


def _clip(folder: Path) -> None:
    for number in (1, 2):
        save(folder / f"frames/one/{number:04d}.jpg", PHOTO)
        save(folder / f"masks/one/{number:04d}.png", MASK // 255)


def _davis(folder: Path) -> None:
    for number in range(2):
        save(folder / f"JPEGImages/480p/one/{number:05d}.jpg", PHOTO)
        save(folder / f"Annotations/480p/one/{number:05d}.png", MASK // 255)
    line = {"path": [[0.2, 0.5], [0.3, 0.5]], "object_id": 1}
    for name, text in (
        ("ImageSets/2017/val.txt", "one\n"),
        ("Scribbles/one/001.json", json.dumps({"sequence": "one", "scribbles": [[line], []]})),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _sbd(folder: Path) -> None:
    from readers import write_instances

    save(folder / "img/one.jpg", PHOTO[:6, :10])
    (folder / "inst").mkdir()
    write_instances(folder / "inst/one.mat")
    (folder / "val.txt").write_text("one\n")


def read_dataset(name: str, **options: Any) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        from segarena.plugin_spec import PluginSpec
        from segarena.registry import build

        dataset = build("dataset", PluginSpec(name, {"path": str(folder), **options}))
        for sample_id in dataset.sample_ids:
            sample = dataset.load(sample_id)
            list(getattr(sample, "frames", ()))
        list(dataset.check())

    return read


class _Web:
    """Responds to every request with a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self, _: str, most_bytes: int = 0) -> bytes:
        return self.file.read_bytes()


def _bucket(folder: Path) -> None:
    folder.mkdir(parents=True)
    entry = '<Contents><Key>a/1.dcm</Key><Size>9</Size><ETag>"0123456789abcdef0123456789abcdef"</ETag></Contents>'
    (folder / "list.xml").write_text(
        f'<ListBucketResult xmlns="http://s3.amazonaws.com/">{entry}</ListBucketResult>'
    )
    (folder / "manifest.s5cmd").write_text("cp s3://idc-open-data/0a1b2c/* .\n")
    file = {
        "key": "a.zip",
        "size": 9,
        "checksum": "md5:0123",
        "links": {"self": "https://zenodo.org/a.zip"},
    }
    (folder / "zenodo.json").write_text(json.dumps({"files": [file]}))
    (folder / "tcia.json").write_text(json.dumps([{"SeriesInstanceUID": "1.2.3"}]))


def _list_bucket(folder: Path) -> None:
    from segarena.systems.volumes.preparation.download_sources import (
        IdcManifest,
        TciaCollection,
        ZenodoRecord,
    )

    web: Any = _Web(folder / "list.xml")
    IdcManifest(collection="x").files(folder, web)
    web.file = folder / "zenodo.json"
    ZenodoRecord(record=1).files(folder, web)
    web.file = folder / "tcia.json"
    TciaCollection(collection="x", page="y").files(folder, web)


def _archive(folder: Path) -> None:
    import zipfile

    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one/a.txt", "a" * 900)
        archive.writestr("b.txt", "b")


def _unpack(folder: Path) -> None:
    from segarena.files.zip_archives import extract_zip

    with tempfile.TemporaryDirectory() as name:
        extract_zip(folder / "a.zip", Path(name), most_bytes=1 << 20)


def _weights(folder: Path) -> None:
    import torch

    folder.mkdir(parents=True)
    torch.save(
        {"state_dict": {"a.weight": torch.zeros(3, 4), "a.bias": torch.ones(3)}},
        folder / "network.pt",
    )


def _read_weights(folder: Path) -> None:
    from segarena.files.checkpoint import extract_state_dict, read_checkpoint

    extract_state_dict(read_checkpoint(folder / "network.pt"), folder / "network.pt")


def _cache(folder: Path) -> None:
    from segarena.engine.encoding_cache import to_bytes

    folder.mkdir(parents=True)
    (folder / "a.emb").write_bytes(to_bytes({"features": np.zeros((3, 4), np.float32)}))


def _read_cache(folder: Path) -> None:
    from segarena.engine.encoding_cache import from_bytes
    from segarena.errors import StoreError

    if from_bytes((folder / "a.emb").read_bytes()) is None:
        raise StoreError("damaged: it is encoded again")


STAGE: dict[str, Any] = {"items": [("dog", "1"), ("cat", "2")], "parameters": {"threshold": 0.5}}


def _stage(folder: Path) -> None:
    folder.mkdir(parents=True)
    _read_stage(folder)


def _read_stage(folder: Path) -> None:
    import polars as pl

    from segarena.systems.oneshot.tier_building.stage_cache import make_stage_job, run_stage
    from segarena.work.executors import make_executor
    from segarena.work.progress import ignore_progress

    run_stage(
        folder,
        "salience",
        STAGE["items"],
        make_stage_job(lambda: lambda label, image: {"salience": 0.5}),
        columns={"salience": pl.Float64},
        parameters=STAGE["parameters"],
        executor=make_executor(0),
        on_progress=ignore_progress,
    )


LISTS = {
    "folds.txt": "dog, cat\nbird\n",
    "classes.txt": "dog\ncat # once\n",
    "iou.csv": "class,image,iou\ndog,1,0.5\n",
    "config.toml": 'dataset = "demo"\nrounds = 3\nusers = ["centre"]\n',
    "own.csv": "class,image,supervised,one_shot\na,1,0.9,0.1\nb,1,0.8,0.7\n",
    "counts.csv": "row,inter,union\n0,1,9\n",
}


def _lists(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, text in LISTS.items():
        (folder / name).write_text(text)


def _read_lists(folder: Path) -> None:
    from segarena.cli.run_options import _read_toml
    from segarena.systems.oneshot.bias.class_negation import read_evidence
    from segarena.systems.oneshot.commands.fold_options import read_folds
    from segarena.systems.oneshot.pairs.pair_table import pairs_table
    from segarena.systems.oneshot.scoring.pixel_counts import counts_from_csv
    from segarena.systems.oneshot.tier_building.generalization_tier import read_name_list
    from segarena.systems.oneshot.tier_building.item_measures import _from_table

    read_folds(str(folder / "folds.txt"), ["dog", "cat", "bird"])
    read_name_list(folder / "classes.txt")
    _from_table(folder / "iou.csv")
    _read_toml(folder / "config.toml")
    read_evidence(folder / "own.csv")
    counts_from_csv(
        folder / "counts.csv", pairs_table([{"class": "1", "query": "a", "supports": ["b"]}])
    )


def _strokes(folder: Path) -> None:
    save(folder / "a/cup/ann.png", MASK // 255)


def _read_strokes(folder: Path) -> None:
    from segarena.systems.clicks.users.recorded_strokes import RecordedStrokes

    RecordedStrokes(path=str(folder))


def _maps(folder: Path) -> None:
    save(folder / "a.png", MASK)
    np.save(folder / "b.npy", MASK / 255)
    save(folder / "previous.png", MASK)
    np.savez_compressed(folder / "shared.npz", a=MASK / 255)


def _read_maps(folder: Path) -> None:
    from segarena.files.npy import read_arrays
    from segarena.systems.clicks.crowd.instances import read_previous_mask
    from segarena.systems.oneshot.saliency import _read

    _read(folder, "a")
    _read(folder, "b")
    read_previous_mask(folder, "previous", MASK.shape)
    read_arrays(folder / "shared.npz")
