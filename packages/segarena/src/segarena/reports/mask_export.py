"""Export of a run's stored predictions to file formats of other tools, with an index table.

A format is a function with the decorator `@mask_format(name, kind, ...)`. It receives predictions
in order, writes them to files, and yields the file name of each. Packages can register further
formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.boxes import bounding_window
from segarena.arrays.rle import decode_rle, run_lengths
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput, RunConflict, StoreError
from segarena.files.atomic_write import open_atomic, write_atomic
from segarena.files.safe_paths import safe_join
from segarena.records.configuration import resolve_paths
from segarena.records.plugin_trust import rebuild_plugin, trust_refusal
from segarena.records.sample_file import RETRY_HINT
from segarena.registry import import_entry_points
from segarena.reports.pages import PAGES_ENTRY_POINTS
from segarena.roles import Dataset
from segarena.samples import Mask

INDEX_FILE = "masks.csv"
_KEY = ("sample", "target", "user", "repeat")
_SAMPLES_AT_ONCE = 64
# uint8 has 255 values in addition to 0, which is the background.
_MOST_OBJECTS = 255


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class MaskPrediction:
    """The prediction of one dialogue.

    Attributes:
        stem: unique relative path of its file, without suffix, in portable characters.
        mask: bool, or uint8 with object indices from 1 and 0 for background; in the shape of the
            sample.
        sample_of: function that loads a sample of the run, for formats that need its geometry.
    """

    sample: str
    target: str
    label: str
    user: str
    repeat: int
    round: int
    stem: str
    mask: NDArray[np.bool_] | NDArray[np.uint8]
    sample_of: Callable[[str], Any] = field(repr=False)


MaskWriter: TypeAlias = Callable[[Path, Iterable[MaskPrediction]], Iterator[str]]


class _Format(NamedTuple):
    write: MaskWriter
    kinds: tuple[str, ...]


_formats: dict[str, _Format] = {}


def mask_format(name: str, *kinds: str) -> Callable[[MaskWriter], MaskWriter]:
    """Return a decorator that registers a writer of the format `name` for these kinds of samples."""

    def add(writer: MaskWriter) -> MaskWriter:
        _formats[name] = _Format(writer, kinds)
        return writer

    return add


def export_masks(
    run: str | Path,
    out: str | Path,
    *,
    as_format: str = "png",
    round_: int | None = None,
    trust: bool = False,
) -> Path:
    """Write one prediction of each dialogue of a run to `out`; return the path of the index table.

    Args:
        run: the run folder.
        out: a new or empty folder, or one with an earlier export.
        as_format: "png" for images and videos (frames of object indices), "coco" for images,
            "nifti" for volumes, or a format that a package registered.
        round_: round of the prediction; for a dialogue that ended earlier, its last prediction is
            exported. None exports the last one of each dialogue.
        trust: see `segarena.records.plugin_trust`; only used by formats that need the samples.

    Raises:
        InvalidInput: the format is unknown or does not support this kind of sample, or no masks
            were stored for this round.
        RunConflict: `out` contains other files.
        RunMissing: the folder contains no run.
    """
    # Packages register their formats in the modules of their pages.
    import_entry_points(PAGES_ENTRY_POINTS)
    folder = RunFolder.open(run)
    root = Path(out)
    writer = _find_writer(as_format, folder.config.benchmark.sample_kind)
    kept = folder.config.keep_rounds
    if round_ is not None and round_ not in kept and round_ < folder.config.rounds:
        stored = ", ".join(str(number) for number in kept)
        raise InvalidInput(
            f"round: expected a round after which masks were kept ({stored} or the last), got {round_}"
        )
    # An index table marks the folder as an earlier export, which may be replaced.
    if root.is_dir() and any(root.iterdir()) and not (root / INDEX_FILE).is_file():
        raise RunConflict(f"{root} holds other files; choose an empty or new folder with --out")
    rows: list[dict[str, Any]] = []

    # Writers receive one prediction at a time, because those of a whole run may not fit into
    # memory.
    def recorded() -> Iterator[MaskPrediction]:
        for prediction in _predictions(folder, round_, trust=trust):
            # The stem comes from ids in the records, so make sure that it stays inside the folder.
            safe_join(root, prediction.stem)
            rows.append({key: getattr(prediction, key) for key in (*_KEY, "label", "round")})
            yield prediction

    files = list(writer(root, recorded()))
    index = pl.DataFrame([{"file": file, **row} for file, row in zip(files, rows, strict=True)])
    if rows:
        measured = folder.read(
            "records", without=("prompts", "attributes", "label", "benchmark", "dataset", "failure")
        )
        index = index.join(measured, on=[*_KEY, "round"], how="left", maintain_order="left")
    return write_atomic(root / INDEX_FILE, index.write_csv())


def _find_writer(as_format: str, kind: str) -> MaskWriter:
    """Return the writer of a format for a kind of samples.

    Raises:
        InvalidInput: the format is unknown or does not support this kind of sample.
    """
    known = _formats.get(as_format)
    if known is not None and kind in known.kinds:
        return known.write
    fitting = sorted(name for name, one in _formats.items() if kind in one.kinds)
    raise InvalidInput(f"masks: expected {' or '.join(fitting)} for {kind}s, got {as_format!r}")


def _predictions(
    folder: RunFolder,
    round_: int | None,
    *,
    trust: bool,
) -> Iterator[MaskPrediction]:
    """Yield each dialogue's prediction after a round, or its last prediction if it ended earlier."""
    load = _loader(folder, trust=trust)
    axes = 2 if folder.config.benchmark.sample_kind == "image" else 3
    is_only_user = len(folder.config.users) == 1
    taken: set[str] = set()
    samples = range(len(folder.samples))
    for start in samples[::_SAMPLES_AT_ONCE]:
        batch = samples[start : start + _SAMPLES_AT_ONCE]
        masks = folder.read("masks", only=batch)
        if round_ is not None:
            masks = masks.filter(pl.col("round") <= round_)
        last = masks.filter(pl.col("round") == pl.col("round").max().over(_KEY))
        records = folder.read("records", ["sample", "target", "label"], only=batch)
        labels: dict[tuple[str, str], str] = {}
        for sample, target, label in records.unique().iter_rows():
            labels[sample, target] = label
        for key, objects in last.group_by(*_KEY, maintain_order=True):
            sample, target, user, repeat = key
            stem = _stem(str(sample), str(target), str(user), int(repeat), is_only=is_only_user)
            # Some file systems ignore case, and different ids may become equal in portable
            # characters.
            while stem.casefold() in taken:
                stem += "-"
            taken.add(stem.casefold())
            yield MaskPrediction(
                sample=sample,
                target=target,
                label=labels.get((sample, target), ""),
                user=user,
                repeat=repeat,
                round=objects["round"][0],
                stem=stem,
                mask=_mask(objects, axes),
                sample_of=load,
            )


