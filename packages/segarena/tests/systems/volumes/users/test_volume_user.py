"""The user as a plug-in: names, options, rounds; the tests of prompting cover the prompts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import ndimage

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.errors import InvalidInput, PluginInvalid
from segarena.multi_object import empty_comparison
from segarena.prompts import Box, Click, Lasso, Limits, Scribble, check_prompt
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.systems.volumes.prompting.published_code_deviations import QUIRKS

SHAPE = (12, 30, 30)


def body():
    mask = np.zeros(SHAPE, dtype=bool)
    mask[3:9, 8:20, 9:22] = True
    return mask


def turn(user, target, rounds=(), prediction=None, seed=0):
    sample = VolumeSample(
        id="s", voxels=np.zeros(target.shape, dtype=np.uint8), spacing_mm=(3.0, 1.0, 1.0)
    )
    mask = np.zeros_like(target) if prediction is None else prediction
    dialogue = Dialogue(
        rounds=tuple(rounds), previous=Prediction(mask), lift=getattr(user, "lift", None)
    )
    return Turn(
        sample=sample,
        target=Target(id="t", mask=target),
        dialogue=dialogue,
        comparison=Comparison(mask, Reference(target, spacing_mm=sample.spacing_mm)),
        rng=np.random.default_rng(seed),
    )


def ask(text, target, rounds=(), prediction=None, seed=0):
    user = build("user", text)
    prompts = user.next(turn(user, target, rounds, prediction, seed))
    for prompt in prompts or ():
        check_prompt(prompt, target.shape)
        assert prompt.kind in user.prompt_kinds
    return prompts


@pytest.mark.parametrize(
    ("scheme", "kinds", "spread"),
    [
        ("3b-inter", {"box"}, "interpolate"),
        ("5p-inter", {"click"}, "interpolate"),
        ("p-prop", {"click", "limits"}, "propagate"),
        ("b-prop", {"box", "limits"}, "propagate"),
        ("box-ps", {"box"}, "stay"),
        ("3d-box-slices", {"box"}, "extrude"),
        ("3d-box", {"box"}, "stay"),
        ("1-ppv", {"click"}, "stay"),
    ],
)
def test_scheme_decides_kinds_and_lift(scheme, kinds, spread):
    user = build("user", f"volume(prompts={scheme!r}, keeps_prompts=False)")
    assert user.prompt_kinds == kinds
    assert user.lift == Lift(spread=spread, keeps_prompts=False)
    assert user.next(turn(user, body()))


def test_three_boxes_are_the_default():
    boxes = ask("volume", body())
    assert [(box.start, box.stop) for box in boxes] == [
        ((z, 8, 9), (z + 1, 20, 22)) for z in (3, 5, 8)
    ]
    assert sum(box.effort for box in boxes) == 6


def test_dialogue_without_refinement_has_one_round():
    first = ask("volume", body())
    assert ask("volume", body(), [first]) is None


def test_published_protocol_is_said_to_the_lift():
    assert build("user", "volume(protocol='published')").lift.protocol == "published"


@pytest.mark.parametrize(
    ("refine", "kind"),
    [
        ("1pps", Click),
        ("1ppv", Click),
        ("scribble", Scribble),
        ("scribble-point", Click),
        ("lasso", Lasso),
        ("largest-error", Click),
    ],
)
@pytest.mark.parametrize("protocol", ["careful", "published"])
def test_refinement_corrects_until_nothing_is_wrong(refine, kind, protocol):
    text, target = f"volume(refine={refine!r}, protocol={protocol!r})", body()
    first = ask(text, target)
    prediction = np.roll(target, 4, axis=2)
    for seed in range(5):
        prompts = ask(text, target, [first], prediction, seed)
        assert {type(prompt) for prompt in prompts} == {kind}
        assert all(prompt.effort == (1 if kind is Click else 3) for prompt in prompts)
    assert ask(text, target, [first]) is not None  # nothing was predicted
    assert ask(text, target, [first], target) is None


def test_one_click_per_prompted_slice():
    target = body()
    first = ask("volume(prompts='3b-inter', refine='1pps')", target)
    shifted = np.roll(target, 2, axis=0)
    clicks = ask("volume(prompts='3b-inter', refine='1pps')", target, [first], shifted)
    assert [click.position[0] for click in clicks] == [
        3,
        4,
    ]  # 9 and 10 are wrong too, but were never prompted


@pytest.mark.long
@pytest.mark.parametrize("refine", ["1ppv", "scribble-point"])
def test_corrections_in_3d_stay_near_the_first_click_as_published(refine):
    target = np.zeros((4, 4, 400), dtype=bool)
    target[1:3, 1:3] = True
    rounds = [(Click((2, 2, 350)),)]
    for quirks, is_near in (((), False), (("first-click-patch", "sideways-line"), True)):
        text = f"volume(prompts='1-ppv', refine={refine!r}, quirks={quirks})"
        columns = [ask(text, target, rounds, seed=seed)[0].position[2] for seed in range(50)]
        assert all(column >= 350 - 96 for column in columns) == is_near


def test_fallback_is_positive_only_as_published():
    target, prediction = np.zeros((30, 3, 30), dtype=bool), np.zeros((30, 3, 30), dtype=bool)
    target[14:16, 1, 14:16] = True
    prediction[14:16, 1, 14:16] = prediction[2:4, 1, 2:4] = True
    for options, is_positive in (
        ("plane='coronal'", False),
        ("plane='coronal', quirks=('positive-fallback',)", True),
        ("protocol='published'", True),
    ):
        text = f"volume(refine='scribble', {options})"
        clicks = ask(text, target, [ask(text, target)], prediction)
        assert [click.is_positive for click in clicks] == [is_positive] * 3


def uneven():
    """Two parts and a thin slice at the border; the prediction is too large, has holes and misses parts."""
    target, rng = np.zeros((14, 30, 32), dtype=bool), np.random.default_rng(3)
    target[3:9, 8:14, 6:12] = target[3:9, 8:14, 20:26] = True
    target[11, 8, 29:32] = True
    prediction = ndimage.binary_dilation(target, iterations=3) & (rng.random(target.shape) < 0.6)
    prediction[:, :, 20:23] = False
    prediction[:, 2:20, 28] = True  # the most surplus is in a sagittal plane
    return target, prediction


def answers(options, first, seeds=range(30)):
    target, prediction = uneven()
    if first:
        return [ask(f"volume({options})", target, seed=seed) for seed in seeds]
    opening = [ask(f"volume({options})", target)]
    return [ask(f"volume({options})", target, opening, prediction, seed) for seed in seeds]


@pytest.mark.parametrize(
    ("quirk", "options", "is_first"),
    [
        ("repeated-points", "prompts='5-pps'", True),
        ("repeated-points", "prompts='10p-inter'", True),
        ("inclusive-box", "prompts='3d-box'", True),
        ("clipped-noise", "prompts='box-ps', edge_noise_px=5", True),
        ("one-fraction", "prompts='1-pps', refine='1pps'", False),
        ("coronal-only", "refine='scribble'", False),
        ("joined-contours", "refine='scribble', plane='coronal'", False),
        ("broken-stroke", "refine='scribble', plane='coronal'", False),
        ("sideways-line", "prompts='1-center-ppv', refine='scribble-point'", False),
    ],
)
def test_each_quirk_changes_what_it_is_about_and_the_published_protocol_has_them_all(
    quirk, options, is_first
):
    plain, odd = answers(options, is_first), answers(f"{options}, quirks={(quirk,)}", is_first)
    assert odd != plain
    everything = answers(f"{options}, quirks={tuple(QUIRKS)}", is_first)
    assert answers(f"{options}, protocol='published'", is_first) == everything != plain


@pytest.mark.parametrize(
    ("quirk", "options"),
    [
        ("sideways-line", "refine='scribble'"),
        ("first-click-patch", "prompts='1-ppv', refine='scribble'"),
        ("first-click-patch", "prompts='1-ppv', refine='largest-error'"),
    ],
)
def test_quirks_of_models_in_3d_leave_the_others_alone(quirk, options):
    target = np.zeros((4, 4, 400), dtype=bool)
    target[1:3, 1:3] = True
    opening = [(Click((2, 2, 350)),)]
    for seed in range(20):
        plain = ask(f"volume({options})", target, opening, seed=seed)
        assert ask(f"volume({options}, quirks={(quirk,)})", target, opening, seed=seed) == plain


def test_the_patch_stays_around_the_first_click():
    target = np.zeros((4, 4, 400), dtype=bool)
    target[1:3, 1:3] = True
    rounds = [(Click((2, 2, 350)),), (Click((2, 2, 20), is_positive=False),)]
    text = "volume(prompts='1-ppv', refine='1ppv', quirks=('first-click-patch',))"
    assert all(
        ask(text, target, rounds, seed=seed)[0].position[2] >= 350 - 96 for seed in range(20)
    )


def test_empty_target_is_not_talked_about():
    for scheme in (
        "3b-inter",
        "5-pps",
        "5±pps",
        "p-prop",
        "3d-box",
        "3-ppv",
        "3-center-ppv",
        "centroid",
    ):
        assert ask(f"volume(prompts={scheme!r})", np.zeros(SHAPE, dtype=bool)) is None


def test_ignored_voxels_are_not_prompted():
    target, ignore = body(), np.zeros(SHAPE, dtype=bool)
    ignore[:, :, 15:] = True
    user = build("user", "volume(prompts='10-pps')")
    sample = VolumeSample(id="s", voxels=np.zeros(SHAPE), spacing_mm=(1.0, 1.0, 1.0))
    given = Target(id="t", mask=target, ignore=ignore)
    clicks = user.next(
        Turn(
            sample=sample,
            target=given,
            dialogue=Dialogue(),
            comparison=empty_comparison(sample, given),
            rng=np.random.default_rng(0),
        )
    )
    assert max(click.position[2] for click in clicks) < 15


def test_box_perturbation_reaches_every_box():
    exact = ask("volume", body())
    noisy, moved = ask("volume(edge_noise_px=3)", body()), ask("volume(shift_px=3)", body())
    assert all(a != b for a, b in zip(exact, noisy, strict=True))
    assert [tuple(np.subtract(b.stop, b.start)) for b in moved] == [(1, 12, 13)] * 3
    assert moved != exact
    assert ask("volume(prompts='b-prop', edge_noise_px=3)", body())[1] == Limits(3, 8)
    assert ask("volume(edge_noise_px=3)", body()) == noisy


def test_same_turn_gives_the_same_prompts():
    prediction = ndimage.binary_dilation(body(), iterations=3)
    for text in (
        "volume(prompts='5±pps')",
        "volume(refine='scribble')",
        "volume(refine='largest-error')",
    ):
        first = ask(text, body())
        assert first == ask(text, body())
        assert ask(text, body(), [first], prediction) == ask(text, body(), [first], prediction)


def test_user_can_be_sent_to_another_process():
    user = build("user", "volume(prompts='3b-inter', refine='scribble')")
    again = pickle.loads(pickle.dumps(user))
    assert again.next(turn(again, body())) == user.next(turn(user, body()))


def test_only_what_is_left_to_chance_is_repeated():
    sample, target = None, None
    assert build("user", "volume(prompts='3b-inter')").repeats(sample, target) == 1
    assert build("user", "volume(prompts='3d-box', refine='lasso')").repeats(sample, target) == 1
    for text in ("volume(prompts='1-pps')", "volume(edge_noise_px=1)", "volume(refine='scribble')"):
        assert not hasattr(build("user", text), "repeats")


@pytest.mark.parametrize(
    "options",
    [
        "prompts='4x-inter'",
        "refine='sometimes'",
        "protocol='odd'",
        "quirks=('odd',)",
        "centre='mass'",
        "center_ppv='x'",
        "plane='oblique'",
        "edge_noise_px=-1",
        "length=-0.5",
        "distance_mm=-1.0",
    ],
)
def test_odd_options_are_refused(options):
    with pytest.raises((InvalidInput, PluginInvalid)):
        build("user", f"volume({options})")


def test_images_are_refused():
    user = build("user", "volume")
    image = ImageSample(id="s", image=np.zeros((9, 9, 3), dtype=np.uint8))
    target = Target(id="t", mask=np.ones((9, 9), dtype=bool))
    with pytest.raises(InvalidInput, match="one object in a volume"):
        user.next(
            Turn(
                sample=image,
                target=target,
                dialogue=Dialogue(),
                comparison=empty_comparison(image, target),
                rng=np.random.default_rng(0),
            )
        )


def test_boxes_are_boxes_in_single_slices():
    for scheme in ("box-ps", "5b-inter", "b-prop"):
        boxes = [p for p in ask(f"volume(prompts={scheme!r})", body()) if isinstance(p, Box)]
        assert {box.stop[0] - box.start[0] for box in boxes} == {1}
