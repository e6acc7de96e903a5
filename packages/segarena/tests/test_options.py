"""Options from a signature: rejected values, messages, and descriptions from the docstring."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeAlias

import numpy as np
import pytest

from segarena.errors import PluginInvalid
from segarena.options import find_option_error, format_options, options_of
from segarena.registry import build, plugin_kinds, plugins_by_name

if TYPE_CHECKING:
    from decimal import Decimal

Rule: TypeAlias = Literal["stop", "published"]


class Takes:
    """Takes one option of each kind.

    Args:
        rule: what happens
            when all is well.
        side_px: of a square: 3 pixels.
    """

    def __init__(
        self,
        *,
        rule: Rule = "stop",
        maybe: Optional[Rule] = None,  # noqa: UP045 -- written as others may write it
        several: Rule | Sequence[Rule] = "stop",
        noted: Annotated[Rule, "a note"] = "stop",
        side_px: int = 3,
        share: float = 0.5,
        is_open: bool = False,
        name: str = "",
        pair: tuple[float, float] = (0.0, 1.0),
        many: tuple[int, ...] = (),
        table: Mapping[str, str] | None = None,
        batch: int | str = "auto",
        path: Path | None = None,
        only_for_checkers: Decimal | None = None,
        anything: Any = None,
        q=1,
    ):
        pass


@pytest.mark.parametrize(
    "given",
    [
        {"rule": "published"},
        {"maybe": None},
        {"maybe": "stop"},
        {"several": ["stop", "published"]},
        {"several": ("stop",)},
        {"share": 1},
        {"pair": [0, 1.5]},
        {"many": []},
        {"many": [1, 2, 3]},
        {"table": {"a": "b"}},
        {"batch": 3},
        {"path": "a/b"},
        {"only_for_checkers": "2.5"},
        {"anything": {1}},
        {"q": "x"},
        {"name": Path("a")},
        {"many": np.arange(3)},
        {"side_px": np.int64(3)},
    ],
)
def test_what_fits_is_taken(given):
    assert find_option_error(Takes, given) == ""


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (
            {"rule": "publishd"},
            "rule: expected one of 'stop', 'published'; got 'publishd', did you mean 'published'?",
        ),
        ({"rule": 1}, "rule: expected one of 'stop', 'published'; got 1"),
        ({"rule": None}, "rule: expected one of 'stop', 'published'; got None"),
        ({"maybe": "go"}, "maybe: expected one of 'stop', 'published' or None; got 'go'"),
        (
            {"noted": "stopp"},
            "noted: expected one of 'stop', 'published'; got 'stopp', did you mean 'stop'?",
        ),
        (
            {"several": ["stop", "go"]},
            "several: expected one of 'stop', 'published' or a list, each one of 'stop', 'published'; "
            "got ['stop', 'go']",
        ),
        ({"side_px": "many"}, "side_px: expected a whole number; got 'many'"),
        ({"side_px": 2.5}, "side_px: expected a whole number; got 2.5"),
        ({"side_px": True}, "side_px: expected a whole number; got True"),
        ({"share": "0.5"}, "share: expected a number; got '0.5'"),
        ({"is_open": 1}, "is_open: expected True or False; got 1"),
        ({"name": 3}, "name: expected text; got 3"),
        ({"pair": [1.0]}, "pair: expected a list of 2, each a number; got [1.0]"),
        ({"many": "abc"}, "many: expected a list, each a whole number; got 'abc'"),
        ({"many": ["a"]}, "many: expected a list, each a whole number; got ['a']"),
        ({"table": "a"}, "table: expected a table {key: value} or None; got 'a'"),
        ({"batch": None}, "batch: expected a whole number or text; got None"),
        (
            {"sidepx": 3},
            "got an unexpected keyword argument 'sidepx'; did you mean 'side_px'? it takes rule='stop'",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_expected_and_what_came(given, fault):
    assert find_option_error(Takes, given).startswith(fault)


def test_options_are_shown_as_one_writes_them_and_explained_by_the_docstring():
    assert format_options(Takes).startswith("rule='stop', maybe=None, several='stop'")
    meanings = {option.name: option.meaning for option in options_of(Takes)}
    assert meanings["rule"] == "what happens when all is well."
    assert meanings["side_px"] == "of a square: 3 pixels."
    assert meanings["share"] == ""


@pytest.mark.parametrize(
    ("kind", "written", "message"),
    [
        (
            "segmenter",
            "graph(superpixels='many')",
            "superpixels: expected a whole number; got 'many'",
        ),
        (
            "user",
            "centre(when_solved='publised')",
            "when_solved: expected one of .* did you mean 'published'",
        ),
        (
            "benchmark",
            "davis(metric='J&F')",
            "metric: expected one of 'J', 'F', 'J_AND_F'; got 'J&F'",
        ),
    ],
)
def test_the_registry_refuses_what_does_not_fit_in_one_line(kind, written, message):
    with pytest.raises(PluginInvalid, match=message) as caught:
        build(kind, written)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", plugin_kinds())
def test_the_defaults_of_every_plugin_fit_its_own_annotations(kind):
    for name, factory in plugins_by_name(kind).items():
        for option in options_of(factory):
            assert option.is_required or option.fault(option.default) == "", name


def test_every_option_of_a_benchmark_is_explained():
    for name, factory in plugins_by_name("benchmark").items():
        if factory.__module__.startswith("segarena."):
            assert all(option.meaning for option in options_of(factory)), (
                name,
                inspect.getdoc(factory),
            )


def test_inherited_options_are_explained_where_they_are_declared():
    class Inherits(Takes):
        """Takes the same.

        Args:
            rule: what happens here.
        """

    told = {option.name: option.meaning for option in options_of(Inherits)}
    assert (told["rule"], told["side_px"]) == ("what happens here.", "of a square: 3 pixels.")