def _mask(objects: pl.DataFrame, axes: int) -> NDArray[np.bool_] | NDArray[np.uint8]:
    """Combine the masks of a dialogue's objects into one array.

    Raises:
        StoreError: the masks differ in shape or number of axes, or an object index is invalid.
    """
    masks: dict[int, Mask] = {}
    for row in objects.iter_rows(named=True):
        masks[row["object"]] = decode_rle(row["rle"], tuple(row["shape"]))
    shape, *other_shapes = {mask.shape for mask in masks.values()}
    has_valid_numbers = all(0 < number <= _MOST_OBJECTS for number in masks)
    if other_shapes or len(shape) != axes or not has_valid_numbers:
        where = f"{objects['sample'][0]} / {objects['target'][0]}"
        raise StoreError(
            f"masks of {where}: expected one shape of {axes} axes and objects 1 to {_MOST_OBJECTS}; {RETRY_HINT}"
        )
    if len(masks) == 1:
        return masks.popitem()[1]
    labels = np.zeros(shape, np.uint8)
    for number, mask in masks.items():
        labels[mask] = number
    return labels


def _stem(
    sample: str,
    target: str,
    user: str,
    repeat: int,
    *,
    is_only: bool,
) -> str:
    """Return a path in portable characters; slashes in the sample id separate folders."""
    parts = [_plain(target)]
    if not is_only:
        parts.append(_plain(user))
    # The first repeat has no number, so that runs without repeats get plain names.
    if repeat:
        parts.append(str(repeat))
    # Slashes of sample ids stay, so that exported files lie in the folders of the dataset.
    folders = [_plain(folder) for folder in sample.split("/")]
    return "/".join([*folders, "--".join(parts)])


