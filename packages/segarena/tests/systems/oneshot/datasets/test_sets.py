"""The one-shot sets: layouts, pairs, examples, and all errors of their files."""

import pickle
import shutil

import cv2
import numpy as np
import polars as pl
import pytest

from segarena import registry
from segarena.errors import (
    DatasetError,
    DatasetMissing,
    InvalidImage,
    InvalidMask,
    PluginInvalid,
    SampleInvalid,
)
from segarena.systems.oneshot.datasets.coco import Coco20i
from segarena.systems.oneshot.datasets.demo import OneShotDemoDataset, demo_pairs
from segarena.systems.oneshot.datasets.folder import OneShotFolder
from segarena.systems.oneshot.datasets.fss import Fss1000
from segarena.systems.oneshot.datasets.pascal import Pascal5i
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS, pairs_table, write_pairs
from segarena.systems.oneshot.pairs.query_transforms import SimilarityTransform, parse_transform
from segarena.systems.oneshot.pairs.random_pairs import draw_random_pairs
from segarena.systems.oneshot.pairs.synthetic_scenes import SCENE_CLASSES, draw_scene
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

IMAGES = [(1, "2009_000001"), (1, "2009_000002"), (2, "2009_000003"), (2, "2009_000004")]


def write(file, values):
    file.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(file), values)


def square(value=255, size=(20, 30)):
    values = np.zeros(size, np.uint8)
    values[4:12, 4:12] = value
    return values


def image(seed=0, size=(20, 30)):
    return np.random.default_rng(seed).integers(0, 255, (*size, 3), dtype=np.uint8)


@pytest.fixture
def voc(tmp_path):
    for number, (label, name) in enumerate(IMAGES):
        write(tmp_path / "voc/images" / f"{name}.jpg", image(number))
        write(tmp_path / "voc/masks" / f"{label}_{name}.png", square())
    return tmp_path / "voc"


@pytest.fixture
def tier2(tmp_path):
    lines = [
        "1_2009_000001 1_2009_000001 10 1",
        "aug/xf33271_1_2009_000002 1_2009_000002 5 1",
        "1_2009_000001 1_2009_000002 1 1",
        "1_2009_000001 2_2009_000003 1 -1",
        "1_2009_000001 aug/null_1_2009_000002 1 -1",
        "1_2009_000001 aug/null_1_2009_000002.jpg 1 -1",
    ]
    file = tmp_path / "split0_tier2.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_a_query_is_one_sample_with_a_target_for_each_pair(voc, tier2):
    dataset = Pascal5i(path=str(voc), pairs=str(tier2))
    assert dataset.sample_ids == ("2009_000001", "2009_000002@xf33271")
    sample = dataset.load("2009_000001")
    assert [target.id for target in sample.targets] == [
        f"split0_tier2/{row}" for row in (0, 2, 3, 4, 5)
    ]
    first = sample.targets[0]
    assert (first.label, first.attributes["level"], first.attributes["fold"]) == (
        "aeroplane",
        "L0",
        0.0,
    )
    assert first.attributes["support"] == "2009_000001"
    assert all(np.array_equal(target.mask, square() > 0) for target in sample.targets)


def test_examples_are_what_the_level_says(voc, tier2):
    dataset = Pascal5i(path=str(voc), pairs=str(tier2))
    sample = dataset.load("2009_000001")
    shown = {int(name.rpartition("/")[2]): supports for name, supports in sample.supports.items()}
    same, other, foreign, null, empty = (shown[row][0] for row in (0, 2, 3, 4, 5))
    assert np.array_equal(same.sample.image, sample.image)
    assert same.mask.sum() == other.mask.sum() == foreign.mask.sum() == 64
    assert np.array_equal(null.sample.image, other.sample.image)
    assert not null.mask.any()
    assert null.mask.shape == (20, 30)  # the image's size, not 512 x 512
    assert not empty.mask.any()
    assert not empty.sample.image.any()


