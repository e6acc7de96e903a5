from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.prompts import Click, check_prompt
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.users.habits.click_habits import ClickHabits, PointerSteadiness
from segarena.users.habits.habit_files import format_habits

SHAPE = (90, 120)


def disc(row=45, column=60, radius=30, shape=SHAPE):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def ask(user, target, *, prediction=None, clicks=(), repeat=0, seed=0, name="s"):
    mask = np.zeros_like(target) if prediction is None else prediction
    sample = (
        ImageSample(id=name, image=np.zeros((*target.shape, 3), dtype=np.uint8))
        if target.ndim == 2
        else VolumeSample(id=name, voxels=np.zeros(target.shape), spacing_mm=(1.0, 1.0, 1.0))
    )
    given = user.next(
        Turn(
            sample=sample,
            target=Target(id="t", mask=target),
            dialogue=Dialogue(
                rounds=tuple((click,) for click in clicks), previous=Prediction(mask)
            ),
            comparison=Comparison(mask, Reference(target)),
            rng=np.random.default_rng(seed),
            repeat=repeat,
        )
    )
    for click in given or ():
        check_prompt(click, target.shape)
    return given


@pytest.fixture
def somebody(tmp_path):
    def make(**overrides):
        habits = {
            "source": "made here",
            "centredness": 1.0,
            "anywhere": 0.0,
            "avoid": 0.0,
            "reach": 0.1,
            "between_people": 0.0,
            "hands": {
                "mouse": PointerSteadiness(unsteady=0.0),
                "touch": PointerSteadiness(unsteady=0.05),
            },
            **overrides,
        }
        path = tmp_path / "clicks.toml"
        path.write_text(format_habits(ClickHabits(**habits)), encoding="utf-8")
        return str(path)

    return make


def distances(user, count=150, **how):
    places = [
        ask(user, disc(), seed=seed, name=str(seed), **how)[0].position for seed in range(count)
    ]
    return np.array([math.dist(place, (45, 60)) for place in places])


@pytest.mark.parametrize("power", [0.0, 1.0, 4.0])
def test_a_click_is_drawn_in_proportion_to_the_power_of_depth(somebody, power):
    """In a disc of radius R, with weights (R - r) to the p: the mean distance from its middle is 2
    R / (p + 3).
    """
    user = build("user", f"clicker(fitted={somebody(centredness=power)!r})")
    assert distances(user).mean() == pytest.approx(30 * 2 / (power + 3), rel=0.15)


def test_now_and_then_a_click_is_anywhere(somebody):
    user = build("user", f"clicker(fitted={somebody(centredness=8.0, anywhere=1.0)!r})")
    assert distances(user).mean() == pytest.approx(20.0, rel=0.15)


def test_a_hand_slips_out_of_the_error_and_keeps_its_sign(somebody):
    user = build("user", f"clicker(pointer='touch', fitted={somebody(centredness=0.0)!r})")
    clicks = [ask(user, disc(), seed=seed, name=str(seed))[0] for seed in range(80)]
    outside = [click for click in clicks if not disc()[click.position]]
    assert 2 < len(outside) < 40
    assert all(click.is_positive for click in clicks)


def test_places_beside_earlier_clicks_are_avoided(somebody):
    earlier = [Click((45, 45))]

    def near(avoid):
        user = build("user", f"clicker(fitted={somebody(avoid=avoid)!r})")
        places = [
            ask(user, disc(), clicks=earlier, seed=s, name=str(s))[0].position for s in range(80)
        ]
        return np.mean([math.dist(place, (45, 45)) < 10 for place in places])

    assert near(4.0) < near(0.0) < near(-2.0)


def test_surplus_gets_a_negative_click(somebody):
    user = build("user", f"clicker(fitted={somebody()!r})")
    (click,) = ask(user, disc(radius=5), prediction=disc())
    assert not click.is_positive


def test_a_person_of_a_crowd_is_as_centred_about_every_target(somebody):
    path = somebody(between_people=2.0, centredness=2.0)
    user = build("user", f"clicker(people=2, crowd=3, fitted={path!r})")
    assert user.repeats(None, None) == 2
    far = [distances(user, 80, repeat=k).mean() for k in range(2)]
    assert abs(far[0] - far[1]) > 5


def test_a_volume_is_clicked_in_its_plane():
    target = np.zeros((6, 40, 50), dtype=bool)
    target[2:5, 10:30, 10:40] = True
    (click,) = ask(build("user", "clicker"), target)
    assert 2 <= click.position[0] < 5


def test_nothing_wrong_ends_the_dialogue():
    assert ask(build("user", "clicker"), disc(), prediction=disc()) is None


def test_pixels_that_were_clicked_are_passed_over():
    target = np.zeros((5, 5), dtype=bool)
    target[2, 2:4] = True
    (click,) = ask(build("user", "clicker"), target, clicks=[Click((2, 2))])
    assert isinstance(click, Click)
    assert ask(build("user", "clicker"), target, clicks=[Click((2, 2)), Click((2, 3))]) is None


def test_habits_of_something_else_are_refused(tmp_path):
    path = tmp_path / "other.toml"
    path.write_text("source = 'x'")
    with pytest.raises(InvalidInput, match="people fit"):
        build("user", f"clicker(fitted={str(path)!r})")


def test_masks_of_any_kind_get_a_click_within_the_frame():
    user = build("user", "clicker(pointer='touch', people=3)")
    rng = np.random.default_rng(0)
    for number in range(30):
        shape = tuple(rng.integers(1, 12, 2 + number % 2).tolist())
        mask = rng.random(shape) < (0.02, 0.5, 1.0)[number % 3]
        given = ask(user, mask, repeat=number % 3, seed=number)  # which checks what was given
        assert bool(given) == bool(mask.any())


def test_habits_that_say_nothing_of_a_pointer_are_refused_at_once(somebody):
    with pytest.raises(InvalidInput, match="mouse, touch, for which there are habits; got 'pen'"):
        build("user", f"clicker(fitted={somebody()!r}, pointer='pen')")
