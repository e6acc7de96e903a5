"""`segarena run`: judge a segmenter by a benchmark."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.cli.exits import FAILURES, one_line_errors
from segarena.errors import InvalidInput

BENCHMARK_OPTIONS = ("click_model", "clicks")
"""Options that belong to the benchmark; one that does not take them says so."""

_INTERRUPTED = "stopped; finished samples are kept, and the same command goes on where it was"


def run(
    benchmark: Annotated[
        str | None, typer.Argument(help="Which rules: a name from `segarena list benchmarks`. [default: clicks]")
    ] = None,
    segmenter: Annotated[
        str | None,
        typer.Option("--segmenter", "-s", help="NAME, NAME(option=value, ...) or my_model.py:MyClass."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="Like the segmenter; by default the benchmark's own."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(
            "--user", "-u", help="A simulated user, or NAME=USER; repeat for several. By default the benchmark's own."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="A further metric; repeat for several.")
    ] = None,
    click_model: Annotated[
        str | None,
        typer.Option(help="For rclicks: where people click, from `segarena list click-models`. [default: depth]"),
    ] = None,
    clicks: Annotated[
        Path | None, typer.Option(help="For rclicks: a clicks table, whose first clicks take part.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="The most rounds of a dialogue.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. If it holds this run already, it goes on there."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", "-w", help="Processes to use. [default: 1]")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many samples.")] = None,
    repeats: Annotated[int | None, typer.Option(help="How often each user talks about each target.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of all random choices. [default: 0]")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that one prediction may take before it counts as failed.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Do samples again in which something failed.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A TOML file with the same options; the command line wins.")
    ] = None,
) -> None:
    """Judge a segmenter by a benchmark, and keep every round as a record.

    The run is a folder. Stop it with Ctrl-C (or lose the machine): the same command goes on where it was.

        segarena run clicks --segmenter grabcut --dataset demo --out runs/grabcut

        segarena run clicks -s my_model.py:MyModel -d "folder(path='photos')" -u centre -u uniform -w 2

        segarena run rclicks -s grabcut -d demo --click-model depth --clicks clicks.csv

    Exit code 0: all went well; 1: complete, but some dialogues failed (they are records, the rest is valid);
    2: refused, with one line why; 130: interrupted.
    """
    given = {
        "benchmark": benchmark,
        "segmenter": segmenter,
        "dataset": dataset,
        "users": user,
        "metrics": metric,
        "click_model": click_model,
        "clicks": None if clicks is None else str(clicks),
        "rounds": rounds,
        "out": out,
        "workers": workers,
        "limit": limit,
        "repeats": repeats,
        "seed": seed,
        "time_limit_s": time_limit,
    }
    with one_line_errors(_INTERRUPTED):
        options = {"benchmark": "clicks", **_read_toml(config, tuple(given))}
        options.update({key: value for key, value in given.items() if value is not None})
        failures = run_and_show(retry_failed=retry_failed, **options)
    if failures:
        raise typer.Exit(FAILURES)


def run_and_show(benchmark: str, **options: Any) -> int:
    """Run with a progress bar and print where it lies; return the number of failures."""
    from segarena.cli.progress import RunProgress
    from segarena.engine.evaluate import evaluate
    from segarena.registry import PluginSpec
    from segarena.reports import terminal_table

    if "segmenter" not in options:
        raise InvalidInput("which segmenter? give --segmenter NAME; 'segarena list segmenters' shows what there is")
    console = Console(stderr=True)
    options.setdefault("workers", 1)
    spec = PluginSpec.parse(benchmark)
    own = {name: options.pop(name) for name in BENCHMARK_OPTIONS if name in options}
    benchmark = str(PluginSpec(spec.reference, {**spec.options, **own}))
    with RunProgress(f"{spec.reference} · {options['segmenter']}", console) as progress:
        folder = evaluate(benchmark, on_progress=progress.update, **options)
    Console().print(terminal_table([folder.path]))
    failures = folder.config["counts"]["failures"]
    for user, count in folder.config["counts"].get("targets_without", {}).items():
        console.print(f"user {user} had nothing to say about {count} of {folder.config['counts']['targets']} targets")
    if failures:
        console.print(f"[yellow]failures among the records: {failures}; `segarena report` lists them[/yellow]")
    console.print(f"run: {folder.path}   look at it: segarena report {folder.path}")
    return failures


def _read_toml(file: Path | None, names: tuple[str, ...]) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        options = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"--config {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"--config {file} is not valid TOML: {error}") from error
    for key, value in options.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
            raise InvalidInput(f"--config {file}: unknown option {key!r}; {hint}")
        wanted, is_wanted = _value_of(key, value)
        if not is_wanted:
            raise InvalidInput(f"--config {file}: {key} must be {wanted}, got {value!r}")
    return options


def _value_of(key: str, value: Any) -> tuple[str, bool]:
    """Return what the value of a TOML option has to be, and whether this one is."""
    if key in ("users", "metrics"):
        return 'a list like ["NAME"]', isinstance(value, list) and all(isinstance(inner, str) for inner in value)
    if key in ("benchmark", "segmenter", "dataset", "out", *BENCHMARK_OPTIONS):
        return 'a text like "NAME"', isinstance(value, str)
    if key == "time_limit_s":
        return "a number", type(value) in (int, float)
    return "a whole number", type(value) is int