def test_image_and_mask_of_a_transformed_query_move_together(voc, tier2):
    dataset = Pascal5i(path=str(voc), pairs=str(tier2))
    sample = dataset.load("2009_000002@xf33271")
    plain = Pascal5i(path=str(voc), pairs=str(tier2)).source
    transform = parse_transform("xf33271")
    assert np.array_equal(sample.image, transform.image(plain.image("2009_000002")))
    assert np.array_equal(sample.targets[0].mask, transform.mask(square() > 0))
    assert not np.array_equal(sample.targets[0].mask, square() > 0)
    assert np.array_equal(sample.supports["split0_tier2/1"][0].mask, square() > 0)


def test_examples_are_read_once_and_shared(voc, tier2, monkeypatch):
    dataset = Pascal5i(path=str(voc), pairs=str(tier2))
    read = []
    original = dataset.source.image
    monkeypatch.setattr(dataset.source, "image", lambda name: read.append(name) or original(name))
    sample = dataset.load("2009_000001")
    assert read == ["2009_000001"]  # no example yet
    assert sample.supports["split0_tier2/2"][0] is sample.supports["split0_tier2/2"][0]
    assert read == ["2009_000001", "2009_000002"]


def test_the_three_layouts_of_pascal_give_the_same_pairs(tmp_path, voc):
    for label, name in IMAGES:
        write(tmp_path / "binary/Binary_map_aug/val" / str(label) / f"{name}.png", square())
        write(tmp_path / "maps/SegmentationClassAug" / f"{name}.png", square(label))
    shutil.copytree(voc / "images", tmp_path / "binary/JPEGImages")
    shutil.copytree(voc / "images", tmp_path / "maps/JPEGImages")
    found = [
        Pascal5i(path=str(path), per_class=2)
        for path in (voc, tmp_path / "binary", tmp_path / "maps")
    ]
    assert found[0].pairs.height == 4
    assert set(found[0].pairs["fold"]) == {0}
    assert all(one.pairs.equals(found[0].pairs) for one in found)
    masks = [one.load("2009_000003").targets[0].mask for one in found]
    assert all(np.array_equal(mask, square() > 0) for mask in masks)


def test_void_of_label_maps_is_ignored(tmp_path):
    values = square(1)
    values[4:12, 12] = 255
    for name in ("2009_000001", "2009_000002"):
        write(tmp_path / "JPEGImages" / f"{name}.jpg", image())
        write(tmp_path / "SegmentationClassAug" / f"{name}.png", values)
    (target,) = Pascal5i(path=str(tmp_path), per_class=2).load("2009_000001").targets
    assert target.ignore.sum() == 8
    assert target.mask.sum() == 64


@pytest.mark.long
def test_coco_ids_are_padded_and_conventions_told_apart(tmp_path):
    for number in (139, 129492):
        write(tmp_path / "val2017" / f"{number:012d}.jpg", image(number))
        write(tmp_path / "maps" / f"{number:012d}.png", square(5))
    (tmp_path / "split0_test.txt").write_text("5_139 5_129492\n", encoding="utf-8")
    dataset = Coco20i(path=str(tmp_path), pairs=str(tmp_path / "split0_test.txt"))
    assert dataset.name == "COCO-20i-interleaved"
    assert dataset.load("000000000139").targets[0].label == "airplane"
    (tmp_path / "split1_test.txt").write_text("5_139 5_129492\n", encoding="utf-8")
    for folds in ("interleaved", "blocks"):
        with pytest.raises(DatasetError, match="tests class 5 in fold 1"):
            Coco20i(path=str(tmp_path), pairs=str(tmp_path / "split1_test.txt"), folds=folds)
    drawn = {
        folds: set(Coco20i(path=str(tmp_path), folds=folds).pairs["fold"])
        for folds in ("interleaved", "blocks")
    }
    assert drawn == {"interleaved": {0}, "blocks": {0}}
    with pytest.raises(PluginInvalid, match="expected one of 'interleaved', 'blocks'"):
        registry.build("dataset", f"coco20i(path={str(tmp_path)!r}, folds='x')")


