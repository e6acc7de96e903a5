"""Detection of equal runs, compared with decoded masks pixel by pixel."""

import numpy as np
import pytest

from segarena import evaluate
from segarena.arrays.rle import decode_rle
from segarena.engine.run_folder import RunFolder
from segarena.errors import StoreError
from segarena_server.challenges import duplicate_detection
from segarena_server.challenges.duplicate_detection import max_similarity, similarity_of, sketch_of


class Shrunk:
    """Predicts a share of the brightest pixels, with a difference of one pixel."""

    def __init__(self, share=1.0, *, extra=0):
        self.share = share
        self.extra = extra

    def encode(self, sample):
        return sample.image.mean(axis=2) > 95

    def predict(self, bright, dialogues):
        mask = bright & (np.indices(bright.shape)[1] < self.share * bright.shape[1])
        mask.flat[: self.extra] = True
        return [mask] * len(dialogues)


@pytest.fixture(scope="module")
def runs(pool, tmp_path_factory):
    """Complete a run once; `runs("good")` is its folder."""
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "good": Shrunk(),
        "copied": Shrunk(extra=1),
        "nearly": Shrunk(0.75),
        "worse": Shrunk(0.5),
        "nothing": Shrunk(0.0),
    }
    for name, segmenter in made.items():
        evaluate(
            "clicks(rounds=2)", segmenter=segmenter, dataset=pool, out=folder / name, name="mine"
        )
    return folder.joinpath


def pixel_by_pixel(one, other):
    """Return the share of equal masks and the number of compared ones, by a slow reference."""
    rows = [RunFolder.open(folder).masks().iter_rows(named=True) for folder in (one, other)]
    keys = ("sample", "target", "user", "repeat", "round", "object")
    masks = [
        {tuple(row[k] for k in keys): decode_rle(row["rle"], tuple(row["shape"])) for row in found}
        for found in rows
    ]
    pairs = [(mask, masks[1][key]) for key, mask in masks[0].items() if key in masks[1]]
    pairs = [(mask, copy) for mask, copy in pairs if mask.any() or copy.any()]
    equal = [np.count_nonzero(a & b) >= 0.99 * np.count_nonzero(a | b) for a, b in pairs]
    return (float(np.mean(equal)) if pairs else 0.0, len(pairs))


@pytest.mark.parametrize("other", ["good", "copied", "nearly", "worse", "nothing"])
def test_it_is_what_pixels_say(runs, other):
    found = similarity_of(runs("good"), runs(other))
    assert (found.share, found.compared) == pixel_by_pixel(runs("good"), runs(other))
    if other != "nearly":
        assert found.is_near == (other in ("good", "copied"))


@pytest.mark.long
def test_a_sketch_never_says_less_than_the_masks(runs):
    names = ("good", "copied", "nearly", "worse", "nothing")
    sketches = {name: sketch_of(runs(name)) for name in names}
    for one in names:
        for other in names:
            assert (
                max_similarity(sketches[one], sketches[other])
                >= similarity_of(runs(one), runs(other)).share
            )
    assert max_similarity(sketches["good"], sketches["worse"]) == 0
    assert len(sketches["nothing"]) == 0


def test_of_a_large_run_the_same_masks_are_looked_at(runs, monkeypatch):
    monkeypatch.setattr(duplicate_detection, "MAX_COMPARED_MASKS", 4)
    assert similarity_of(runs("good"), runs("copied")).compared == 4
    assert max_similarity(sketch_of(runs("good")), sketch_of(runs("copied"))) == 1


def test_a_damaged_sketch_is_refused(runs):
    with pytest.raises(StoreError, match="sketch"):
        max_similarity(sketch_of(runs("good")), b"x" * 13)
