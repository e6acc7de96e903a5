import zipfile

import numpy as np
import pytest
from collection_factory import collection, ellipse, save
from msgspec.structs import replace

from segarena.errors import DatasetError, InvalidInput
from segarena.samples import ImageSample, Target
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts
from segarena_people.prompt_table import read_prompt_table, write_prompt_table
from segarena_people.target_masks import TargetMasks


class Pictures:
    """The pictures of the made-up collections."""

    name = "made up"
    fingerprint = "1"
    sample_ids = ("s0", "s1")

    def load(self, sample_id):
        rng = np.random.default_rng(0)
        mask = [ellipse(rng) for _ in range(2)][int(sample_id[1:])]
        return ImageSample(
            id=sample_id,
            image=np.zeros((*mask.shape, 3), np.uint8),
            targets=(Target(id="t", mask=mask),),
        )

    def check(self):
        return ()


def exported(folder):
    """Write an export: whole objects without a file, a corrected mask, and one prompt that does not count."""
    collection(folder, objects=2)
    for mask in (folder / "goals").iterdir():
        mask.unlink()
    part = np.eye(48, 64, dtype=bool)
    save(folder / "goals" / "part.png", part)
    save(folder / "previous" / "part.png", ~part)
    rows = [replace(row, goal_mask="") for row in read_prompt_table(folder / "prompts.parquet")]
    rows[1] = replace(
        rows[1], goal="missing", goal_mask="part.png", previous_mask="part.png", round=2
    )
    rows[3] = replace(rows[3], fate="far")
    write_prompt_table(rows, folder / "prompts.parquet")
    (folder / "README.txt").write_text("What people gave in a study.")
    return folder


def zipped(folder):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return path


@pytest.mark.parametrize("pack", [zipped, lambda folder: folder])
def test_what_counts_comes_back_with_its_masks(tmp_path, pack):
    source = pack(exported(tmp_path / "study"))
    beside = ImportInputs(targets=TargetMasks(Pictures()))
    told = import_prompts(find_format("study"), source, tmp_path / "out", beside=beside)
    assert (told.prompts, told.people, told.left_out) == (3, 2, ())
    given = Collection.open(tmp_path / "out")
    rng = np.random.default_rng(0)
    assert np.array_equal(given[0].goal, ellipse(rng))
    assert np.array_equal(given[2].goal, ellipse(rng))
    assert given[1].goal.sum() == 48
    assert np.array_equal(given[1].previous, ~given[1].goal)
    assert [one.prompt for one in given] == [
        one.prompt for one in Collection.open(tmp_path / "study")[:3]
    ]


def test_without_the_dataset_whole_objects_are_left_out(tmp_path):
    told = import_prompts(
        find_format("study"), zipped(exported(tmp_path / "study")), tmp_path / "out"
    )
    assert told.prompts == 1
    assert len(told.left_out) == 2
    assert "name the dataset with --dataset" in told.left_out[0]


def test_what_is_no_export_is_refused(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.txt").write_text("x")
    with pytest.raises(InvalidInput, match=r"expected the export of a study"):
        find_format("study").open(
            zipped(tmp_path / "other"), ImportInputs(scratch=tmp_path / "scratch")
        )
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(DatasetError, match="whole zip archive"):
        find_format("study").open(
            tmp_path / "broken.zip", ImportInputs(scratch=tmp_path / "scratch")
        )
