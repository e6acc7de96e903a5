"""Masks beside the pictures of a folder (`images/` and `masks/`), from which drawings can start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from sqlalchemy import select

from segarena.arrays.coco_rle import Rle
from segarena.datasets.folder import Folder
from segarena.datasets.folder_detection import detect_dataset
from segarena.datasets.mask_encodings import EncodingKind
from segarena.errors import DatasetError, SegarenaError
from segarena.samples import ImageSample
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet
from segarena_server.site import Site
from segarena_studio.annotation.prior_annotations import StartResult, start_tasks
from segarena_studio.orm_models import Picture, Task

IMAGES = "images"
MASKS = "masks"
_ENCODINGS: tuple[EncodingKind, ...] = ("binary", "index", "colour")
_MOST_PROBED = 20
"""Number of pictures whose masks decide the encoding of the folder."""
_AT_ONCE = 50
_MOST_TOLD = 50


def has_mask_layout(folder: Path) -> bool:
    """Return whether a folder has pictures in `images/` and masks in `masks/`, which are not pictures to annotate."""
    if not (folder / IMAGES).is_dir() or not (folder / MASKS).is_dir():
        return False
    try:
        return detect_dataset(folder).spec.reference in ("folder", "oneshot-folder")
    except DatasetError:
        return False


def list_pictures_with_masks(site: Site, project_id: int, folder: Path) -> list[str]:
    """Return the names of the pictures with a clean task and with masks in the folder, in the order of the folder."""
    dataset = _open_masks(folder, "binary")
    if dataset is None:
        return []
    query = (
        select(Picture.name)
        .join(Task, Task.picture_id == Picture.id)
        .where(Picture.project_id == project_id, Task.state == "clean")
    )
    with site.database.reading() as session:
        clean = set(session.scalars(query))
    names = [_picture_name(dataset, sample_id, folder) for sample_id in dataset.sample_ids]
    return [name for name in names if name in clean]


def start_from_masks(
    site: Site,
    project_id: int,
    folder: Path,
    on_step: Callable[[int], object] = lambda _: None,
) -> StartResult:
    """Start the clean tasks of a project from the masks beside its pictures.

    Each object becomes a region. Smaller regions come first, because masks have no depth order. The encoding of the
    masks (binary, index or colour) is the one that can read most of the first 20 pictures.

    Args:
        site: site of the project.
        project_id: number of the project.
        folder: folder that contains `images/` and `masks/`.
        on_step: called with the number of pictures that were read.
    """
    wanted = set(list_pictures_with_masks(site, project_id, folder))
    result = StartResult()
    dataset = _open_masks(folder, _find_encoding(folder))
    if dataset is None or not wanted:
        return result
    names = {
        sample_id: _picture_name(dataset, sample_id, folder) for sample_id in dataset.sample_ids
    }
    chosen = [(sample_id, name) for sample_id, name in names.items() if name in wanted]
    scenes = _read_scenes(dataset, chosen, result, on_step)
    # In portions, because the masks of all pictures may not fit into memory.
    while portion := tuple(islice(scenes, _AT_ONCE)):
        started = start_tasks(site, project_id, SceneSet(scenes=portion))
        result.tasks += started.tasks
        result.unknown += started.unknown
        result.left += started.left
    return result


def _read_scenes(
    dataset: Folder,
    chosen: Sequence[tuple[str, str]],
    result: StartResult,
    on_step: Callable[[int], object],
) -> Iterator[Scene]:
    """Yield the scenes of samples with the names of their pictures; add errors to the result."""
    for number, (sample_id, name) in enumerate(chosen, 1):
        try:
            sample = dataset.load(sample_id)
        except SegarenaError as error:
            if len(result.told) < _MOST_TOLD:
                result.told.append(" ".join(str(error).split()))
        else:
            yield _to_scene(sample, name)
        on_step(number)


def _to_scene(sample: ImageSample, name: str) -> Scene:
    targets = sorted(sample.targets, key=lambda target: int(np.count_nonzero(target.mask)))
    regions: list[Region] = []
    for number, target in enumerate(targets, 1):
        # Masks without an object name get this id, which would name all regions alike.
        label = "" if target.id == "object" else target.id
        mask = Rle.of(np.asarray(target.mask, dtype=np.bool_))
        regions.append(Region(id=f"r{number}", name=label[:200], mask=mask))
    height, width = sample.image.shape[:2]
    image = ImageRecord(id=name, shape=(height, width), file_name=name)
    return Scene(image=image, regions=tuple(regions), has_depth=False)


def _find_encoding(folder: Path) -> EncodingKind:
    """Return the encoding that can read most of the first pictures; ties go to the first of `_ENCODINGS`."""
    best: EncodingKind = _ENCODINGS[0]
    fewest = _MOST_PROBED + 1
    for encoding in _ENCODINGS:
        dataset = _open_masks(folder, encoding)
        if dataset is None:
            continue
        failed = 0
        for sample_id in dataset.sample_ids[:_MOST_PROBED]:
            try:
                dataset.load(sample_id)
            except SegarenaError:
                failed += 1
        if failed < fewest:
            best = encoding
            fewest = failed
        if not failed:
            break
    return best


def _open_masks(folder: Path, encoding: EncodingKind) -> Folder | None:
    """Open the pictures that have masks; None if the folder has another layout or two pictures with the same name."""
    try:
        if detect_dataset(folder).spec.reference != "folder":
            return None
        return Folder(
            path=str(folder), images=IMAGES, masks=MASKS, encoding=encoding, unpaired="skip"
        )
    except DatasetError:
        return None


def _picture_name(dataset: Folder, sample_id: str, folder: Path) -> str:
    """Return the name that a picture of the dataset has in the project of the folder."""
    return dataset.files_of(sample_id)[0].relative_to(folder).as_posix()
