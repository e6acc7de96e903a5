"""What participants type beside `segarena run --challenge`: keep a token, fetch samples, send what is judged there."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from segarena.client.address import read_server
from segarena.client.connection import Connection
from segarena.client.sample_download import fetch as fetched
from segarena.client.server import SubmissionInfo
from segarena.client.submission import kind_of
from segarena.client.submission import submit as sent
from segarena.client.tokens import checked, forget_token, keep_token
from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import FAILURES, one_line_errors


def login(
    server: Annotated[
        str, typer.Argument(help="Address of the server, or of one of its challenges.")
    ],
    forget: Annotated[bool, typer.Option("--forget", help="Forget the token instead.")] = False,
) -> None:
    """Store your token for a challenge server.

    It is asked for without being shown, or read from a pipe, and kept in a file that only you can read. The environment
    variable SEGARENA_TOKEN goes before it.

        segarena login https://lab.example
    """
    with one_line_errors():
        address = read_server(server.partition("/challenges")[0])
        if forget:
            typer.echo(
                f"{address}: {'forgotten' if forget_token(address) else 'there was no token'}"
            )
            return
        if sys.stdin.isatty():
            given = typer.prompt("token", hide_input=True)
        else:
            given = sys.stdin.readline()
        with closing(Connection(address, checked(given), patience_s=10.0)) as connection:
            connection.ask("GET", "/challenges")
        typer.echo(f"{address}: the token is right; kept in {keep_token(address, given)}")


def fetch(
    challenge: Annotated[
        str,
        typer.Argument(help="https://host/challenges/NAME, with /PHASE where several are open."),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new folder, or one that was fetched into.")],
    segmenter: Annotated[
        str, typer.Option("--segmenter", "-s", help="What will answer, for the board.")
    ] = "",
) -> None:
    """Download the samples of a challenge phase that takes masks, with their first prompts.

        segarena fetch https://lab.example/challenges/spring --out mine
        my_program mine
        segarena submit https://lab.example/challenges/spring mine/masks

    A run begins with it. Images and frames are PNG, volumes npz; prompts.json says what is asked about each sample.
    For each dialogue a mask is wanted in mine/masks: KEY/0.png of an image, KEY/0.npz of a volume (one array), a file
    KEY/0/00000.png for each frame of a video; 0 outside and 1 inside, or of several objects their numbers.
    """
    from rich.console import Console

    with (
        one_line_errors("stopped; the same command goes on"),
        Console(stderr=True).status("asking") as status,
    ):
        run = fetched(
            challenge,
            out,
            segmenter=segmenter,
            on_sample=lambda done, of: status.update(f"{done} of {of} samples"),
        )
    masks = sum(len(place.dialogues) for place in run.places)
    typer.echo(f"{out}: {len(run.places)} samples; {masks} masks are wanted in {out / 'masks'}")
    typer.echo(f"next: segarena submit {run.address} {out / 'masks'}")


def submit(
    challenge: Annotated[
        str,
        typer.Argument(help="https://host/challenges/NAME, with /PHASE where several are open."),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder of masks, the folder of a run, a worker's .py file, or its folder or zip."
        ),
    ],
    kind: Annotated[
        str, typer.Option(help="masks, run or worker. [default: as the path looks]")
    ] = "",
    name: Annotated[str, typer.Option(help="Of the run. [default: that of the path]")] = "",
    segmenter: Annotated[
        str, typer.Option("--segmenter", "-s", help="What it is made with, for the board.")
    ] = "",
    note: Annotated[str, typer.Option(help="For yourself.")] = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is judged.")] = True,
) -> None:
    """Submit masks, a run or a program to a challenge server.

        segarena submit https://lab.example/challenges/spring/final my_worker.py
        segarena submit https://lab.example/challenges/spring/offline mine/masks
        segarena submit https://lab.example/challenges/spring/practice runs/mine

    A worker (docs/workers.md) is started there without a network and holds the dialogues that it would hold here; a
    zip or folder of it has worker.py at its top. Masks are for the samples of segarena fetch. A run's masks are judged
    again.

    It is looked at before it counts: what is wrong with it is told at once, all of it, and costs no run. Exit code 1:
    it was refused. The same command again goes on waiting; another --name sends the same once more.
    """
    with one_line_errors("stopped waiting; it is judged all the same"):
        chosen = kind or kind_of(path)
        if chosen not in ("masks", "run", "worker"):
            raise InvalidInput(f"--kind: expected masks, run or worker, got {kind}")
        told = sent(
            challenge, path, kind=chosen, name=name, segmenter=segmenter, note=note,
            wait_s=24 * 3600.0 if wait else 0.0, on_told=lambda told: typer.echo(_stands(told)),
        )  # fmt: skip
    for fault in told.faults:
        typer.secho(f"  {fault}", fg="red", err=True)
    for line in told.standing:
        typer.echo(line)
    if told.state in ("refused", "dead"):
        raise typer.Exit(FAILURES)


def _stands(told: SubmissionInfo) -> str:
    if told.state == "refused":
        return f"{told.id}: refused; nothing was counted. What is wrong:"
    if told.state == "dead":
        return f"{told.id}: it could not be looked at; nothing was counted"
    if told.run_state == "over":
        state = "judged"
    else:
        state = f"taken as run {told.run}" if told.run else "received"
    queue = told.queue
    if queue:
        where = f"; {queue.phase}, {queue.place} before it, about {queue.estimate_s:.0f} s"
    else:
        where = ""
    return f"{told.id}: {state}{where}"
