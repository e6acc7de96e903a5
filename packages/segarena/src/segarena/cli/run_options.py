"""The options that say what to run, for `segarena run` and `segarena plan`; and the same options from a file.

Options of every run are declared here, once for both commands. Options of one benchmark are declared in the signature
of its factory and nowhere else: once a benchmark is named, the command has them too.
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
_UsageError: Any = (
    typer.BadParameter.__base__
)  # what Typer raises for a line it cannot read; it has no public name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run, by the names that `segarena.evaluate` gives it; None where nothing was said."""

    benchmark: Annotated[
        str | None,
        typer.Argument(
            help=f"Which rules: a name from `segarena list benchmarks`. [default: {DEFAULT_BENCHMARK}]"
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
        typer.Option("--dataset", "-d", help="Like the segmenter; by default the benchmark's own."),
    ] = None
    users: Annotated[
        list[str] | None,
        typer.Option(
            "--user",
            "-u",
            help="A simulated user, or NAME=USER; repeat for several. By default the benchmark's own.",
        ),
    ] = None
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A further metric; repeat for several."),
    ] = None
    rounds: Annotated[int | None, typer.Option(help="The most rounds of a dialogue.")] = None
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", help="Processes; 0 works in this one. [default: 1]"),
    ] = None
    executor: Annotated[str | None, EXECUTOR_OPTION] = None
    address: Annotated[str | None, ADDRESS_OPTION] = None
    gpus_per_worker: Annotated[float | None, GPUS_OPTION] = None
    limit: Annotated[int | None, typer.Option(help="Only the first N samples.")] = None
    repeats: Annotated[
        int | None, typer.Option(help="Dialogues of each user about each target.")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Of all random choices. [default: 0]")] = None
    time_limit_s: Annotated[
        float | None,
        typer.Option(
            "--time-limit", help="Seconds that one prediction may take before it counts as failed."
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder where encodings of images are kept for other runs, if the segmenter supports it."
        ),
    ] = None
    cache_gb: Annotated[
        float | None, typer.Option(help="The most that folder may take, in GB. [default: 20]")
    ] = None
    check_plugins: Annotated[
        bool | None,
        typer.Option(
            "--check-plugins",
            help="Find plug-ins that write into what others read, and name them; slower.",
        ),
    ] = None
    fingerprint: Annotated[
        str | None,
        typer.Option(
            help="How data are known again: by content, or names on a slow disk. [default: content]"
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder of the run. If it already holds this run, the run resumes."
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
    """A command that has the options of the benchmark named on its line, beside its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Find the benchmark, then read the line with its options."""
        with one_line_errors():
            benchmark = self._benchmark(ctx, args)
            ctx.meta[_BENCHMARK], clashing = _declared(benchmark, super().get_params(ctx))
            self.epilog = "\n\n".join(
                clashing
            )  # of this line's benchmark, whichever the last one was
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
        """Return the parameters, those of the benchmark among them."""
        return [*super().get_params(ctx), *ctx.meta.get(_BENCHMARK, [])]

    def _benchmark(self, ctx: Any, args: Sequence[str]) -> str:
        """Return the benchmark that the line names, or else its file.

        What stands after an option is its value, unless the option is known to take none: all options of benchmarks
        take one.
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
    """Tell whether a word is an option without its value: not `--seed=1`, nor `-w2`."""
    return (word.startswith("--") and "=" not in word) or (word.startswith("-") and len(word) == 2)


def with_run_options(
    *, interrupted: str = "stopped", leaves_out: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command all that says what to run, in place of its first parameter.

    The command is called with the options for the library. What it raises becomes one line.

    Args:
        interrupted: what is said when the command is stopped.
        leaves_out: fields of `Asked` that it has no use for; a file may have them all the same.
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
                command(
                    {name: value for name, value in options.items() if name not in leaves_out},
                    **given,
                )

        signature = inspect.Signature([context, *shared, *own])
        call.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue] -- what Typer reads
        call.__annotations__ = {
            parameter.name: parameter.annotation for parameter in signature.parameters.values()
        }
        return call

    return decorate


def _for_library(asked: RunOptions, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the options for the library: those of the file, and over them what the command line gave.

    Raises:
        InvalidInput: the file cannot be used, or no segmenter is named.
    """
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in asdict(asked).items()
    }
    config = given.pop("config")
    options = {"benchmark": DEFAULT_BENCHMARK, "workers": 1, **_read_toml(config)}
    options.update({name: value for name, value in given.items() if value is not None})
    if "segmenter" not in options:
        raise InvalidInput(
            "which segmenter? give --segmenter NAME; 'segarena list segmenters' shows what there is"
        )
    names = ("workers", "executor", "address", "gpus_per_worker")
    who: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    options["workers"] = workers_from_options(**who)
    own = {option.name: option for option in _options_of(str(options["benchmark"]))}
    return {**options, **{name: parse_option(own[name], said) for name, said in texts.items()}}


def _options_of(benchmark: str) -> tuple[Option, ...]:
    from segarena.registry import find

    return options_of(find("benchmark", PluginSpec.parse(benchmark).reference))


def _declared(benchmark: str, known: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the options of a benchmark as parameters of a command that has those `known`, and a line for each other.

    One whose name the command has already can be given with the benchmark only: `davis(metric='J')`.
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
        """Have the benchmark's options as parameters."""

    declared: list[inspect.Parameter] = []
    for option in _options_of(benchmark):
        flag = f"--{option.name.replace('_', '-')}"
        if flag in taken and option.name in own:  # the command's says the same
            continue
        if flag in taken:
            clashing.append(
                f"With the benchmark, as `{name}({option.name}={_metavar(option)})`: {_help(option)}"
            )
            continue
        told = typer.Option(
            flag,
            help=_help(option),
            metavar=_metavar(option),
            rich_help_panel=f"Options of {name}",
            callback=keep,
            expose_value=False,
        )
        declared.append(
            inspect.Parameter(
                option.name, _KEYWORD, annotation=Annotated[list[str] | None, told], default=None
            )
        )
    declare.__signature__ = inspect.Signature(declared)  # pyright: ignore[reportFunctionMemberAccess] -- as above
    declare.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    app.command()(declare)
    # Typer types what it returns as less than it is.
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
    """Return the options in a file, each of the type that the command line would give it."""
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
            there = [*known, *own]
            raise InvalidInput(
                f"--config {file}: unknown option {name!r}; {suggest_names(name, there) or 'known: ' + ', '.join(there)}"
            )
        if fault := option.fault(value):
            raise InvalidInput(f"--config {file}: {fault}")
    return options


def _given(option: Option) -> Option:
    """Return an option without the None that stands for nothing said."""
    kinds = [kind for kind in get_args(option.hint) if kind is not NoneType]
    return replace(option, hint=functools.reduce(operator.or_, kinds))