def test_files_of_unpadded_coco_ids_are_found(tmp_path):
    for number in (139, 129492):
        write(tmp_path / "val2017" / f"{number:012d}.jpg", image(number))
        write(tmp_path / "masks" / f"5_{number:012d}.png", square(255))
    source = Coco20i(path=str(tmp_path)).source
    assert source.missing("5", "139") == source.missing("5", "000000000139") == []
    assert source.missing("5", "140") == [
        tmp_path / "val2017/000000000140.jpg", tmp_path / "masks/5_000000000140.png"
    ]  # fmt: skip


@pytest.fixture
def coco2014(tmp_path):
    for number in (42, 391895, 522418):
        write(tmp_path / "val2014" / f"COCO_val2014_{number:012d}.jpg", image(number))
        write(tmp_path / "annotations/val2014" / f"COCO_val2014_{number:012d}.png", square(5))
    return tmp_path


# As text, as bytes, in frames, and the newest; the others lie between.
@pytest.mark.parametrize(
    "protocol",
    [
        protocol
        if protocol in (0, 2, 4, pickle.HIGHEST_PROTOCOL)
        else pytest.param(protocol, marks=pytest.mark.long)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ],
)
def test_lists_of_images_of_coco_2014(coco2014, protocol):
    names = [f"val2014/COCO_val2014_{number:012d}.jpg" for number in (42, 391895)]
    (coco2014 / "fold0.pkl").write_bytes(pickle.dumps({4: names, 8: []}, protocol))
    listed = Coco20i(path=str(coco2014), pairs=str(coco2014 / "fold0.pkl"), per_class=2)
    assert sorted(listed.sample_ids) == ["000000000042", "000000391895"]
    (target,) = listed.load("000000000042").targets
    assert (target.label, target.mask.sum(), target.attributes["fold"]) == ("airplane", 64, 0)
    assert [finding for finding in listed.check() if finding.is_error] == []
    assert len(Coco20i(path=str(coco2014)).sample_ids) == 3
    (coco2014 / "split0_test.txt").write_text("5_42 5_522418\n", encoding="utf-8")
    assert (
        Coco20i(path=str(coco2014), pairs=str(coco2014 / "split0_test.txt"))
        .load("000000000042")
        .targets
    )


class Harm:
    def __reduce__(self):
        return (open, ("/harmed", "w"))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({4: [Harm()]}),
        pickle.dumps({4: [np.int64(3)]}),
        pickle.dumps(["val2014/COCO_val2014_000000000042.jpg"]),
        pickle.dumps({"4": ["a.jpg"]}),
        pickle.dumps({4: "a.jpg"}),
        b"\x80\x04}r\xff\xff\xff\xff.",  # a memo of four thousand million places
        b"\x80\x04\x8a\xff.",
        b"cos\nsystem\n.",
        b"",
        b"no pickle",
    ],
)
def test_pickles_of_anything_else_are_refused_and_not_executed(coco2014, data):
    (coco2014 / "fold0.pkl").write_bytes(data)
    with pytest.raises(DatasetError, match=r"fold0\.pkl: expected"):
        Coco20i(path=str(coco2014), pairs=str(coco2014 / "fold0.pkl"))


