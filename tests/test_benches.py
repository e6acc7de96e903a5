"""Benches measure what the test suite cannot; these tests check that they still run with the package."""

import json
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parent.parent / "benches"
NAMES = sorted(path.stem for path in BENCHES.glob("*.py"))
QUICK = ("coco_rle", "stroke_features")
"""Benches that take about a second with `--quick`."""


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


@pytest.mark.parametrize("bench", NAMES)
def test_every_bench_can_be_imported_and_declares_its_bars(bench, benches):
    module = __import__(bench)
    from measurement import Bar
    from run_all import bench_names

    assert bench == "measurement" or module.main
    if bench in bench_names():
        assert module.BARS
        assert all(isinstance(bar, Bar) for bar in module.BARS.values())


def test_all_benches_together_are_estimated_at_25_minutes_at_most(benches):
    from run_all import ESTIMATES_S, bench_names

    assert sorted(ESTIMATES_S) == bench_names()
    assert sum(ESTIMATES_S.values()) <= 25 * 60


def test_recorded_figures_are_declared_and_their_bars_tell(benches):
    from run_all import bench_names, read_recorded

    recorded = read_recorded()
    assert set(recorded) <= set(bench_names())
    for bench, figures in recorded.items():
        bars = __import__(bench).BARS
        assert set(figures) <= set(bars), bench
        for name, value in figures.items():
            bar = bars[name]
            # An exact limit, such as no difference at all, may equal its figure.
            if bar.limit is None or abs(bar.limit) <= 1e-6:
                continue
            slack = value / bar.limit if bar.is_minimum else bar.limit / value
            assert slack <= 2, f"{bench}, {name}: the limit {bar} says little about {value}"


def test_only_processor_time_is_measured_unless_the_docstring_says_why():
    for path in BENCHES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        docstring = " ".join(text.split('"""')[1].split())
        if "perf_counter" in text or "monotonic" in text:
            assert "wall time" in docstring, path.name


@pytest.mark.parametrize(
    ("limit", "is_minimum", "value", "holds"),
    [
        (2, False, 2, True),
        (2, False, 2.1, False),
        (2, True, 2, True),
        (2, True, 1.9, False),
        (None, False, 1e9, True),
    ],
)
def test_a_bar_is_the_largest_or_the_smallest_value(benches, limit, is_minimum, value, holds):
    from measurement import Bar

    assert Bar(limit, is_minimum=is_minimum).holds(value) == holds


def test_a_figure_that_was_never_reported_is_missed(benches, capsys):
    from measurement import Figures, at_most

    figures = Figures({"one": at_most(2), "two": at_most(2)})
    figures.report("one", 1)
    with pytest.raises(SystemExit) as end:
        figures.finish()
    assert end.value.code == 1
    assert "missed: two" in capsys.readouterr().out


def test_other_sizes_have_no_bars(benches):
    from measurement import Figures, at_most

    figures = Figures({"one": at_most(2), "two": at_most(2)}, has_bars=False)
    figures.report("one", 100)
    with pytest.raises(SystemExit) as end:
        figures.finish()
    assert end.value.code == 0


