"""Options of a run from the command line and from a TOML file, for `segarena run` and `segarena plan`.

Options common to all runs are declared here for both commands. Options of a benchmark are declared
in the signature of its factory; the commands add them once the benchmark is known.
"""

from __future__ import annotations

import functools
import inspect
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args

import typer

from segarena.errors import InvalidInput
from segarena.files.install_cache import read_declarations, write_declarations
from segarena.options import Option, choices, options_of, parse_option, suggest_names
from segarena.plugin_spec import PluginSpec
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.help_format import RARE, HelpCommand, without_conversions
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
_STORED_HELP = "benchmark_options"
"""Name under which the help of the options of installed benchmarks is stored."""
# Typer's exception for invalid command lines, which has no public name.
_UsageError: Any = typer.BadParameter.__base__


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run, named as in `segarena.evaluate`; None if not given."""

    benchmark: Annotated[
        str | None,
        typer.Argument(
            help="Name from `segarena list benchmarks`; its options are listed below. "
            f"[default: {DEFAULT_BENCHMARK}]"
        ),
    ] = None
    segmenter: Annotated[
        str | None,
        typer.Option(
            "--segmenter",
            "-s",
            metavar="NAME",
            help="NAME, NAME(option=value, ...) or my_model.py:MyClass.",
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="TEXT",
            help="Name of the segmenter in reports and boards. [default: its own]",
        ),
    ] = None
    note: Annotated[
        str | None,
        typer.Option(
            "--note",
            metavar="TEXT",
            help="A remark about the run, shown in its report.",
            rich_help_panel=RARE,
        ),
    ] = None
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            metavar="WORD",
            help="A word to sort runs by, shown in the report; repeat for several.",
            rich_help_panel=RARE,
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="NAME",
            help="NAME as above, or a folder. [default: the benchmark's]",
        ),
    ] = None
    users: Annotated[
        list[str] | None,
        typer.Option(
            "--user",
            "-u",
            metavar="USER",
            help="A simulated user, or NAME=USER; repeat for several. [default: the benchmark's]",
        ),
    ] = None
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", metavar="NAME", help="A further metric; repeat for several."
        ),
    ] = None
    rounds: Annotated[int | None, typer.Option(help="Maximum number of rounds per dialogue.")] = (
        None
    )
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", help="Worker processes; 0 starts none. [default: 1]"),
    ] = None
    executor: Annotated[str | None, EXECUTOR_OPTION] = None
    address: Annotated[str | None, ADDRESS_OPTION] = None
    gpus_per_worker: Annotated[float | None, GPUS_OPTION] = None
    limit: Annotated[int | None, typer.Option(help="Only the first N samples.")] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            help="Number of dialogues of each user about each target.",
            rich_help_panel=RARE,
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Random seed. [default: 0]")] = None
    time_limit_s: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            help="Time limit for a prediction, in seconds; slower ones count as failed.",
            rich_help_panel=RARE,
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps image encodings for later runs, if the segmenter supports it.",
            rich_help_panel=RARE,
        ),
    ] = None
    cache_gb: Annotated[
        float | None,
        typer.Option(
            help="Size limit of the folder of `--cache` in GB. [default: 20]",
            rich_help_panel=RARE,
        ),
    ] = None
    prefetch: Annotated[
        int | None,
        typer.Option(
            help="Samples that --workers 0 loads ahead while dialogues run. [default: 2]",
            rich_help_panel=RARE,
        ),
    ] = None
    prefetch_gb: Annotated[
        float | None,
        typer.Option(
            help="Memory limit of these samples in GB. [default: 1]",
            rich_help_panel=RARE,
        ),
    ] = None
    check_plugins: Annotated[
        bool | None,
        typer.Option(
            "--check-plugins",
            help="Detect plug-ins that modify shared arrays; slower.",
            rich_help_panel=RARE,
        ),
    ] = None
    fingerprint: Annotated[
        str | None,
        typer.Option(
            help="Identify data by content, or by names if the disk is slow. [default: content]",
            rich_help_panel=RARE,
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. A run in it is resumed."),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            help="TOML file with these options; the command line wins.",
        ),
    ] = None


class BenchmarkOptionsCommand(HelpCommand):
    """A command that also has the options of the benchmark that its command line names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Find the benchmark, then parse the command line with the options of that benchmark."""
        with one_line_errors():
            benchmark = self._benchmark(ctx, args)
            ctx.meta[_BENCHMARK], clashing = _declared(benchmark, super().get_params(ctx))
            # Set on each call, because the same command object may have parsed a line with another
            # benchmark before.
            self.epilog = "\n\n".join(clashing)
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            unknown = getattr(error, "option_name", None)
            if unknown is None:
                raise
            known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
            if unknown in known:
                with one_line_errors():
                    raise InvalidInput(f"{unknown}: expected a value after it, got none") from error
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
        """Return the benchmark on the command line, or else the one in the configuration file.

        A word after an option counts as its value unless the option is a flag; benchmark options
        are never flags.
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
    """Return whether a word is an option whose value is the next word, unlike in `--seed=1` and `-w2`."""
    return (word.startswith("--") and "=" not in word) or (word.startswith("-") and len(word) == 2)