def test_lists_of_images_of_pascal(voc):
    hsnet, pfenet = voc / "fold0.txt", voc / "val.txt"
    hsnet.write_text("2009_000001__01\n2009_000002__01\n2009_000003__02\n", encoding="utf-8")
    rows = [f"JPEGImages/{name}.jpg SegmentationClassAug/{name}.png\n" for _, name in IMAGES[1:]]
    pfenet.write_text("".join(rows), encoding="utf-8")
    listed = Pascal5i(path=str(voc), pairs=str(hsnet), per_class=2).pairs
    assert listed.select("class", "query").rows() == [("1", "2009_000002"), ("1", "2009_000001")]
    of_masks = Pascal5i(path=str(voc), pairs=str(pfenet), per_class=2).pairs
    assert set(of_masks.select("class", "query").rows()) == {
        ("2", "2009_000003"),
        ("2", "2009_000004"),
    }
    with pytest.raises(DatasetError, match="got a list of images"):
        read_pair_lists([hsnet])
    hsnet.write_text("2009_000001__01\n2009_000002\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="got other rows too"):
        Pascal5i(path=str(voc), pairs=str(hsnet))


def test_coloured_masks_of_fss_are_read_as_their_authors_do_and_named(tmp_path):
    for number in range(1, 4):
        write(tmp_path / "owl" / f"{number}.jpg", image(number))
        write(tmp_path / "owl" / f"{number}.png", np.repeat(square()[..., None], 3, axis=2))
    stray = np.repeat(square()[..., None], 3, axis=2)
    stray[0, 0], stray[0, 1] = (255, 0, 0), (0, 255, 255)  # in OpenCV's order: blue, yellow
    write(tmp_path / "owl/2.png", stray)
    listed = Fss1000(path=str(tmp_path))
    expected = cv2.imread(str(tmp_path / "owl/2.png"))[:, :, 0] >= 128
    assert expected.sum() == 65
    np.testing.assert_array_equal(listed.source.mask("owl", "owl/2").mask, expected)
    (found,) = [finding for finding in listed.check() if "coloured" in finding.message]
    assert not found.is_error
    assert found.message.startswith("1 masks have coloured pixels")
    assert "owl/2.png" in found.message


@pytest.mark.parametrize("value", [1, 255])
def test_masks_of_fss_may_hold_one_or_255(tmp_path, value):
    for number in range(1, 4):
        write(tmp_path / "abe's_flyingfish" / f"{number}.jpg", image(number))
        write(tmp_path / "abe's_flyingfish" / f"{number}.png", square(value))
    (tmp_path / "general_tier.txt").write_text(
        "1_abe0s_flyingfish_1 1_abe0s_flyingfish_2\n", encoding="utf-8"
    )
    listed = Fss1000(path=str(tmp_path), pairs=str(tmp_path / "general_tier.txt"))
    (target,) = listed.load("abe0s_flyingfish/1").targets
    assert target.mask.sum() == 64
    assert target.label == "abe's flyingfish"
    assert listed.supports_of(listed.pairs.row(0, named=True))[0].mask.sum() == 64
    assert Fss1000(path=str(tmp_path), per_class=4).pairs.height == 4


@pytest.fixture
def mine(tmp_path):
    for label in ("red fox", "owl"):
        for number in range(4):
            write(tmp_path / "mine/images" / f"{label}{number}.jpg", image(number))
            write(tmp_path / "mine/masks" / label / f"{label}{number}.png", square())
    return tmp_path / "mine"


def test_a_folder_of_ones_own_gives_pairs_at_once(mine):
    dataset = OneShotFolder(path=str(mine), per_class=6)
    assert dataset.name == "mine"
    assert dict(dataset.pairs.group_by("class").len().iter_rows()) == {"red fox": 6, "owl": 6}
    assert len(dataset.sample_ids) == 8
    assert [finding.message for finding in dataset.check()] == [
        "mine: 12 pairs in 8 readable query images; image sides 20 to 30 pixels"
    ]


def test_images_sorted_by_class_are_found(mine):
    for label in ("red fox", "owl"):
        (mine / "images" / label).mkdir()
        for number in range(4):
            shutil.move(
                mine / "images" / f"{label}{number}.jpg",
                mine / "images" / label / f"{label}{number}.jpg",
            )
    dataset = OneShotFolder(path=str(mine), per_class=4)
    assert all(name.startswith(("owl/owl", "red fox/red fox")) for name in dataset.sample_ids)
    assert dataset.load(dataset.sample_ids[0]).targets


def test_a_table_of_ones_own_is_used(mine, tmp_path):
    pairs = pairs_table([{"class": "owl", "query": "owl0", "supports": ["owl1", "owl2"]}])
    write_pairs(pairs, tmp_path / "mine.csv")
    dataset = OneShotFolder(path=str(mine), pairs=str(tmp_path / "mine.csv"))
    assert len(dataset.load("owl0").supports["pairs/0"]) == 2


def test_drawn_pairs_are_distinct_balanced_and_the_same_for_a_seed():
    items = [("a", f"a{n}") for n in range(5)] + [("b", "b0")]
    pairs = draw_random_pairs(items, per_class=10, seed=3)
    assert pairs.equals(draw_random_pairs(items, per_class=10, seed=3))
    assert not pairs.equals(draw_random_pairs(items, per_class=10, seed=4))
    assert pairs.select("query", "supports").is_unique().all()
    assert set(pairs.group_by("query").len()["len"]) == {2}
    assert not any(
        query in supports for query, supports in pairs.select("query", "supports").iter_rows()
    )
    several = draw_random_pairs(items, per_class=5, shots=3)
    assert all(len(set(supports)) == 3 for supports in several["supports"])
    assert draw_random_pairs(items, per_class=100).height <= 20


def test_pairs_that_cannot_be_drawn_are_refused():
    with pytest.raises(DatasetError, match="more than 1 masked images"):
        draw_random_pairs([("a", "a0")], per_class=1)
    with pytest.raises(PluginInvalid):
        draw_random_pairs([("a", "a0")], per_class=0)


def test_empty_group_is_an_error(voc, tier2, tmp_path):
    with pytest.raises(DatasetError, match="expected pairs of fold 3, found none among 6"):
        Pascal5i(path=str(voc), pairs=str(tier2), fold=3)


def test_cross_class_pairs_are_kept_and_counted_or_dropped(mine, tmp_path):
    rows = [
        {"class": "owl", "query": "owl0", "supports": [f"{c}1"], "support_classes": [c]}
        for c in ("owl", "red fox")
    ]
    write_pairs(pairs_table(rows), tmp_path / "p.jsonl")
    kept = OneShotFolder(path=str(mine), pairs=str(tmp_path / "p.jsonl"))
    assert (
        "pairs that show a class other than the requested one" in next(iter(kept.check())).message
    )
    assert (
        OneShotFolder(
            path=str(mine), pairs=str(tmp_path / "p.jsonl"), cross_class="drop"
        ).pairs.height
        == 1
    )
    with pytest.raises(PluginInvalid, match="'keep', 'drop'"):
        registry.build("dataset", f"oneshot-folder(path={str(mine)!r}, cross_class='x')")


def test_self_pairs_and_duplicates_are_counted_in_the_check(mine, tmp_path):
    rows = [{"class": "owl", "query": "owl0", "supports": [f"owl{n}"]} for n in (0, 1, 1)]
    write_pairs(pairs_table(rows), tmp_path / "p.jsonl")
    found = [
        finding.message
        for finding in OneShotFolder(path=str(mine), pairs=str(tmp_path / "p.jsonl")).check()
    ]
    assert found[:2] == [
        "pairs that show the query image itself: 1 of 3",
        "pairs that repeat an earlier pair: 1 of 3",
    ]


def one_pair(mine, tmp_path, **change):
    pairs = pairs_table([{"class": "owl", "query": "owl0", "supports": ["owl1"], **change}])
    write_pairs(pairs, tmp_path / "p.jsonl")
    return OneShotFolder(path=str(mine), pairs=str(tmp_path / "p.jsonl"))


def test_missing_query_fails_as_a_sample(mine, tmp_path):
    (mine / "images/owl0.jpg").unlink()
    with pytest.raises(SampleInvalid, match=r"owl0\.jpg"):
        one_pair(mine, tmp_path).load("owl0")


def test_missing_or_unreadable_support_fails_with_its_pair_and_is_found_by_the_check(
    mine, tmp_path
):
    dataset = one_pair(mine, tmp_path)
    (mine / "images/owl1.jpg").write_bytes(b"no image")
    with pytest.raises(InvalidImage, match=r"owl1\.jpg"):
        dataset.load("owl0").supports["pairs/0"]
    (mine / "images/owl1.jpg").unlink()
    with pytest.raises(InvalidImage, match=r"owl1\.jpg"):
        dataset.load("owl0").supports["pairs/0"]
    assert any(
        finding.is_error and "missing files of support images: 1" in finding.message
        for finding in dataset.check()
    )


def test_masks_of_another_size_or_without_the_class_are_refused(mine, tmp_path):
    dataset = one_pair(mine, tmp_path)
    write(mine / "masks/owl/owl1.png", square(size=(15, 30)))
    with pytest.raises(InvalidMask, match="expected the shape of the image"):
        dataset.load("owl0").supports["pairs/0"]
    write(mine / "masks/owl/owl1.png", np.zeros((20, 30), np.uint8))
    with pytest.raises(InvalidMask, match="empty mask of class owl"):
        dataset.load("owl0").supports["pairs/0"]
    write(mine / "masks/owl/owl0.png", np.zeros((20, 30), np.uint8))
    with pytest.raises(SampleInvalid, match="empty mask of class owl"):
        dataset.load("owl0")
    write(mine / "masks/owl/owl0.png", square(7))
    with pytest.raises(SampleInvalid, match="got values up to 7"):
        dataset.load("owl0")


def test_folders_that_are_not_there_are_named(tmp_path, mine):
    for build in (Pascal5i, Coco20i, Fss1000, OneShotFolder):
        with pytest.raises(DatasetMissing):
            build(path=str(tmp_path / "nowhere"))
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(DatasetMissing):
            build(path=str(tmp_path / "empty"))
    with pytest.raises(PluginInvalid, match="'auto', 'binary', 'maps', 'merged'; got 'x'"):
        registry.build("dataset", f"pascal5i(path={str(mine)!r}, masks='x')")


def test_fingerprint_follows_the_pairs(mine):
    first, again, other = (
        OneShotFolder(path=str(mine), per_class=4, seed=seed) for seed in (0, 0, 1)
    )
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_datasets_travel_to_other_processes(mine):
    dataset = pickle.loads(pickle.dumps(OneShotFolder(path=str(mine), per_class=2)))
    sample = dataset.load(dataset.sample_ids[0])
    assert sample.supports[sample.targets[0].id][0].mask.any()


def test_the_demo_has_all_tiers_partitions_and_levels():
    pairs = demo_pairs()
    assert pairs.height == 442
    assert set(pairs["tier"]) == {
        "query-complexity",
        "support-cognizance",
        "generalization",
        "pairs",
    }
    cells = (
        pairs.filter(pl.col("tier") == "query-complexity")
        .group_by("fold", "partition", "class")
        .len()
    )
    assert cells.height == 6 * 4
    levels = pairs.filter(pl.col("tier") == "support-cognizance").group_by("class", "level").len()
    assert levels.height == 6 * 7
    assert set(levels["len"]) == {6}
    assert (pairs.filter("cross_class")["level"] == "L4").all()
    assert {len(set(group["fold"])) for _, group in pairs.group_by("class")} == {1}
    with pytest.raises(PluginInvalid, match="unknown"):
        OneShotDemoDataset(lists="x")


def test_every_pair_of_the_demo_can_be_shown():
    dataset = OneShotDemoDataset(lists="complexity,cognizance,generalization")
    for sample_id in dataset.sample_ids:
        sample = dataset.load(sample_id)
        for target in sample.targets:
            (support,) = sample.supports[target.id]
            assert support.mask.any() == (target.attributes.get("level") not in ("L5", "L6"))


@pytest.mark.long
def test_scenes_are_what_their_partition_says():
    """Salient targets contrast with their surroundings more than others do; easy ones are larger."""
    contrast, area = {}, {}
    for partition in PARTITIONS:
        of = {"is_easy": partition.startswith("easy"), "is_salient": partition.endswith("_sal")}
        for label in SCENE_CLASSES:
            scene = draw_scene(label, 0, **of)
            mask, ground = scene.masks[label], ~np.logical_or.reduce(list(scene.masks.values()))
            inside, outside = (scene.image[where].mean(axis=0) for where in (mask, ground))
            contrast[label, partition] = np.linalg.norm(inside - outside)
            area[label, partition] = mask.sum()
    for label in SCENE_CLASSES:
        assert contrast[label, "easy_sal"] > 1.5 * contrast[label, "easy_nsal"]
        assert contrast[label, "hard_sal"] > 1.5 * contrast[label, "hard_nsal"]
        assert area[label, "easy_sal"] > 1.5 * area[label, "hard_sal"]


def test_scenes_are_the_same_every_time():
    first, again, other = (
        draw_scene("dotted star", number, is_easy=False, is_salient=True) for number in (0, 0, 1)
    )
    assert np.array_equal(first.image, again.image)
    assert not np.array_equal(first.image, other.image)


def test_transforms_are_read_from_their_text_and_published_names():
    turn = SimilarityTransform(rotation_deg=12.5, scale=1.1, shift_row=0.1, flip=True)
    assert parse_transform(str(turn)) == turn
    assert parse_transform("xf1") == parse_transform("xf1") != parse_transform("xf2")
    assert parse_transform("xf1").scale == 1
    for text in ("rotate(3)", "similarity(angle=3)", "similarity(", "x"):
        with pytest.raises(DatasetError, match="transform"):
            parse_transform(text)


def test_transforms_do_what_they_say():
    mask = np.zeros((21, 31), bool)
    mask[5, 8] = True
    assert np.argwhere(SimilarityTransform(flip=True).mask(mask)).tolist() == [[5, 22]]
    assert np.argwhere(
        SimilarityTransform(shift_row=4 / 21, shift_column=-3 / 31).mask(mask)
    ).tolist() == [[9, 5]]
    assert np.argwhere(SimilarityTransform(rotation_deg=180).mask(mask)).tolist() == [[15, 22]]
    assert np.argwhere(SimilarityTransform(rotation_deg=90).mask(mask)).tolist() == [[17, 10]]
    assert SimilarityTransform(scale=2).mask(
        np.pad(np.ones((5, 5), bool), 8)
    ).sum() == pytest.approx(100, abs=25)


def test_transform_that_loses_the_object_is_refused(mine, tmp_path):
    dataset = one_pair(mine, tmp_path, transform=str(SimilarityTransform(shift_row=0.9)))
    counted = dataset.check()[0].message
    assert counted.startswith(
        "1 of 1 query images is a transformed copy of a photograph; the pairs"
    )
    with pytest.raises(SampleInvalid, match="stays in the frame"):
        dataset.load(dataset.sample_ids[0])


def test_the_demo_set_takes_other_pairs_of_its_scenes(tmp_path):
    rows = [
        {
            "class": "striped disc",
            "query": "striped disc/easy_sal/0",
            "supports": ["striped disc/hard_nsal/2"],
        }
    ]
    write_pairs(pairs_table(rows), tmp_path / "mine.parquet")
    dataset = OneShotDemoDataset(pairs=str(tmp_path / "mine.parquet"))
    (sample,) = (dataset.load(name) for name in dataset.sample_ids)
    (support,) = sample.supports["pairs/0"]
    assert support.sample.id == "striped disc/hard_nsal/2"
    assert support.mask.any()
