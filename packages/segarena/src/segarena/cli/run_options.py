"""Options of a run, for `segarena run` and `segarena plan`, from the command line and from a TOML file.

Options of all runs are declared here for both commands. Options of a benchmark are declared in the
signature of its factory; the command adds them when the benchmark is named.
"""

from __future__ import annotations

import functools
import inspect
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from segarena.errors import InvalidInput
from segarena.options import Option, choices, options_of, parse_option, suggest_names
from segarena.plugin_spec import PluginSpec
from segarena.registry import find
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.worker_options import (
    ADDRESS_OPTION,
    EXECUTOR_OPTION,
    GPUS_OPTION,
    workers_from_options,
)

DEFAULT_BENCHMARK = "clicks"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_TEXTS = "segarena.texts"
_BENCHMARK = "segarena.benchmark"
# The exception of Typer for invalid command lines, which has no public name.
_UsageError: Any = typer.BadParameter.__base__


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run, named as in `segarena.evaluate`; None if not given."""

    benchmark: Annotated[
        str | None,
        typer.Argument(
            help=f"Name from `segarena list benchmarks`. [default: {DEFAULT_BENCHMARK}]"
        ),
    ] = None
    segmenter: Annotated[
        str | None,
        typer.Option(
            "--segmenter", "-s", help="NAME, NAME(option=value, ...) or my_model.py:MyClass."
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", help="Written like the segmenter. [default: that of the benchmark]"
        ),
    ] = None
    users: Annotated[
        list[str] | None,
        typer.Option(
            "--user",
            "-u",
            help="A simulated user, or NAME=USER; repeat for several. [default: those of the benchmark]",
        ),
    ] = None
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A further metric; repeat for several."),
    ] = None
    rounds: Annotated[int | None, typer.Option(help="Maximum number of rounds per dialogue.")] = (
        None
    )
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", "-w", help="Number of processes; 0 runs in this one. [default: 1]"
        ),
    ] = None
    executor: Annotated[str | None, EXECUTOR_OPTION] = None
    address: Annotated[str | None, ADDRESS_OPTION] = None
    gpus_per_worker: Annotated[float | None, GPUS_OPTION] = None
    limit: Annotated[int | None, typer.Option(help="Only the first N samples.")] = None
    repeats: Annotated[
        int | None, typer.Option(help="Number of dialogues of each user about each target.")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Random seed. [default: 0]")] = None
    time_limit_s: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            help="Time limit for a prediction, in seconds; slower ones count as failed.",
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps image encodings for later runs, if the segmenter supports it."
        ),
    ] = None
    cache_gb: Annotated[
        float | None, typer.Option(help="Size limit of that folder in GB. [default: 20]")
    ] = None
    check_plugins: Annotated[
        bool | None,
        typer.Option(
            "--check-plugins",
            help="Detect plug-ins that modify shared arrays; slower.",
        ),
    ] = None
    fingerprint: Annotated[
        str | None,
        typer.Option(
            help="Identify data by content, or by names if the disk is slow. [default: content]"
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder of the run. A run that it already contains is resumed."
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            help="A TOML file with the same options; the command line takes precedence.",
        ),
    ] = None


class BenchmarkOptionsCommand(TyperCommand):
    """A command with the options of the benchmark on its command line, in addition to its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Find the benchmark, then parse the command line with its options."""
        with one_line_errors():
            benchmark = self._benchmark(ctx, args)
            ctx.meta[_BENCHMARK], clashing = _declared(benchmark, super().get_params(ctx))
            # Set each time: the same command object may have parsed a line with another benchmark.
            self.epilog = "\n\n".join(clashing)
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            unknown = getattr(error, "option_name", None)
            if unknown is None:
                raise
            known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
            hint = (
                suggest_names(unknown, known, cutoff=0.7)
                or f"see segarena {ctx.info_name} {benchmark} --help"
            )
            with one_line_errors():
                raise InvalidInput(f"{benchmark} has no option {unknown}; {hint}") from error

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, including those of the benchmark."""
        return [*super().get_params(ctx), *ctx.meta.get(_BENCHMARK, [])]

    def _benchmark(self, ctx: Any, args: Sequence[str]) -> str:
        """Return the benchmark on the command line, or else in its configuration file.

        A word after an option is its value, unless the option is a flag; options of benchmarks are
        never flags.
        """
        flags: set[str] = set()
        for known in super().get_params(ctx):
            if getattr(known, "is_flag", False):
                flags.update(known.opts, known.secondary_opts)
        config = None
        before = ""
        for word in args:
            if before in ("-c", "--config"):
                config = Path(word)
            elif not word.startswith("-") and (before in flags or not _awaits_value(before)):
                return word
            before = word
        return str(_read_toml(config).get("benchmark", DEFAULT_BENCHMARK))


def _awaits_value(word: str) -> bool:
    """Return whether a word is an option without its value, unlike `--seed=1` and `-w2`."""
    return (word.startswith("--") and "=" not in word) or (word.startswith("-") and len(word) == 2)