def _plain(name: str) -> str:
    return re.sub(r"[^\w.+=,-]+", "-", name).strip("-")[:80] or "-"


def _loader(folder: RunFolder, *, trust: bool) -> Callable[[str], Any]:
    """Return a function that loads a sample of the run; the first call opens the dataset."""
    used = resolve_paths(folder.config.dataset, folder.config.directory)

    @cache
    def dataset() -> Dataset:
        refusal = trust_refusal("dataset", used, trust=trust)
        if refusal:
            raise InvalidInput(refusal.replace("No photographs", "this format needs the samples"))
        return rebuild_plugin("dataset", used, trust=trust)

    return lambda sample: dataset().load(sample)


@mask_format("png", "image", "video")
def write_png(root: Path, predictions: Iterable[MaskPrediction]) -> Generator[str]:
    """Write each image mask as a PNG of 0 and 255, and each video as a folder of indexed PNGs in VOC colours."""
    for one in predictions:
        if one.mask.ndim == 2:
            _save(root / f"{one.stem}.png", one.mask)
            yield f"{one.stem}.png"
            continue
        for number, frame in enumerate(one.mask.astype(np.uint8)):
            _save(root / one.stem / f"{number:05d}.png", frame)
        yield one.stem


def _save(path: Path, mask: NDArray[Any]) -> None:
    if mask.dtype == np.bool_:
        image = Image.fromarray(mask.astype(np.uint8) * 255)
    else:
        image = Image.fromarray(mask.astype(np.uint8))
        image.putpalette(_palette())
    with open_atomic(path) as file:
        image.save(file, format="PNG")


@cache
def _palette() -> bytes:
    """Return the PASCAL VOC colour palette.

    Bits 0, 3 and 6 of an index are the highest bits of red, bits 1, 4 and 7 those of green, bits 2
    and 5 those of blue.
    """
    numbers = np.arange(256, dtype=np.int64)[:, None]
    channels = np.arange(3)
    colours = np.zeros((256, 3), dtype=np.int64)
    for bit in range(8):
        source = (numbers >> (3 * bit + channels)) & 1
        colours |= source << (7 - bit)
    return np.asarray(colours, np.uint8).tobytes()


@mask_format("coco", "image")
def write_coco_masks(root: Path, predictions: Iterable[MaskPrediction]) -> Generator[str]:
    """Write one COCO file of uncompressed RLE per user and repeat; an image's `file_name` is its sample id."""
    images: dict[str, dict[str, Any]] = {}
    categories: dict[str, int] = {}
    files: dict[str, list[dict[str, Any]]] = {}
    for prediction in predictions:
        rows, columns = prediction.mask.shape
        image = images.setdefault(
            prediction.sample,
            {
                "id": len(images) + 1,
                "file_name": prediction.sample,
                "width": columns,
                "height": rows,
            },
        )
        label = prediction.label or "object"
        category = categories.setdefault(label, len(categories) + 1)
        repeat = f"--{prediction.repeat}" if prediction.repeat else ""
        name = f"{_plain(prediction.user)}{repeat}.json"
        annotations = files.setdefault(name, [])
        annotation = {
            "id": len(annotations) + 1,
            "image_id": image["id"],
            "category_id": category,
            **_coco(prediction),
        }
        annotations.append(annotation)
        yield name
    named_categories = [{"id": number, "name": label} for label, number in categories.items()]
    for name, annotations in files.items():
        document = {
            "images": list(images.values()),
            "categories": named_categories,
            "annotations": annotations,
        }
        write_atomic(safe_join(root, name), json.dumps(document))


def _coco(one: MaskPrediction) -> dict[str, Any]:
    mask = one.mask > 0
    down, across = bounding_window(mask)
    return {
        "segmentation": {"size": list(mask.shape), "counts": run_lengths(mask.T).tolist()},
        "area": int(mask.sum()),
        "bbox": [across.start, down.start, across.stop - across.start, down.stop - down.start],
        "iscrowd": 0,
        "score": 1.0,
        "target": one.target,
        "round": one.round,
    }
