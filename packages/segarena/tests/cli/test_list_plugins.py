"""`segarena list`."""

import pytest

from segarena.registry import plugin_kinds, plugins_by_name


@pytest.mark.parametrize("kind", plugin_kinds())
@pytest.mark.parametrize("ending", ["", "s"])
def test_a_kind_lists_its_plugins_and_no_others(segarena, kind, ending):
    answer = segarena("list", kind + ending)
    assert answer.exit_code == 0
    titles = [
        line.strip()
        for line in answer.stdout.splitlines()
        if line.strip() in {f"{k}s" for k in plugin_kinds()}
    ]
    assert titles == [f"{kind}s"]
    listed = {
        line.split()[0] for line in answer.stdout.splitlines() if line and not line.startswith(" ")
    }
    assert set(plugins_by_name(kind)) <= listed


def test_without_a_kind_all_are_listed(segarena):
    listed = {
        line.split()[0]
        for line in segarena("list").stdout.splitlines()
        if line and not line.startswith(" ")
    }
    for kind in plugin_kinds():
        assert {f"{kind}s", *plugins_by_name(kind)} <= listed


def test_options_are_shown_with_their_defaults(segarena):
    assert "radius_px=10" in segarena("list", "segmenters").stdout
    assert "when_solved='stop'" in segarena("list", "users").stdout


def test_an_unknown_kind_is_refused_with_the_known_ones(refused):
    assert refused("list", "models") == (
        "error: unknown kind 'models'; expected one of segmenters, users, metrics, datasets, benchmarks, "
        "click-models, statistics, tables, demos"
    )