def with_run_options(
    *, interrupted: str = "stopped", leaves_out: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the first parameter of a command by all options of a run.

    The command receives the options as a dictionary for the library. Its errors are printed as one
    line.

    Args:
        interrupted: the message after an interruption.
        leaves_out: fields of `RunOptions` that the command does not use; a configuration file may still contain them.
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
            run_options = RunOptions(
                **{parameter.name: given.pop(parameter.name) for parameter in shared}
            )
            with one_line_errors(interrupted):
                options = _for_library(run_options, context.meta.get(_TEXTS, {}))
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


def _for_library(run_options: RunOptions, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Merge the options for the library: those of the file, overridden by the command line.

    Raises:
        InvalidInput: the file is invalid, or no segmenter is given.
    """
    given = asdict(run_options)
    for name, value in given.items():
        if isinstance(value, Path):
            given[name] = str(value)
    config = given.pop("config")
    options = {"benchmark": DEFAULT_BENCHMARK, "workers": 1, **_read_toml(config)}
    options.update({name: value for name, value in given.items() if value is not None})
    if "segmenter" not in options:
        raise InvalidInput(
            "no segmenter given; add --segmenter NAME (see 'segarena list segmenters')"
        )
    dataset = options.get("dataset")
    # Imported here, because `--help` does not need the registry.
    from segarena.datasets.dataset_spec import is_folder_of_data

    if isinstance(dataset, str) and is_folder_of_data(dataset):
        # It imports the readers of all layouts.
        from segarena.datasets.folder_detection import detect_dataset

        detected = detect_dataset(Path(dataset).expanduser())
        typer.echo(f"dataset: {detected}", err=True)
        options["dataset"] = str(detected.spec)
    names = ("workers", "executor", "address", "gpus_per_worker")
    worker_options: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    options["workers"] = workers_from_options(**worker_options)
    own = {option.name: option for option in _options_of(str(options["benchmark"]))}
    for name, values in texts.items():
        options[name] = parse_option(own[name], values)
    return options


def _options_of(benchmark: str) -> tuple[Option, ...]:
    # Imported here, because the help of an installed benchmark is stored.
    from segarena.registry import find

    return options_of(find("benchmark", PluginSpec.parse(benchmark).reference))


@dataclass(frozen=True, slots=True)
class _OptionHelp:
    """The help of an option of a benchmark.

    Attributes:
        name: name of the option.
        metavar: its values.
        text: its meaning and default.
    """

    name: str
    metavar: str
    text: str


def _help_of_options(benchmark: str) -> tuple[_OptionHelp, ...]:
    """Return the help of all options of a benchmark, as stored by an earlier process if the benchmark is installed."""
    reference = PluginSpec.parse(benchmark).reference
    stored = read_declarations(_STORED_HELP)
    if not isinstance(stored, dict):
        stored = {}
    # A value of another form was not written by this function.
    with suppress(KeyError, TypeError):
        return tuple(_OptionHelp(*map(str, texts)) for texts in stored[reference])
    found: list[_OptionHelp] = []
    for option in _options_of(benchmark):
        found.append(_OptionHelp(option.name, _metavar(option), _help(option)))
    from segarena.registry import is_installed

    if is_installed("benchmark", reference):
        stored[reference] = [[each.name, each.metavar, each.text] for each in found]
        write_declarations(_STORED_HELP, stored)
    return tuple(found)


def _declared(benchmark: str, known: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the options of a benchmark as parameters, and a help line for each name clash.

    An option that shares its name with a known parameter can only be set in the benchmark itself:
    `davis(metric='J')`.
    """
    taken = {name for parameter in known for name in parameter.opts}
    name = PluginSpec.parse(benchmark).reference
    own = {field.name for field in fields(RunOptions)}
    clashing: list[str] = []

    def keep(
        context: typer.Context,
        parameter: typer.CallbackParam,
        value: list[str] | None,
    ) -> None:
        if value:
            context.meta.setdefault(_TEXTS, {})[parameter.name] = value

    def declare() -> None:
        """Add the options of the benchmark to the signature of the function."""

    declared: list[inspect.Parameter] = []
    for option in _help_of_options(benchmark):
        flag = f"--{option.name.replace('_', '-')}"
        if flag in taken and option.name in own:  # an option of all runs, with the same meaning
            continue
        if flag in taken:
            clashing.append(
                f"With the benchmark, as `{name}({option.name}={option.metavar})`: {option.text}"
            )
            continue
        parameter = typer.Option(
            flag,
            help=option.text,
            metavar=option.metavar,
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
    # Typer annotates the result too generally.
    parameters = list(typer.main.get_command(app).params)  # pyright: ignore[reportAttributeAccessIssue]
    return without_conversions(parameters), clashing


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
    """Read the options in a TOML file, with the types of the command line."""
    if file is None:
        return {}
    try:
        options = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"--config {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
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
    """Return an option whose type excludes None, which stands for "not given"."""
    kinds = [kind for kind in get_args(option.hint) if kind is not NoneType]
    return replace(option, hint=functools.reduce(operator.or_, kinds))
