"""Tables about clicks, from made-up clicks with known values."""

import numpy as np
import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.measures.click_model_quality import click_model_quality
from segarena.systems.clicks.page.click_comparisons import (
    device_rows,
    difference_rows,
    display_mode_rows,
    evaluate_click_models,
    quality_rows,
)

SHAPE = (40, 40)
TARGET = np.zeros(SHAPE, dtype=bool)
TARGET[10:20, 10:30] = True  # a box of 10 x 20


def load(dataset, image_stem, object_stem):
    return np.zeros((*SHAPE, 3), dtype=np.uint8), TARGET


def instance(stem, positions, click_type="first", dataset="D"):
    return Instance(
        full_stem=stem, image=np.zeros((*SHAPE, 3), dtype=np.uint8), target=TARGET, positions=np.array(positions),
        previous=None if click_type == "first" else np.zeros(SHAPE, dtype=np.float32), click_type=click_type,
        dataset=dataset, image_stem=stem.split("_")[0],
    )  # fmt: skip


def one_pixel(row, column):
    def model(image, target, error):
        values = np.zeros(SHAPE, dtype=np.float32)
        values[row, column] = 1
        return values

    return model


def table_of(rows):
    whole = {
        "object_stem": "",
        "model_type": "",
        "click_type": "first",
        "device": "pc",
        "w": 40,
        "h": 40,
    }
    return pl.DataFrame([{**whole, "full_stem": row["image_stem"], **row} for row in rows])


def test_a_model_that_knows_the_pixel_is_told_from_one_that_misses_by_a_box():
    real = [[12, 15]] * 6
    judged = evaluate_click_models(
        [instance("a", real), instance("b", real)],
        {"exact": one_pixel(12, 15), "off": one_pixel(22, 35)},
        draws=3,
    )
    rows = {row.names: row.means for row in quality_rows(judged)}
    exact = rows["D", "all", "exact"]
    off = rows["D", "all", "off"]
    assert [exact[name].mean for name in ("pl1", "wd", "pde")] == pytest.approx([0, 0, 1])
    assert off["pl1"].mean == pytest.approx(10 / 10 + 20 / 20)
    assert off["wd"].mean == pytest.approx(np.hypot(10, 20) / np.hypot(10, 20))
    assert off["pde"].mean == 0


def test_differences_are_paired_by_instance_and_of_common_ones_only():
    real = [[12, 15]] * 6
    instances = [instance("a", real), instance("b", [[13, 17]] * 6), instance("a_fn", real, "fn")]

    def only_first(image, target, error):
        only_first.calls += 1
        return (
            one_pixel(22, 35)(image, target, error)
            if only_first.calls < 3
            else np.zeros(SHAPE, dtype=np.float32)
        )

    only_first.calls = 0
    models = {"base": one_pixel(12, 15), "off": only_first}
    judged = evaluate_click_models(instances, models, draws=2, on_skip=lambda *_: None)
    rows = {row.names[1]: row for row in difference_rows(judged, "base")}
    assert {name: row.instances for name, row in rows.items()} == {"first": 2, "all": 2}
    # a: 10/10 + 20/20 less 0; b: 9/10 + 18/20 less 1/10 + 2/20
    assert rows["first"].means["pl1"].mean == pytest.approx((2.0 + 1.6) / 2)
    assert rows["first"].means["pl1"].low == pytest.approx(1.6)
    with pytest.raises(InvalidInput, match="evaluated models: base, off"):
        difference_rows(judged, "other")


def test_every_instance_weighs_the_same_and_rounds_are_apart():
    judged = evaluate_click_models(
        [
            instance("a", [[12, 15]]),
            instance("b", [[12, 15]] * 9),
            instance("a_fn", [[14, 15]], "fn"),
        ],
        {"m": one_pixel(12, 15)},
        draws=2,
    )
    rows = {row.names[1]: row for row in quality_rows(judged)}
    assert {name: row.instances for name, row in rows.items()} == {"first": 2, "fn": 1, "all": 3}
    assert rows["first"].means["pl1"].mean == 0
    assert rows["fn"].means["pl1"].mean == pytest.approx(2 / 10)
    assert rows["all"].means["pl1"].mean == pytest.approx(2 / 10 / 3)


