"""Command-line options for workers, shared by all commands that run work in parallel."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.help_format import RARE
from segarena.work.jobs import Workers

EXECUTORS = ("local", "ray")

WORKERS_OPTION = typer.Option("--workers", "-w", min=0, help="Worker processes; 0 starts none.")
EXECUTOR_OPTION = typer.Option(
    "--executor",
    metavar="|".join(EXECUTORS),
    help="Run processes on this machine or on Ray. [default: local]",
    rich_help_panel=RARE,
)
ADDRESS_OPTION = typer.Option(
    "--address",
    metavar="HOST:PORT",
    help="Address of the Ray cluster, or auto. [default: a new cluster on this machine]",
    rich_help_panel=RARE,
)
GPUS_OPTION = typer.Option(
    "--gpus-per-worker",
    help="GPUs of each process on Ray; 0.5 lets two processes share one. [default: 0]",
    rich_help_panel=RARE,
)
ShareOption = Annotated[
    bool,
    typer.Option(
        "--share",
        help="Share the work with all processes, on any host, that run this command with the same --out.",
        rich_help_panel=RARE,
    ),
]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def workers_from_options(
    workers: int,
    executor: str | None = None,
    address: str | None = None,
    gpus_per_worker: float | None = None,
) -> Workers:
    """Return the number of processes, or the executor, that the options describe.

    Raises:
        InvalidInput: the options are inconsistent, or the executor is unknown.
        MissingExtra: Ray is not installed.
    """
    if executor not in (None, *EXECUTORS):
        raise InvalidInput(f"--executor {executor}: expected {' or '.join(EXECUTORS)}")
    if executor == "ray":
        # Imported here, because it imports the pools of all executors.
        from segarena.work.cluster.executor import Ray

        return Ray(workers, address or "", gpus_per_worker or 0.0)
    # With `local`, which overrides a configuration file, they are ignored.
    if executor is None and (address is not None or gpus_per_worker is not None):
        raise InvalidInput(
            "--address and --gpus-per-worker apply only to Ray; give --executor ray too"
        )
    return workers


def with_worker_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `workers` of a command by all worker options."""
    parameters = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def call(**given: Any) -> None:
        names = ("workers", "executor", "address", "gpus_per_worker")
        options = {name: given.pop(name) for name in names}
        with one_line_errors():
            workers = workers_from_options(**options)
        command(workers=workers, **given)

    def own(
        name: str,
        annotation: Any,
        default: Any = None,
    ) -> inspect.Parameter:
        return inspect.Parameter(name, _KEYWORD, annotation=annotation, default=default)

    declared: list[inspect.Parameter] = []
    for parameter in parameters.values():
        if parameter.name != "workers":
            declared.append(parameter.replace(kind=_KEYWORD))
            continue
        declared += [
            own("workers", Annotated[int, WORKERS_OPTION], parameter.default),
            own("executor", Annotated[str | None, EXECUTOR_OPTION]),
            own("address", Annotated[str | None, ADDRESS_OPTION]),
            own("gpus_per_worker", Annotated[float | None, GPUS_OPTION]),
        ]
    call.__signature__ = inspect.Signature(declared)  # pyright: ignore[reportAttributeAccessIssue] -- read by Typer
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    return call
