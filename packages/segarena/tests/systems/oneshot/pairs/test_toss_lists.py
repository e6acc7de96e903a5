"""The published formats: read, checked, written again."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.systems.oneshot.pairs.list_item_names import (
    ListItem,
    format_item_name,
    parse_item_name,
)
from segarena.systems.oneshot.pairs.pair_table import drop_cross_class, is_self_pair, pair_ids
from segarena.systems.oneshot.pairs.toss_lists import (
    find_pair_lists,
    read_class_list,
    read_pair_lists,
    read_toss_list,
    write_toss_lists,
)


def test_every_format_is_known_by_its_name(lists):
    pairs = read_pair_lists([lists])
    rows = pairs.group_by("list", maintain_order=True).first()
    assert dict(rows.select("list", "tier").iter_rows()) == {
        "coco20i/split0_test": "pairs",
        "pascal5i/split0_test": "pairs",
        "split0_q_easy_sal": "query-complexity",
        "split0_q_hard_nsal": "query-complexity",
        "general_tier": "generalization",
        "split0_tier2": "support-cognizance",
    }
    assert set(pairs.filter(pairs["list"] == "split0_q_hard_nsal")["partition"]) == {"hard_nsal"}
    assert set(pairs.filter(pairs["tier"] != "generalization")["fold"]) == {0}
    assert set(pairs.filter(pairs["tier"] == "generalization")["fold"]) == {None}


def test_levels_follow_from_codes_and_names(lists):
    pairs = read_toss_list(lists / "tiers/suppcog/split0_tier2.txt")
    assert pairs["level"].to_list() == ["L0", "L1", "L2+L3", "L2+L3", "L2+L3", "L4", "L5", "L6"]
    assert pairs["code"].to_list() == [10, 5, 1, 1, 1, -1, -1, -1]
    assert pairs["support_kind"].to_list() == ["shown"] * 6 + ["null-mask", "empty"]
    assert pairs["transform"].to_list() == ["", "xf33271"] + [""] * 6
    assert pairs["query"][1] == "2009_000002"
    assert pairs["supports"].to_list()[-1] == ["2009_000004"]
    assert pair_ids(pairs)[7] == "split0_tier2/7"


def test_self_pairs_are_those_that_are_not_meant_to_be(lists):
    pairs = read_pair_lists([lists])
    assert pair_ids(pairs.filter(is_self_pair(pairs))).to_list() == [
        "split0_q_easy_sal/1",
        "split0_tier2/4",
    ]


def test_cross_class_rows_are_marked_and_dropped_but_for_the_level_about_them(lists):
    pairs = read_pair_lists([lists])
    assert pair_ids(pairs.filter("cross_class")).to_list() == ["general_tier/1", "split0_tier2/5"]
    assert pair_ids(drop_cross_class(pairs).filter("cross_class")).to_list() == ["split0_tier2/5"]


def test_names_of_fss_are_split_at_the_first_and_the_last_field(lists):
    pairs = read_toss_list(lists / "tiers/general/general_tier.txt")
    assert pairs["class"].to_list() == ["psp", "pspgo", "hen_of_the_woods", "abe0s_flyingfish"]
    assert pairs["query"][2] == "hen_of_the_woods/3"


def test_lists_written_again_are_the_same_bytes_but_for_numbers_of_classes(lists, tmp_path):
    written = write_toss_lists(read_pair_lists([lists]), tmp_path / "again")
    assert len(written) == 6
    for file in written:
        (source,) = [
            f
            for f in find_pair_lists(lists)
            if str(f).endswith(str(file.relative_to(tmp_path / "again")))
        ]
        if file.stem == "general_tier":
            assert read_toss_list(file).equals(read_toss_list(source))
        else:
            assert file.read_bytes() == source.read_bytes()


def test_compressed_lists_are_read_alike(lists, tmp_path):
    source = lists / "tiers/suppcog/split0_tier2.txt"
    packed = tmp_path / "split0_tier2.txt.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert read_toss_list(packed).equals(read_toss_list(source))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("split0_tier2", "1_2009_000001 1_2009_000002 2 1", "code '2 1' is unknown"),
        ("split0_tier2", "1_2009_000001 1_2009_000002 x 1", "code 'x 1' is unknown"),
        ("split0_tier2", "1_2009_000001 1_2009_000002", "expected 4 fields"),
        ("split0_tier2", "1_2009_000001 1_2009_000002 5 1", "does not match query"),
        (
            "split0_test",
            "21_2009_000001 1_2009_000002",
            "class 21 of image 2009_000001: expected 1 to 20",
        ),
        ("split0_test", "81_1 1_2", "expected 1 to 80 in coco20i"),
        ("split0_test", "1_2009_000001 cat", "item 'cat'"),
        ("split0_test", "cat dog", "expected CLASS_YYYY_NNNNNN"),
        ("split0_test", "1_2009_000001 1_2009_000002 3", "line 1: expected 2 fields"),
        ("split0_test", "", "found an empty file"),
    ],
)
def test_lines_that_cannot_be_understood_are_named(tmp_path, name, line, message):
    file = tmp_path / f"{name}.txt"
    file.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_toss_list(file)


def test_files_that_are_not_there_or_no_text_are_named(tmp_path, lists):
    with pytest.raises(DatasetMissing, match="expected a text file here"):
        read_toss_list(tmp_path / "split0_test.txt")
    with pytest.raises(DatasetMissing, match="folder of lists"):
        find_pair_lists(tmp_path / "nothing")
    broken = tmp_path / "split0_test.txt.gz"
    sound = gzip.compress(bytes(range(32, 120)) * 9)
    flipped = sound[:12] + bytes([sound[12] ^ 0xFF]) + sound[13:]
    for damaged in (b"not gzip", sound[:40], flipped, b""):
        broken.write_bytes(damaged)
        with pytest.raises(DatasetError, match=r"download it again|an empty file"):
            read_toss_list(broken)
    with pytest.raises(DatasetError, match="two lists are called"):
        read_pair_lists([lists, lists / "tiers"])


def test_pairs_that_the_formats_cannot_hold_are_refused(lists, tmp_path):
    import polars as pl

    pairs = read_toss_list(lists / "tiers/attribute/split0_q_easy_sal.txt")
    several = pairs.with_columns(
        supports=pl.lit(["a", "b"], pl.List(pl.String)),
        support_classes=pl.lit(["1", "1"], pl.List(pl.String)),
    )
    with pytest.raises(InvalidInput, match="one support per pair"):
        write_toss_lists(several, tmp_path)
    with pytest.raises(InvalidInput, match="no published form"):
        write_toss_lists(pairs.with_columns(dataset=pl.lit("mine")), tmp_path)


def test_class_lists_keep_their_names(tmp_path):
    file = tmp_path / "generalization_tier_class.txt"
    file.write_text("abacus \nabe's_flyingfish\n\nhen_of\n", encoding="utf-8")
    assert read_class_list(file) == ["abacus", "abe's_flyingfish", "hen_of"]


@given(
    st.integers(0, 999), st.from_regex(r"[A-Za-z][\w'.-]{0,20}", fullmatch=True), st.integers(1, 10)
)
def test_names_survive_splitting_and_joining(number, label, index):
    name = f"{number}_{label}_{index}"
    item = parse_item_name(name, "fss1000")
    assert (item.label, item.number) == (label, number)
    assert format_item_name(item, "fss1000") == name


@given(
    st.integers(1, 20),
    st.integers(2000, 2012),
    st.integers(0, 999999),
    st.booleans(),
    st.booleans(),
)
def test_names_of_pascal_survive_joining_and_splitting(label, year, number, is_null, has_jpg):
    item = ListItem(str(label), f"{year}_{number:06d}", is_null=is_null, has_jpg=has_jpg)
    assert parse_item_name(format_item_name(item, "pascal5i"), "pascal5i") == item