def with_run_options(
    *, interrupted: str = "stopped", leaves_out: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the first parameter of a command by all options of a run.

    The command receives the options for the library as a dictionary. Its errors become one line.

    Args:
        interrupted: the message after an interruption.
        leaves_out: fields of `RunOptions` that the command does not use; a file may contain them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [
            p
            for p in inspect.signature(RunOptions, eval_str=True).parameters.values()
            if p.name not in leaves_out
        ]
        own = [
            p.replace(kind=_KEYWORD)
            for p in inspect.signature(command, eval_str=True).parameters.values()
        ][1:]
        context = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)

        @wraps(command)
        def call(context: typer.Context, **given: Any) -> None:
            asked = RunOptions(
                **{parameter.name: given.pop(parameter.name) for parameter in shared}
            )
            with one_line_errors(interrupted):
                options = _for_library(asked, context.meta.get(_TEXTS, {}))
                for name in leaves_out:
                    options.pop(name, None)
                command(options, **given)

        signature = inspect.Signature([context, *shared, *own])
        call.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue] -- read by Typer
        call.__annotations__ = {
            parameter.name: parameter.annotation for parameter in signature.parameters.values()
        }
        return call

    return decorate


def _for_library(asked: RunOptions, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the options for the library: those of the file, overridden by the command line.

    Raises:
        InvalidInput: the file is invalid, or there is no segmenter.
    """
    given = asdict(asked)
    for name, value in given.items():
        if isinstance(value, Path):
            given[name] = str(value)
    config = given.pop("config")
    options = {"benchmark": DEFAULT_BENCHMARK, "workers": 1, **_read_toml(config)}
    options.update({name: value for name, value in given.items() if value is not None})
    if "segmenter" not in options:
        raise InvalidInput(
            "which segmenter? give --segmenter NAME; 'segarena list segmenters' shows what there is"
        )
    names = ("workers", "executor", "address", "gpus_per_worker")
    worker_options: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    options["workers"] = workers_from_options(**worker_options)
    own = {option.name: option for option in _options_of(str(options["benchmark"]))}
    for name, values in texts.items():
        options[name] = parse_option(own[name], values)
    return options


def _options_of(benchmark: str) -> tuple[Option, ...]:
    return options_of(find("benchmark", PluginSpec.parse(benchmark).reference))


def _declared(benchmark: str, known: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the options of a benchmark as parameters, and a line of help for each name clash.

    An option with the name of a known parameter can only be given with the benchmark:
    `davis(metric='J')`.
    """
    taken = {name for parameter in known for name in parameter.opts}
    name = PluginSpec.parse(benchmark).reference
    own = {field.name for field in fields(RunOptions)}
    clashing: list[str] = []

    def keep(
        context: typer.Context, parameter: typer.CallbackParam, value: list[str] | None
    ) -> None:
        if value:
            context.meta.setdefault(_TEXTS, {})[parameter.name] = value

    def declare() -> None:
        """Carry the options of the benchmark in its signature."""

    declared: list[inspect.Parameter] = []
    for option in _options_of(benchmark):
        flag = f"--{option.name.replace('_', '-')}"
        if flag in taken and option.name in own:  # an option of all runs, with the same meaning
            continue
        if flag in taken:
            clashing.append(
                f"With the benchmark, as `{name}({option.name}={_metavar(option)})`: {_help(option)}"
            )
            continue
        parameter = typer.Option(
            flag,
            help=_help(option),
            metavar=_metavar(option),
            rich_help_panel=f"Options of {name}",
            callback=keep,
            expose_value=False,
        )
        declared.append(
            inspect.Parameter(
                option.name,
                _KEYWORD,
                annotation=Annotated[list[str] | None, parameter],
                default=None,
            )
        )
    declare.__signature__ = inspect.Signature(declared)  # pyright: ignore[reportFunctionMemberAccess] -- as above
    declare.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    app.command()(declare)
    # Typer's annotation of the result is too general.
    return list(typer.main.get_command(app).params), clashing  # pyright: ignore[reportAttributeAccessIssue]


def _help(option: Option) -> str:
    if option.is_required or option.default is None:
        shown = ""
    else:
        shown = f" [default: {_plain(option.default)}]"
    return f"{option.meaning}{shown}"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _metavar(option: Option) -> str:
    known = [str(choice) for choice in choices(option.hint)]
    return "|".join(known) if known and len("|".join(known)) <= 24 else "VALUE"


def _read_toml(file: str | Path | None) -> dict[str, Any]:
    """Return the options in a TOML file, with the types of the command line."""
    if file is None:
        return {}
    try:
        options = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"--config {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"--config {file} is not valid TOML: {error}") from error
    known = {
        option.name: _given(option) for option in options_of(RunOptions) if option.name != "config"
    }
    own = {
        option.name: option
        for option in _options_of(str(options.get("benchmark", DEFAULT_BENCHMARK)))
    }
    for name, value in options.items():
        option = known.get(name) or own.get(name)
        if option is None:
            names = [*known, *own]
            hint = suggest_names(name, names) or f"known: {', '.join(names)}"
            raise InvalidInput(f"--config {file}: unknown option {name!r}; {hint}")
        if fault := option.fault(value):
            raise InvalidInput(f"--config {file}: {fault}")
    return options


def _given(option: Option) -> Option:
    """Return an option whose type excludes None, which means "not given"."""
    kinds = [kind for kind in get_args(option.hint) if kind is not NoneType]
    return replace(option, hint=functools.reduce(operator.or_, kinds))
