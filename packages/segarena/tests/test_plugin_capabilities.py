"""Optional capabilities of plug-ins, which are read once."""

import pytest

from segarena.dialogue import Lift
from segarena.errors import PluginInvalid
from segarena.plugin_capabilities import (
    metric_capabilities,
    metric_columns,
    prompt_kinds,
    segmenter_capabilities,
    user_capabilities,
)
from segarena.registry import build


class Plain:
    pass


class Able:
    prompt_kinds = ("click", "box")
    sample_kinds = frozenset({"volume"})
    fingerprint = "abc"
    device = "cuda:1"
    slice_intensity = "slice-percentiles"
    corrects_objects = True
    may_be_silent = True
    judges_objects = True
    lift = Lift(spread="propagate")
    shared = Plain()
    columns = ("x",)

    def pack(self, encoded):
        return {}

    def unpack(self, arrays):
        return arrays

    def repeats(self, sample, target):
        return 3

    def parts(self, comparison):
        return {}


def test_who_says_nothing_takes_images_and_any_prompt():
    found = segmenter_capabilities(Plain())
    assert found.sample_kinds == {"image"}
    assert found.prompt_kinds is None
    assert found.understands("scribble")
    assert (found.packing, found.fingerprint, found.device, found.slice_intensity) == (
        None,
        None,
        "cpu",
        None,
    )
    user = user_capabilities(Plain())
    assert (user.prompt_kinds, user.corrects_objects, user.may_be_silent) == (None, False, False)
    assert (user.lift, user.repeats, user.shared) == (None, None, None)
    metric = metric_capabilities(Plain())
    assert (metric.judges_objects, metric.parts) == (False, None)


def test_what_is_there_is_found():
    able = Able()
    found = segmenter_capabilities(able)
    assert found.prompt_kinds == {"click", "box"}
    assert found.understands("box")
    assert not found.understands("scribble")
    assert (found.sample_kinds, found.packing) == ({"volume"}, able)
    assert (found.fingerprint, found.device, found.slice_intensity) == (
        "abc",
        "cuda:1",
        "slice-percentiles",
    )
    user = user_capabilities(able)
    assert (user.corrects_objects, user.may_be_silent, user.lift, user.shared) == (
        True,
        True,
        Able.lift,
        Able.shared,
    )
    assert user.repeats(None, None) == 3
    metric = metric_capabilities(able)
    assert metric.judges_objects
    assert metric.parts(None) == {}


def test_a_class_says_as_much_as_its_instances_where_nothing_depends_on_options():
    assert segmenter_capabilities(Able).sample_kinds == {"volume"}


def test_half_of_an_ability_is_none():
    half = type("Half", (), {"pack": lambda self, encoded: {}})
    gone = type("Gone", (Able,), {"unpack": None})
    assert segmenter_capabilities(half()).packing is None
    assert segmenter_capabilities(gone()).packing is None


@pytest.mark.parametrize(
    ("kind", "written", "shown"),
    [
        ("users", "scribble-robot", "scribble, on several objects"),
        ("users", "cvpr2025", "box, click, limits"),
        ("users", "sampled-first", "click"),
        ("segmenters", "sam", "photograph: box, click, mask"),
        ("segmenters", "colour-flow", "video: click, scribble"),
        ("segmenters", "sample-disc", "photograph: click"),
    ],
)
def test_the_list_shows_what_to_choose_by(segarena, monkeypatch, kind, written, shown):
    monkeypatch.setenv("COLUMNS", "240")
    line = next(
        line
        for line in segarena("list", kind).stdout.splitlines()
        if line.startswith(f"{written} ")
    )
    assert f"  {shown} " in line


def test_the_adapter_takes_on_what_the_one_inside_can_do():
    assert segmenter_capabilities(build("segmenter", "slices(segmenter='graph')")).sample_kinds == {
        "volume"
    }


class Declares:
    """A plug-in of any role that declares what it is given."""

    def __init__(self, **declared):
        vars(self).update(declared)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("click", r'Declares: expected names as prompt_kinds, such as \{"click"\}, got str'),
        (7, "expected names as prompt_kinds, .*, got int"),
        ([1], "expected names as prompt_kinds, .*, got int"),
        ({"clicks"}, "expected prompt_kinds among box, click, .*, support, got clicks"),
    ],
)
def test_kinds_of_prompts_are_known_names(kinds, message):
    with pytest.raises(PluginInvalid, match=message):
        prompt_kinds(Declares(prompt_kinds=kinds))


def test_the_kinds_of_samples_are_names():
    with pytest.raises(PluginInvalid, match=r"expected names as sample_kinds, .*, got str"):
        segmenter_capabilities(Declares(sample_kinds="image"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("iou", r'Declares: expected names as columns, such as \("iou",\), got str'),
        (None, "expected names as columns, .*, got NoneType"),
        ((3,), "expected names as columns, .*, got int"),
        ((), "expected at least one name in columns"),
    ],
)
def test_the_columns_of_a_metric_are_names(columns, message):
    with pytest.raises(PluginInvalid, match=message):
        metric_columns(Declares(columns=columns))


def test_a_list_of_names_is_as_good_as_a_tuple():
    assert metric_columns(Declares(columns=["iou", "dice"])) == ("iou", "dice")
    assert prompt_kinds(Declares(prompt_kinds=["click"])) == {"click"}


class Depends:
    """Its kinds depend on its options."""

    def __init__(self, kind: str = "box") -> None:
        self.kind = kind

    @property
    def prompt_kinds(self):
        return {self.kind}

    @property
    def sample_kinds(self):
        return {"volume"}


def test_properties_are_known_of_an_instance_alone():
    of_class = segmenter_capabilities(Depends)
    assert (of_class.prompt_kinds, of_class.sample_kinds) == (None, {"image"})
    of_instance = segmenter_capabilities(Depends())
    assert (of_instance.prompt_kinds, of_instance.sample_kinds) == ({"box"}, {"volume"})
