"""The options that say who does the work, declared once for every command that can share it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import one_line_errors
from segarena.work.cluster.executor import Ray
from segarena.work.jobs import Workers

EXECUTORS = ("local", "ray")

WORKERS = typer.Option("--workers", "-w", min=0, help="Processes; 0 works in this one.")
EXECUTOR = typer.Option(
    "--executor",
    metavar="|".join(EXECUTORS),
    help="Where they are: on this machine, or on Ray. [default: local]",
)
ADDRESS = typer.Option(
    "--address",
    metavar="HOST:PORT",
    help="Of the cluster of Ray, or auto; without it one starts on this machine.",
)
GPUS = typer.Option(
    "--gpus-per-worker", help="What each has on Ray: 0.5 lets two share a GPU. [default: 0]"
)
Share = Annotated[
    bool,
    typer.Option(
        "--share",
        help="Divide the work among all processes, of any hosts, that have this command and --out.",
    ),
]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def workers_of(
    workers: int,
    executor: str | None = None,
    address: str | None = None,
    gpus_per_worker: float | None = None,
) -> Workers:
    """Return who does the work, as the options say.

    Raises:
        InvalidInput: options that do not go together, or no such executor.
        MissingExtra: Ray is not installed.
    """
    if executor not in (None, *EXECUTORS):
        raise InvalidInput(f"--executor {executor}: expected {' or '.join(EXECUTORS)}")
    if executor == "ray":
        return Ray(workers, address or "", gpus_per_worker or 0.0)
    if executor is None and (address is not None or gpus_per_worker is not None):
        raise InvalidInput("--address and --gpus-per-worker are about Ray; give --executor ray too")
    return workers


def takes_workers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all that says who does the work, in place of its parameter `workers`."""
    parameters = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def call(**given: Any) -> None:
        told = {
            name: given.pop(name) for name in ("workers", "executor", "address", "gpus_per_worker")
        }
        with one_line_errors():
            workers = workers_of(**told)
        command(workers=workers, **given)

    def own(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
        return inspect.Parameter(name, _KEYWORD, annotation=annotation, default=default)

    declared: list[inspect.Parameter] = []
    for parameter in parameters.values():
        if parameter.name != "workers":
            declared.append(parameter.replace(kind=_KEYWORD))
            continue
        declared += [
            own("workers", Annotated[int, WORKERS], parameter.default),
            own("executor", Annotated[str | None, EXECUTOR]),
            own("address", Annotated[str | None, ADDRESS]),
            own("gpus_per_worker", Annotated[float | None, GPUS]),
        ]
    call.__signature__ = inspect.Signature(declared)  # pyright: ignore[reportAttributeAccessIssue] -- what Typer reads
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    return call
