"""The options that say what to run, for `segarena run` and `segarena plan`; and the same options from a file."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from segarena.errors import InvalidInput

OF_BENCHMARK = ("click_model", "clicks", "prompts", "refine")
"""Options that belong to the benchmark; one that does not take them says so."""

BenchmarkName = Annotated[
    str | None, typer.Argument(help="Which rules: a name from `segarena list benchmarks`. [default: clicks]")
]
SegmenterName = Annotated[
    str | None,
    typer.Option("--segmenter", "-s", help="NAME, NAME(option=value, ...) or my_model.py:MyClass."),
]
DatasetName = Annotated[
    str | None,
    typer.Option("--dataset", "-d", help="Like the segmenter; by default the benchmark's own."),
]
Users = Annotated[
    list[str] | None,
    typer.Option(
        "--user", "-u", help="A simulated user, or NAME=USER; repeat for several. By default the benchmark's own."
    ),
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", "-m", help="A further metric; repeat for several.")]
ClickModel = Annotated[
    str | None,
    typer.Option(help="For rclicks: where people click, from `segarena list click-models`. [default: depth]"),
]
Clicks = Annotated[Path | None, typer.Option(help="For rclicks: a clicks table, whose first clicks take part.")]
Prompts = Annotated[
    list[str] | None,
    typer.Option(help="For radioactive: a scheme of first prompts, such as 3b-inter; repeat for several."),
]
Refine = Annotated[str | None, typer.Option(help="For radioactive: how errors are corrected, such as scribble.")]
Rounds = Annotated[int | None, typer.Option(help="The most rounds of a dialogue.")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", help="Processes to use. [default: 1]")]
Limit = Annotated[int | None, typer.Option(help="Only the first so many samples.")]
Repeats = Annotated[int | None, typer.Option(help="How often each user talks about each target.")]
Seed = Annotated[int | None, typer.Option(help="Of all random choices. [default: 0]")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds that one prediction may take before it counts as failed.")
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Folder where encodings of images are kept for other runs, if the segmenter can."),
]
CacheGb = Annotated[float | None, typer.Option(help="What that folder may take, in GB. [default: 20]")]
Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="A TOML file with the same options; the command line wins.")
]


def gather(config: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the library: those of the file, and over them what the command line gave.

    Args:
        config: the TOML file.
        given: every option by the library's name; None where it was not given.

    Raises:
        InvalidInput: the file cannot be used, or no segmenter is named.
    """
    given = {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
    options = {"benchmark": "clicks", "workers": 1, **_read_toml(config, tuple(given))}
    options.update({key: value for key, value in given.items() if value is not None})
    if "segmenter" not in options:
        raise InvalidInput("which segmenter? give --segmenter NAME; 'segarena list segmenters' shows what there is")
    return options


def with_own(benchmark: str, options: dict[str, Any]) -> str:
    """Return the benchmark as written, with the options that are its own; these are taken out of `options`."""
    from segarena.specs import PluginSpec

    spec = PluginSpec.parse(benchmark)
    own = {name: options.pop(name) for name in OF_BENCHMARK if name in options}
    return str(PluginSpec(spec.reference, {**spec.options, **own}))


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
    if key in ("users", "metrics", "prompts"):
        return 'a list like ["NAME"]', isinstance(value, list) and all(isinstance(inner, str) for inner in value)
    if key in ("benchmark", "segmenter", "dataset", "out", "cache", *OF_BENCHMARK):
        return 'a text like "NAME"', isinstance(value, str)
    if key in ("time_limit_s", "cache_gb"):
        return "a number", type(value) in (int, float)
    return "a whole number", type(value) is int