def test_values_do_not_depend_on_other_instances_or_models():
    def spread(image, target, error):
        return np.asarray(error, dtype=np.float32)

    one = instance("a", [[12, 15], [14, 20]])
    two = instance("b", [[11, 25]] * 4)
    alone = evaluate_click_models([two], {"m": spread}, seed=3)
    together = evaluate_click_models([one, two], {"other": one_pixel(12, 12), "m": spread}, seed=3)
    assert [j.quality for j in together if (j.full_stem, j.model) == ("b", "m")] == [
        alone[0].quality
    ]
    assert evaluate_click_models([two], {"m": spread}, seed=4)[0].quality != alone[0].quality


def test_the_values_are_those_of_the_metric():
    def spread(image, target, error):
        return np.asarray(error, dtype=np.float32)

    positions = [[12, 15], [14, 20], [18, 28]]
    (judged,) = evaluate_click_models([instance("a", positions)], {"m": spread}, draws=50)
    direct = click_model_quality(
        TARGET.astype(float), positions, (10, 20), np.random.default_rng(9), draws=50
    )
    assert (judged.quality.nss, judged.quality.pde) == (
        pytest.approx(direct.nss),
        pytest.approx(1 / 200),
    )
    assert judged.quality.pl1 == pytest.approx(direct.pl1, abs=0.1)


def test_what_cannot_be_judged_is_an_error_or_told():
    empty = [instance("a", np.zeros((0, 2), dtype=int)), instance("b", [[12, 15]])]
    with pytest.raises(InvalidInput, match="no clicks"):
        evaluate_click_models(empty, {"m": one_pixel(1, 1)})
    told = []
    judged = evaluate_click_models(
        empty,
        {"m": one_pixel(1, 1), "nan": lambda image, target, error: np.full(SHAPE, np.nan)},
        on_skip=lambda name, why: told.append((name, why)),
    )
    assert [(one.full_stem, one.model) for one in judged] == [("b", "m")]
    assert [name for name, _ in told] == ["a", "a", "b"]
    assert "no clicks" in told[0][1]


def test_display_modes_are_compared_with_the_text_by_image():
    def mode(name, offset):
        return table_of(
            [
                {"dataset": name, "image_stem": stem, "x": 15 + offset, "y": 12}
                for stem in ("a", "b")
                for _ in range(5)
            ]
        )

    modes = {
        "Text_Description": mode("Text_Description", 0),
        "Object_CutOut": mode("Object_CutOut", 4),
    }
    (row,) = display_mode_rows(modes, load, "D")
    assert (row.names, row.instances) == (("Object_CutOut",), 2)
    assert row.means["pl1"].mean == pytest.approx(4 / 20)
    assert row.means["wd"].mean == pytest.approx(4 / np.hypot(10, 20))
    with pytest.raises(InvalidInput, match="expected clicks in the mode Text_Description"):
        display_mode_rows({"Object_CutOut": modes["Object_CutOut"]}, load, "D")
    with pytest.raises(InvalidInput, match="no instance in common"):
        display_mode_rows(
            {
                **modes,
                "Shifted_CutOut": modes["Object_CutOut"].with_columns(image_stem=pl.lit("c")),
            },
            load,
            "D",
        )


def test_devices_are_compared_where_each_has_enough_clicks():
    rows = [
        {
            "dataset": "D",
            "image_stem": stem,
            "x": 15 + 3 * (device == "mobile"),
            "y": 12,
            "device": device,
        }
        for stem, counts in (("a", (4, 4)), ("b", (4, 3)))
        for device, count in zip(("pc", "mobile"), counts, strict=True)
        for _ in range(count)
    ]
    told = []
    (row,) = device_rows(
        table_of(rows), load, least_clicks=4, on_skip=lambda *what: told.append(what)
    )
    assert (row.names, row.instances) == (("D",), 1)
    assert row.means["pl1"].mean == pytest.approx(3 / 20)
    assert told == [("b", "4 clicks on a PC and 3 on a phone")]
    (published,) = device_rows(table_of(rows), load, least_clicks=4, protocol="published")
    # The published code takes the column of a PC click for its row: (15, 15) against (12, 18).
    assert published.means["pl1"].mean == pytest.approx(3 / 10 + 3 / 20)
