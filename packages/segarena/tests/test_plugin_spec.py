"""Specifications of plug-ins: parsing, and their names in a run."""

import pickle

import pytest

from segarena.benchmark_rules import Statistic
from segarena.errors import PluginInvalid
from segarena.plugin_spec import PluginSpec
from segarena.roles import Benchmark


@pytest.mark.parametrize(
    ("text", "reference", "options"),
    [
        ("grabcut", "grabcut", {}),
        (" grabcut ( ) ", "grabcut", {}),
        ("grabcut(iterations=2)", "grabcut", {"iterations": 2}),
        (
            "a/b.py:My(x=-0.5, y='(', z=[1, {'k': None}])",
            "a/b.py:My",
            {"x": -0.5, "y": "(", "z": [1, {"k": None}]},
        ),
        ("folder(\n  path='my photos',\n)", "folder", {"path": "my photos"}),
        ("folder(path=photos)", "folder", {"path": "photos"}),
        ("folder(photos)", "folder", {"": "photos"}),
        (r"g(a='\\', b=1, c='\'')", "g", {"a": "\\", "b": 1, "c": "'"}),
        (
            "folder(path=~/photos/2024-05, masks=m.v2)",
            "folder",
            {"path": "~/photos/2024-05", "masks": "m.v2"},
        ),
        (
            "folder( path = /data/straße ,name='a, b=c')",
            "folder",
            {"path": "/data/straße", "name": "a, b=c"},
        ),
        ("g(a='it\\'s', b=c)", "g", {"a": "it's", "b": "c"}),
    ],
)
def test_a_plugin_is_written_as_a_name_and_options(text, reference, options):
    spec = PluginSpec.parse(text)
    assert (spec.reference, spec.options) == (reference, options)
    assert PluginSpec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(a=1)",
        "grabcut(",
        "grabcut)",
        "grabcut(2, 3)",
        "grabcut(**{'a': 1})",
        "grabcut(a=b c)",
        "grabcut(a=b())",
        "grabcut(a=f'b')",
        "g(a=1)(b=2)",
        "g(a=1)+(b)",
        "g(a=1, a=2)",
    ],
)
def test_what_is_not_a_plugin_is_refused_in_one_line(text):
    with pytest.raises(PluginInvalid, match="expected NAME") as caught:
        PluginSpec.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("folder(path=my photos)", "as in path='my photos'"),
        ("folder(my photos)", "as in 'my photos'"),
        ("folder(path=C:\\photos)", r"as in path='C:\\photos'"),
        ("folder(path=photos, min_area_px=none)", "min_area_px=none: write True, False, None"),
        ("folder(path=photos,ignore_value=#ff0000)", "as in ignore_value='#ff0000'"),
    ],
)
def test_a_text_that_needs_quotes_is_shown_with_them(text, remedy):
    with pytest.raises(PluginInvalid) as caught:
        PluginSpec.parse(text)
    assert remedy in str(caught.value)


def test_the_first_option_needs_no_name():
    spec = PluginSpec.parse("worker('python a.py', python='b')")
    assert spec == PluginSpec("worker", {"": "python a.py", "python": "b"})
    assert str(spec) == "worker('python a.py', python='b')"
    assert PluginSpec.parse(str(spec)) == spec


def test_options_are_read_and_never_run(tmp_path):
    flag = tmp_path / "flag"
    with pytest.raises(PluginInvalid):
        PluginSpec.parse(f"grabcut(a=open({str(flag)!r}, 'w'))")
    assert not flag.exists()


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("centre", "centre", PluginSpec("centre")),
        (
            "centre(when_solved='stop')",
            "centre(when_solved='stop')",
            PluginSpec("centre", {"when_solved": "stop"}),
        ),
        (
            'centre( when_solved="stop")',
            'centre( when_solved="stop")',
            PluginSpec("centre", {"when_solved": "stop"}),
        ),
        ("G1=depth(low=0.0, high=0.1)", "G1", PluginSpec("depth", {"low": 0.0, "high": 0.1})),
        (" mine = a/b.py:User(x=1)", "mine", PluginSpec("a/b.py:User", {"x": 1})),
    ],
)
def test_a_plugin_may_be_given_a_name_and_is_called_as_it_is_written_otherwise(text, name, spec):
    read = PluginSpec.parse_named(text)
    assert read.name == name
    assert (read.reference, read.options) == (spec.reference, spec.options)


def test_a_specification_travels_to_other_processes():
    spec = PluginSpec("depth", {"low": 0.0, "levels": [1, 2]}, "G1")
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_a_benchmark_reads_plugins_that_are_given_as_text():
    rules = Benchmark(
        name="mine",
        users=("unlikely=depth(high=0.1)", PluginSpec("centre")),
        metrics=("iou",),
        rounds=1,
        summary=(),
        dataset="demo",
        adapter="slices",
    )
    assert rules.users == (PluginSpec("depth", {"high": 0.1}, "unlikely"), PluginSpec("centre"))
    assert (rules.metrics, rules.dataset) == ((PluginSpec("iou"),), PluginSpec("demo"))
    assert rules.adapter == PluginSpec("slices")
    assert Benchmark(name="mine", users=(), metrics=(), rounds=1, summary=()).adapter is None
    with pytest.raises(PluginInvalid, match="expected NAME"):
        Benchmark(name="mine", users=("centre(",), metrics=(), rounds=1, summary=())


def test_options_have_todays_words():
    assert PluginSpec("clicks", {"protocol": "segarena"}).options == {"protocol": "careful"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"users": "centre"},
            r'benchmark mine: expected a tuple, such as \("centre",\) as users, got str',
        ),
        ({"users": (3,)}, "expected names of plug-ins as users, got int"),
        ({"metrics": "iou"}, "as metrics, got str"),
        ({"rounds": "2"}, "expected a whole number as rounds, got str"),
        ({"rounds": 2.5}, "expected a whole number as rounds, got float"),
        ({"summary": Statistic(name="a", kind="auc")}, "expected a tuple of Statistic as summary"),
        ({"summary": ("auc",)}, "expected a tuple of Statistic as summary, got str"),
        ({"stop_at": "iou"}, "expected a column and a value, or None as stop_at, got str"),
        ({"stop_at": ("iou",)}, "expected a column and a value as stop_at, got tuple"),
        ({"options": ["a"]}, "expected a dictionary as options, got list"),
        ({"budget": 3}, "expected a TimeBudget or None as budget, got int"),
    ],
)
def test_a_benchmark_names_a_field_of_another_type(given, message):
    fields = {"name": "mine", "users": ("centre",), "metrics": ("iou",), "rounds": 1, "summary": ()}
    with pytest.raises(PluginInvalid, match=message):
        Benchmark(**{**fields, **given})
