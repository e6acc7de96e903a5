"""Benches measure what the test suite cannot; these tests check that they still run with the package."""

import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parent.parent / "benches"


@pytest.fixture
def benches(monkeypatch):
    """Make benches importable in the way in which they import each other."""
    monkeypatch.syspath_prepend(str(BENCHES))
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if (
            getattr(sys.modules[name], "__file__", None)
            and Path(sys.modules[name].__file__).parent == BENCHES
        ):
            del sys.modules[name]


@pytest.mark.parametrize("bench", sorted(path.stem for path in BENCHES.glob("*.py")))
def test_every_bench_can_be_imported(bench, benches):
    assert __import__(bench).main


def test_what_a_bench_switches_off_exists(benches):
    from trust_costs import OFF, UNVERIFIED

    for switch in (*OFF.values(), UNVERIFIED):
        for module, name in switch:
            assert callable(getattr(module, name))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_runs_that_are_made_up_are_whole(benches, tmp_path, one_by_one):
    from run_folder import ROUNDS, write_run

    folder = write_run(tmp_path / "run", 7, users=2, one_by_one=one_by_one)
    assert folder.pending() == []
    assert folder.records().height == 7 * 2 * ROUNDS


def test_the_same_photograph_is_the_same_work_under_each_name(benches, tmp_path):
    from engine import equal_work

    from segarena.registry import build

    dataset = build("dataset", equal_work(tmp_path / "equal", 3))
    first, *others = (dataset.load(name) for name in dataset.sample_ids)
    assert len(others) == 2
    assert all((other.image == first.image).all() for other in others)
    assert all((other.targets[0].mask == first.targets[0].mask).all() for other in others)
