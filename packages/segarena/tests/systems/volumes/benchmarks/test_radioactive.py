"""RadioActive's rules: schemes are users of one run, lifts wrap image segmenters, effort counts given prompts only."""

import polars as pl
import pytest

import segarena
from segarena.errors import InvalidInput, PluginInvalid
from segarena.registry import build
from segarena.systems.volumes.benchmarks.radioactive import radioactive

SMALL = "phantom(cases=1, shape=(20, 48, 48))"


def test_schemes_are_users_of_one_run_and_slices_are_encoded_once(tmp_path):
    folder = segarena.evaluate(
        "radioactive(prompts=('3b-inter', 'box-ps'))",
        segmenter="watershed",
        dataset=SMALL,
        out=tmp_path / "run",
    )
    records = folder.records()
    assert records["user"].unique(maintain_order=True).to_list() == ["3b-inter", "box-ps"]
    assert folder.config.counts.failures == 0
    assert folder.config.counts.encodes <= 20
    both = records.pivot("user", index=["sample", "target"], values="effort")
    assert (both["3b-inter"] <= 6).all()
    assert (both["box-ps"] >= both["3b-inter"]).all()
    assert records["dice"].is_between(0, 1).all()


def test_corrections_go_on_for_five_rounds(tmp_path):
    folder = segarena.evaluate(
        "radioactive(prompts='3b-inter', refine='scribble')",
        segmenter="watershed",
        dataset=SMALL,
        out=tmp_path / "run",
    )
    records = folder.records().sort("round")
    assert records["round"].max() == 6
    last = records.group_by("target").agg(pl.col("effort").diff().drop_nulls().min())
    assert (last["effort"].drop_nulls() > 0).all()
    assert folder.config.benchmark.adapter.name == "slices"


def test_one_scheme_may_be_written_alone_and_both_signs_are_called_plainly():
    assert radioactive(prompts="3b-inter").users == radioactive(prompts=["3b-inter"]).users
    assert radioactive(prompts="2±pps", refine="1pps").users[0].name == "2+-pps.1pps"


def test_every_combination_of_options_is_one_user():
    rules = radioactive(
        prompts="3b-inter",
        refine=("none", "scribble"),
        keeps_prompts=(True, False),
        edge_noise_px=(0, 5),
    )
    assert [user.name for user in rules.users] == [
        "3b-inter",
        "3b-inter.scribble",
        "3b-inter.scribble-alone",
        "3b-inter+-5px",
        "3b-inter+-5px.scribble",
        "3b-inter+-5px.scribble-alone",
    ]
    assert rules.rounds == 6
    assert rules.users[3].options["edge_noise_px"] == 5


def test_edges_are_moved_where_there_are_boxes():
    rules = radioactive(prompts=("3b-inter", "5p-inter"), edge_noise_px=(0, 3))
    assert [user.name for user in rules.users] == ["3b-inter", "3b-inter+-3px", "5p-inter"]


def test_a_user_without_corrections_ends_after_its_first_round(tmp_path):
    rules = "radioactive(prompts='3b-inter', refine=('none', 'scribble'))"
    records = segarena.evaluate(
        rules, segmenter="watershed", dataset=SMALL, out=tmp_path / "run"
    ).records()
    assert records.filter(user="3b-inter")["round"].max() == 1
    assert records.filter(user="3b-inter.scribble")["round"].max() > 1


def test_rules_that_do_not_exist_are_refused():
    with pytest.raises(InvalidInput, match="at least one scheme"):
        radioactive(prompts=())
    with pytest.raises(PluginInvalid, match="'careful', 'published'; got 'mine'"):
        build("benchmark", "radioactive(protocol='mine')")
    with pytest.raises(InvalidInput, match="there is no prompting scheme '3-boxes'"):
        segarena.evaluate("radioactive(prompts='3-boxes')", segmenter="watershed")