def test_the_ratio_is_that_of_alternating_pairs(benches):
    from measurement import paired_time

    now = 0.0
    calls = []

    def spend(name, seconds):
        nonlocal now
        # The machine slows down with every call.
        now += seconds * (1 + len(calls) // 2)
        calls.append(name)

    times = paired_time(
        lambda: spend("ours", 1), lambda: spend("baseline", 4), 5, clock=lambda: now
    )
    assert times.ratio == 0.25
    assert calls[:4] == ["ours", "baseline", "baseline", "ours"]


def test_the_processor_time_of_a_command_is_that_of_its_process(benches):
    from measurement import run_command

    assert 0 < run_command([sys.executable, "-c", "sum(range(10**6))"]) < 20
    with pytest.raises(SystemExit, match="no such thing"):
        run_command([sys.executable, "-c", "raise SystemExit('no such thing')"])


def write_bench(folder, monkeypatch, text):
    """Write a bench into a folder, and let `run_all` look for benches there."""
    import run_all

    path = f"import sys; sys.path.insert(0, {str(BENCHES)!r})\n"
    (folder / "bench.py").write_text(path + text)
    monkeypatch.setattr(run_all, "HERE", folder)
    return run_all


@pytest.mark.long
def test_the_table_has_a_row_for_each_figure_and_its_ratio(benches, tmp_path, monkeypatch, capsys):
    text = """
from measurement import Figures, at_least, at_most, no_bar
figures = Figures({"a": at_most(2), "b": at_least(5), "c": no_bar("MB")})
figures.report("a", 1)
figures.report("b", 4)
figures.report("c", 7)
figures.finish()
"""
    run_all = write_bench(tmp_path, monkeypatch, text)
    result = run_all.run_bench("bench")
    assert (result.has_failed, result.is_held, result.missed) == (False, False, ["b"])
    run_all.print_table([result], {"bench": {"a": 2.0}})
    rows = capsys.readouterr().out.splitlines()
    by_figure = {row.split()[1]: row.split()[2:] for row in rows if row.startswith("bench ")}
    assert by_figure["a"] == ["1", "<=", "2", "held", "0.50"]
    assert by_figure["b"] == ["4", ">=", "5", "MISSED"]
    assert by_figure["c"] == ["7", "MB"]


@pytest.mark.long
@pytest.mark.parametrize(
    "end",
    ["raise ValueError('crashed')", "figures.finish()"],
    ids=["crashed", "without a figure"],
)
def test_a_bench_that_crashes_or_leaves_out_a_figure_has_failed(
    benches, tmp_path, monkeypatch, capsys, end
):
    text = f"""
from measurement import Figures, at_most
figures = Figures({{"a": at_most(2), "b": at_most(2)}})
figures.report("a", 1)
{end}
"""
    run_all = write_bench(tmp_path, monkeypatch, text)
    result = run_all.run_bench("bench")
    assert result.has_failed
    run_all.print_table([result], {})
    assert "bench                failed" in capsys.readouterr().out
    run_all.write_recorded([result], tmp_path / "recorded.json")
    assert json.loads((tmp_path / "recorded.json").read_text()) == {}


def test_a_record_replaces_only_the_benches_that_ran(benches, tmp_path):
    from run_all import BenchResult, read_recorded, write_recorded

    file = tmp_path / "recorded.json"
    file.write_text('{"old": {"a": 1.0}, "bench": {"a": 1.0}}')
    line = {"figure": "a", "value": 3.0, "compared": 2.34567}
    write_recorded([BenchResult("bench", [line], is_finished=True)], file)
    assert read_recorded(file) == {"old": {"a": 1.0}, "bench": {"a": 2.346}}


@pytest.mark.parametrize("bench", QUICK)
def test_a_quick_bench_reports_its_figures(benches, bench):
    from run_all import run_bench

    result = run_bench(bench, is_quick=True)
    assert result.is_held
    assert result.lines


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


def test_seconds_are_compared_as_those_of_the_reference_machine(benches, monkeypatch, tmp_path):
    import measurement

    monkeypatch.setenv(measurement.FIGURES_FILE, str(tmp_path / "figures.jsonl"))
    monkeypatch.setattr(measurement, "slowdown", lambda: 2.0)
    bars = {
        "quick": measurement.at_most(4, "ms"),
        "slow": measurement.at_most(4, "ms"),
        "ratio": measurement.at_most(4),
    }
    figures = measurement.Figures(bars)
    figures.report("quick", 8)
    figures.report("slow", 9)
    figures.report("ratio", 5)
    assert figures.missed() == ["slow", "ratio"]
    lines = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    assert [line["compared"] for line in lines] == [4, 4.5, 5]


def test_a_machine_is_never_faster_than_the_reference_machine(benches, monkeypatch):
    import measurement

    monkeypatch.setattr(measurement, "seconds_of", lambda work: 0.001)
    assert measurement.slowdown() == 1.0
    monkeypatch.setattr(measurement, "seconds_of", lambda work: 0.036)
    assert measurement.slowdown() == pytest.approx(3)
