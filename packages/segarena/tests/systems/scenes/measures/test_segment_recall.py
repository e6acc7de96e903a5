import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.scenes.measures.segment_recall import (
    IOU_THRESHOLDS,
    OCCLUSIONS,
    SegmentRecallMeter,
    TrueRegion,
    mask_ious,
)


def published(images, kind, occlusion, most, largest):
    """The published evaluation, step by step: COCO's matching with ignored regions, recall pooled over images."""
    low, high = OCCLUSIONS[occlusion]
    recalls = []
    for t in IOU_THRESHOLDS:
        hits = total = 0
        for ious, hidden, stuff in images:
            ignored = [
                (kind == "things" and s) or (kind == "stuff" and not s) or h < low or h > high
                for h, s in zip(hidden, stuff, strict=True)
            ]
            total += ignored.count(False)
            order = sorted(range(len(hidden)), key=lambda g: ignored[g])
            taken = set()
            for d in range(min(len(ious), largest)):
                best, m = min(t, 1 - 1e-10), -1
                for g in order:
                    if g in taken:
                        continue
                    if m > -1 and not ignored[m] and ignored[g]:
                        break
                    if ious[d][g] < best:
                        continue
                    best, m = ious[d][g], g
                if m > -1:
                    taken.add(m)
                    hits += d < most and not ignored[m]
        recalls.append(hits / total if total else math.nan)
    return float(np.mean(recalls))


LEVELS = st.sampled_from([0.0, 0.3, 0.5, 0.55, 0.7, 0.7, 0.9, 1.0])


@st.composite
def image(draw):
    segments, regions = draw(st.integers(0, 6)), draw(st.integers(0, 4))
    ious = [[draw(LEVELS) for _ in range(regions)] for _ in range(segments)]
    hidden = [draw(st.sampled_from([0.0, 1e-5, 0.1, 0.25, 0.6, 1.0])) for _ in range(regions)]
    stuff = [draw(st.booleans()) for _ in range(regions)]
    return np.array(ious).reshape(segments, regions), hidden, stuff


@given(st.lists(image(), min_size=1, max_size=3))
def test_average_recall_is_that_of_the_published_evaluation(images):
    quality = SegmentRecallMeter(most=(1, 3, 5))
    for one in images:
        quality.add_ious(*one)
    for result in quality.results():
        expected = published(images, result.kind, result.occlusion, result.most, 5)
        assert result.average_recall == pytest.approx(expected, nan_ok=True)


def square(row, column, size=10, shape=(40, 40)):
    mask = np.zeros(shape, bool)
    mask[row : row + size, column : column + size] = True
    return mask


def values(quality):
    return {(r.kind, r.occlusion, r.most): r.average_recall for r in quality.results()}


def test_perfect_segments_find_everything():
    quality = SegmentRecallMeter(most=(1, 2))
    regions = [
        TrueRegion(mask=square(0, 0)),
        TrueRegion(mask=square(20, 20), occlusion=0.5, is_stuff=True),
    ]
    quality.add([region.mask for region in regions], [0.9, 0.8], regions)
    found = values(quality)
    assert found["all", "all", 1] == 0.5
    assert found["all", "all", 2] == 1.0
    assert found["stuff", "heavy", 2] == 1.0
    assert math.isnan(found["things", "heavy", 2])


def test_scores_decide_who_comes_first():
    region = TrueRegion(mask=square(0, 0))
    quality = SegmentRecallMeter(most=(1,))
    quality.add([region.mask, square(20, 20)], [0.1, 0.9], [region])
    assert values(quality)["all", "all", 1] == 0.0


def test_an_iou_of_two_thirds_counts_at_four_of_ten_thresholds():
    # 10 x 10 and 10 x 10 moved by 2: 80 of 120 pixels shared.
    quality = SegmentRecallMeter(most=(1,))
    quality.add([square(0, 2)], [1.0], [TrueRegion(mask=square(0, 0))])
    assert values(quality)["all", "all", 1] == pytest.approx(0.4)


def test_a_quarter_hidden_is_partial_and_heavy_as_published_or_heavy_alone():
    for is_open, expected in ((False, 1), (True, 0)):
        quality = SegmentRecallMeter(most=(1,), open_upper_end=is_open)
        quality.add([], [], [TrueRegion(mask=square(0, 0), occlusion=0.25)])
        regions = {r.occlusion: r.regions for r in quality.results() if r.kind == "all"}
        assert (regions["partial"], regions["heavy"]) == (expected, 1)


def test_images_without_segments_lower_recall_instead_of_failing():
    quality = SegmentRecallMeter(most=(1,), none_value=-1.0)
    region = TrueRegion(mask=square(0, 0))
    quality.add([region.mask], [1.0], [region])
    quality.add([], [], [region])
    assert values(quality)["all", "all", 1] == 0.5
    assert values(quality)["stuff", "all", 1] == -1.0
    assert quality.images == 2


def test_ious_of_masks(monkeypatch):
    rng = np.random.default_rng(0)
    first, second = (
        [rng.random((7, 9)) < 0.5 for _ in range(5)],
        [rng.random((7, 9)) < 0.5 for _ in range(3)],
    )
    monkeypatch.setattr("segarena.systems.scenes.measures.segment_recall._AT_ONCE", 2)
    expected = [[(a & b).sum() / (a | b).sum() for b in second] for a in first]
    np.testing.assert_allclose(mask_ious(first, second), expected)
    nothing = np.zeros((7, 9), bool)
    assert mask_ious([nothing], [nothing]).tolist() == [[0.0]]


def test_what_cannot_be_judged_is_said():
    with pytest.raises(InvalidInput, match="score"):
        SegmentRecallMeter().add([square(0, 0)], [], [])
    with pytest.raises(InvalidInput, match="score"):
        SegmentRecallMeter().add([square(0, 0)], [math.nan], [])
    with pytest.raises(InvalidMask, match="single shape"):
        mask_ious([np.ones((2, 3), bool)], [np.ones((3, 2), bool)])
    with pytest.raises(InvalidInput, match="most"):
        SegmentRecallMeter(most=(10, 1))
