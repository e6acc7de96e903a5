"""Options of a benchmark: declared only in its signature, and available wherever a run can be started."""

import pytest

import segarena as package
from segarena import registry
from segarena.cli.run_options import RunOptions
from segarena.errors import PluginInvalid
from segarena.options import options_of, parse_option
from segarena.registry import build, plugins_by_name

pytestmark = pytest.mark.usefixtures("quick_workers")

STEPS = ("sample-steps", "-s", "sample-disc", "-w", "0")


def options(folder):
    return dict(package.RunFolder.open(folder).config.benchmark.options)


def test_options_of_a_foreign_benchmark_are_those_of_the_command(segarena):
    answer = segarena(
        "run", *STEPS, "-o", "r", "--reach", "0.75", "--looks", "once", "--looks", "twice"
    )
    assert answer.exit_code == 0, answer.output
    assert options("r") == {"reach": 0.75, "looks": ["once", "twice"]}


def test_they_may_stand_before_the_benchmark_and_with_an_equals_sign(segarena):
    answer = segarena("run", "--reach", "1", "--looks=twice", "-w0", *STEPS[:-2], "-o", "r")
    assert answer.exit_code == 0, answer.output
    assert options("r") == {"reach": 1, "looks": ["twice"]}


@pytest.mark.parametrize("command", ["run", "plan"])
def test_help_shows_them_with_the_sentence_of_the_docstring(segarena, command):
    shown = " ".join(segarena(command, "sample-steps", "--help").stdout.split())
    assert "Options of sample-steps" in shown
    assert "--reach" in shown
    assert "how far a look goes. [default: 0.5]" in shown
    assert "once|twice" in shown
    assert "--clicks-dataset" not in shown
    assert shown.count("--rounds") == 1


def test_without_a_name_they_are_those_of_the_default(segarena):
    assert "--stop-at-iou" in segarena("run", "--help").stdout


def test_every_option_of_every_benchmark_is_there_unless_the_command_has_its_name(segarena):
    shared = {option.name for option in options_of(RunOptions)}
    for name, factory in plugins_by_name("benchmark").items():
        shown = segarena("run", name, "--help").stdout
        for option in options_of(factory):
            assert f"--{option.name.replace('_', '-')}" in shown, (name, option.name)
        assert (
            f"Options of {name}" in shown
            or {option.name for option in options_of(factory)} <= shared
        )


def test_a_plan_takes_them(segarena):
    answer = segarena("plan", *STEPS, "--reach", "0.25", "--samples", "1")
    assert answer.exit_code == 0, answer.output


def test_a_file_has_them_and_the_command_line_wins(segarena, tmp_path):
    (tmp_path / "run.toml").write_text(
        'benchmark = "sample-steps"\nsegmenter = "sample-disc"\nworkers = 0\nout = "r"\nreach = 0.1\nlooks = ["twice"]',
        encoding="utf-8",
    )
    answer = segarena("run", "--config", "run.toml", "--reach", "0.9")
    assert answer.exit_code == 0, answer.output
    assert options("r") == {"reach": 0.9, "looks": ["twice"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reach", "far"], "reach: expected a number; got 'far'"),
        (["--reach", "1", "--reach", "2"], "reach: expected a number; got [1, 2]"),
        (["--looks", "twise"], "got 'twise', did you mean 'twice'?"),
        (["--out"], "--out: expected a value after it, got none"),
        (["--raech", "1"], "sample-steps has no option --raech; did you mean '--reach'"),
        (
            ["--click-model", "depth"],
            "sample-steps has no option --click-model; see segarena run sample-steps --help",
        ),
    ],
)
def test_what_does_not_fit_is_refused(segarena, arguments, message):
    answer = segarena("run", *STEPS, *arguments)
    assert answer.exit_code == 2
    assert message in " ".join(answer.output.split())


def test_the_library_takes_them(tmp_path):
    how = {"segmenter": "sample-disc", "dataset": "sample-squares(count=1)"}
    run = package.evaluate("sample-steps", **how, reach=0.2, out=tmp_path / "r")
    assert dict(run.config.benchmark.options) == {"reach": 0.2, "looks": ["once"]}
    sessions = package.sessions(
        "sample-steps",
        name="me",
        dataset=how["dataset"],
        reach=0.2,
        looks="twice",
        out=tmp_path / "s",
    )
    assert [session.user_name for session in sessions] == ["first"]
    assert package.forecast("sample-steps", **how, reach=0.2, timed=1, workers=0).samples == 1
    with pytest.raises(
        PluginInvalid,
        match="unknown option 'raech' for a run of sample-steps; did you mean 'reach'",
    ):
        package.evaluate("sample-steps", **how, raech=0.2)
    with pytest.raises(PluginInvalid, match="reach: benchmark options require a benchmark name"):
        package.evaluate(build("benchmark", "sample-steps"), **how, reach=0.2)


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["3b-inter"], "3b-inter"),
        (["3b-inter", "1-pps"], ["3b-inter", "1-pps"]),
        (["7"], "7"),
    ],
)
def test_text_stays_text_where_text_is_taken(texts, value):
    assert parse_option(option("radioactive", "prompts"), texts) == value


@pytest.mark.parametrize(
    ("name", "texts", "value"),
    [
        ("keeps_prompts", ["false"], False),
        ("keeps_prompts", ["True", "false"], [True, False]),
        ("edge_noise_px", ["5"], 5),
        ("edge_noise_px", ["(0, 3, 5)"], (0, 3, 5)),
        ("edge_noise_px", ["0", "3"], [0, 3]),
        ("rounds", ["none"], None),
        ("refine", ["none"], "none"),
        ("tolerance_mm", ["2"], 2),
        ("tolerance_mm", ["two"], "two"),
    ],
)
def test_other_values_are_read(name, texts, value):
    assert parse_option(option("radioactive", name), texts) == value


def option(benchmark, name):
    return next(
        known for known in options_of(plugins_by_name("benchmark")[benchmark]) if known.name == name
    )


def test_help_is_stored_only_for_plugins_of_installed_packages(monkeypatch):
    monkeypatch.setitem(registry._factories["benchmark"], "of-a-script", lambda: None)
    assert registry.is_installed("benchmark", "clicks")
    assert not registry.is_installed("benchmark", "of-a-script")
    assert not registry.is_installed("benchmark", "no such name")
