import msgspec
import numpy as np
import polars as pl
import pytest
from study_fixtures import answer

from segarena.errors import InvalidInput
from segarena.systems.clicks.crowd.click_filter import filter_valid
from segarena_studio.studies.trial_answers import (
    MOST_POINTS,
    TrialAnswer,
    check_answer,
    judge_answer,
)

SIZE = (40, 60)


def read(told):
    return msgspec.json.decode(msgspec.json.encode(told), type=TrialAnswer)


def mask_of(rows=slice(10, 20), columns=slice(20, 40)):
    mask = np.zeros(SIZE, bool)
    mask[rows, columns] = True
    return mask


def test_clicks_are_judged_as_the_published_rule_judges_them(rng):
    """`segarena click-data filter` implements the same rule: it keeps clicks near the mask if the batch is valid."""
    mask = mask_of()
    places = rng.uniform((0, 0), (60, 40), (400, 2))
    judged = [judge_answer(read(answer(place)), "click", mask, 0.05) for place in places]
    table = pl.DataFrame(
        {
            "dataset": "d", "image_stem": "a", "object_stem": "", "model_type": "", "click_type": "first",
            "full_stem": "a", "device": "pc", "x": places[:, 0].astype(int), "y": places[:, 1].astype(int), "w": 60,
            "h": 40, "batch": range(400),
        }
    )  # fmt: skip
    inside = (
        filter_valid(table, lambda _: mask, required_share=1.0, radius_share=0.05)
        .kept["batch"]
        .to_list()
    )
    assert [number for number, one in enumerate(judged) if one.is_inside] == inside
    near = (
        filter_valid(table, lambda _: mask, required_share=0.0, radius_share=0.05)
        .kept["batch"]
        .to_list()
    )
    assert [number for number, one in enumerate(judged) if one.is_near] == near
    assert 0 < len(inside) < len(near) < 400


@pytest.mark.parametrize(
    ("kind", "places", "is_inside", "is_near"),
    [
        ("box", [(20, 10), (40, 20)], True, True),
        ("box", [(40, 20), (20, 10)], True, True),
        ("box", [(20, 10), (30, 14)], False, False),
        ("box", [(20, 10), (28, 20)], False, True),
        ("scribble", [(21, 11), (30, 15), (39, 19)], True, True),
        ("scribble", [(1, 1), (2, 2), (30, 15)], False, False),
        ("scribble", [(19.5, 9.5), (19, 12), (30, 15)], False, True),
        ("lasso", [(20, 10), (40, 10), (40, 20), (20, 20)], True, True),
        ("lasso", [(0, 0), (5, 0), (0, 5)], False, False),
    ],
)
def test_other_prompts_are_right_on_the_target(kind, places, is_inside, is_near):
    assert judge_answer(read(answer(*places)), kind, mask_of(), 0.03) == (is_inside, is_near)


def test_what_is_off_the_picture_is_not_on_the_target():
    assert judge_answer(read(answer((-3, 15))), "click", np.ones(SIZE, bool), 0.5) == (False, False)


@pytest.mark.parametrize(
    ("kind", "told", "why"),
    [
        ("click", answer((200, 5)), "on or around the picture"),
        ("click", answer((5, -41)), "on or around the picture"),
        ("box", answer((5, 5)), "two sides"),
        ("box", answer((5, 5), (5, 9)), "two sides"),
        ("scribble", answer((5, 5), (5, 5)), "at least 2 different points"),
        ("lasso", answer((5, 5), (6, 6), (5, 5)), "at least 3 different points"),
        ("click", {**answer((5, 5)), "strokes": 2 * answer((5, 5), (5, 5))["strokes"]}, "never decrease"),
    ],
)  # fmt: skip
def test_what_can_be_no_answer_is_refused(kind, told, why):
    with pytest.raises(InvalidInput, match=why):
        check_answer(read(told), kind, SIZE)


def test_too_many_points_are_refused_however_they_are_divided():
    stroke = answer(*[(5, 5)] * (MOST_POINTS // 2 + 1))["strokes"][0]
    late = {**stroke, "points": [[*point[:4], 1e6, point[5]] for point in stroke["points"]]}
    with pytest.raises(InvalidInput, match="at most"):
        check_answer(read({**answer((5, 5)), "strokes": [stroke, late]}), "click", SIZE)
    with pytest.raises(msgspec.ValidationError):
        read(answer(*[(5, 5)] * (MOST_POINTS + 1)))


@pytest.mark.parametrize(
    "text",
    [b"NaN", b"1e999", b"-1e999", b"1e300", b'"5"', b"null", b"[]", b"Infinity"],
)
def test_numbers_that_are_none_are_refused(text):
    told = msgspec.json.encode(answer((5.25, 5))).replace(b"5.25", text, 1)
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(told, type=TrialAnswer)


def test_the_device_is_what_the_pointer_says():
    found = {
        pointer: read(answer((5, 5), pointer=pointer)).device
        for pointer in ("mouse", "keyboard", "touch", "pen")
    }
    assert found == {"mouse": "pc", "keyboard": "pc", "touch": "mobile", "pen": "mobile"}


def test_a_scribble_is_judged_point_by_point(rng):
    mask = rng.random(SIZE) < 0.002
    mask[20, 30] = True
    rows, columns = np.nonzero(mask)
    for _ in range(30):
        places = rng.uniform((-10, -10), (70, 50), (41, 2))
        x, y = np.floor(places).T
        is_on = (x >= 0) & (x < 60) & (y >= 0) & (y < 40)
        away = np.hypot(rows[:, None] - y, columns[:, None] - x).min(axis=0)
        judged = judge_answer(read(answer(*places)), "scribble", mask, 0.1)
        assert judged.is_near == (np.mean(is_on & (away <= 0.1 * np.hypot(*SIZE))) >= 0.5)
        assert judged.is_inside == (np.mean(is_on & (away == 0)) >= 0.5)
