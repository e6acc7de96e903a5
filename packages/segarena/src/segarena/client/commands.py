"""The commands `segarena login`, `segarena join`, `segarena fetch` and `segarena submit`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from segarena.client.address import Address, read_address, read_server
from segarena.client.challenge_server_api import AdmissionInfo, Server, SubmissionInfo
from segarena.client.connection import Connection
from segarena.client.sample_download import download_samples
from segarena.client.submission import detect_kind, send_submission
from segarena.client.tokens import clean_token, forget_token, store_token, token_for
from segarena.errors import InvalidInput
from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import FAILURES, one_line_errors

# Submissions wait in a queue, so this can take much longer than an evaluation.
_LONGEST_WAIT_S = 24 * 3600.0


def login(
    server: Annotated[
        str, typer.Argument(help="Address of the server, or of one of its challenges.")
    ],
    forget: Annotated[bool, typer.Option("--forget", help="Delete the stored token.")] = False,
) -> None:
    """Store your token for a challenge server.

    The command prompts for it without echo, or reads it from a pipe, and stores it in a file that only you can
    read. The environment variable SEGARENA_TOKEN takes precedence.

        segarena login https://lab.example
    """
    with one_line_errors():
        address = read_server(server.partition("/challenges")[0])
        if forget:
            had_token = forget_token(address)
            outcome = "forgotten" if had_token else "there was no token"
            typer.echo(f"{address}: {outcome}")
            return
        if sys.stdin.isatty():
            token = typer.prompt("token", hide_input=True)
        else:
            token = sys.stdin.readline()
        with closing(Connection(address, clean_token(token), patience_s=10.0)) as connection:
            connection.ask("GET", "/challenges")
        file = store_token(address, token)
        typer.echo(f"{address}: the token is valid; stored in {file}")


def join(
    challenge: Annotated[str, typer.Argument(help="https://host/challenges/NAME.")],
    accept: Annotated[
        int | None, typer.Option(help="Accept this version of the terms without a question.")
    ] = None,
    message: Annotated[
        str, typer.Option(help="Who you are and why you want to take part, for the organisers.")
    ] = "",
) -> None:
    """Accept the terms of a challenge and, if required, ask its organisers to approve your team.

    The command prints the terms and asks whether you accept them. Steps that are already done are
    skipped, so you can repeat the command to see the state of your request. Exit code 1: you cannot
    take part yet.

        segarena join https://lab.example/challenges/spring
    """
    with one_line_errors():
        address = read_address(challenge)
        with closing(Connection(address.server, token_for(address.server))) as connection:
            server = Server(connection)
            admission = _accepted(server, address, accept)
            is_asked = admission.request in ("waiting", "approved")
            if admission.needs_approval and not is_asked:
                if admission.request == "declined":
                    typer.echo(f"your earlier request was declined: {admission.reason}")
                admission = server.ask_to_join(address.slug, message)
    if admission.needs_approval and admission.request != "approved":
        typer.echo(
            f"{address}: the organisers have your request; repeat this command to see their decision"
        )
        raise typer.Exit(FAILURES)
    typer.echo(f"{address}: you can take part")


def _accepted(
    server: Server,
    address: Address,
    version: int | None,
) -> AdmissionInfo:
    """Let the participant accept the terms, if there are any; return the admission afterwards.

    Raises:
        InvalidInput: nobody can be asked, because the input is not a terminal, or the participant declines.
    """
    admission = server.admission(address.slug)
    terms = admission.terms
    if terms is None or terms.is_accepted:
        return admission
    if version is None:
        typer.echo(f"{terms.text}\n")
        how = f"segarena join {address} --accept {terms.version}"
        if not sys.stdin.isatty():
            raise InvalidInput(f"terms: to accept version {terms.version}, shown above: {how}")
        if not typer.confirm(f"Do you accept these terms (version {terms.version})?"):
            raise InvalidInput(
                f"terms: not accepted, so you cannot take part; to accept them later: {how}"
            )
        version = terms.version
    # The server refuses any version but the one in force.
    return server.accept_terms(address.slug, version)


def fetch(
    challenge: Annotated[
        str,
        typer.Argument(help="https://host/challenges/NAME, or with /PHASE if several are open."),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="New folder, or the folder of an earlier fetch.")
    ],
    segmenter: Annotated[
        str, typer.Option("--segmenter", "-s", help="Name of your segmenter for the leaderboard.")
    ] = "",
) -> None:
    """Download the samples of a challenge phase that accepts masks, with their first prompts.

        segarena fetch https://lab.example/challenges/spring --out mine
        my_program mine
        segarena submit https://lab.example/challenges/spring mine/masks

    This starts a run. Images and frames are PNG files, volumes are npz files; prompts.json contains
    the prompts of each dialogue. Write one mask per dialogue to mine/masks: KEY/0.png for an image,
    KEY/0.npz for a volume (one array), KEY/0/00000.png and so on for the frames of a video. In a
    mask, 0 is background and 1 the object; several objects have the values 1, 2, and so on.
    """
    from rich.console import Console

    with (
        one_line_errors("stopped; repeat the command to resume"),
        Console(stderr=True).status("connecting") as status,
    ):
        run = download_samples(
            challenge,
            out,
            segmenter=segmenter,
            on_sample=lambda done, total: status.update(f"{done} of {total} samples"),
        )
    if run.unranked:
        typer.secho(
            f"this run will not be ranked, because it is {run.unranked}", fg="yellow", err=True
        )
    masks = sum(len(sample.dialogues) for sample in run.places)
    typer.echo(
        f"{out}: {count_text(len(run.places), 'sample')}; write {count_text(masks, 'mask')} to {out / 'masks'}"
    )
    typer.echo(f"next: segarena submit {run.address} {out / 'masks'}")


def submit(
    challenge: Annotated[
        str,
        typer.Argument(help="https://host/challenges/NAME, or with /PHASE if several are open."),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder of masks, a run folder, or a worker (a .py file, a folder or a zip)."
        ),
    ],
    kind: Annotated[
        str, typer.Option(help="masks, run or worker. [default: detected from the path]")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the run. [default: name of the path]")] = "",
    segmenter: Annotated[
        str, typer.Option("--segmenter", "-s", help="Name of your segmenter for the leaderboard.")
    ] = "",
    note: Annotated[str, typer.Option(help="A private note.")] = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the evaluation.")] = True,
) -> None:
    """Submit masks, a run or a program to a challenge server.

        segarena submit https://lab.example/challenges/spring/final my_worker.py
        segarena submit https://lab.example/challenges/spring/offline mine/masks
        segarena submit https://lab.example/challenges/spring/practice runs/mine

    The server runs a worker (docs/workers.md) without network access; a zip file or folder has
    worker.py at its top level. Masks answer the samples that `segarena fetch` downloaded. The
    server evaluates the masks of a run folder again.

    The server checks a submission first: it reports all problems at once, and a rejected submission
    does not count as a run. Exit code 1: rejected, or the check failed. If you repeat the command,
    it waits for the same submission; with another --name it submits again.
    """
    with one_line_errors("stopped waiting; the server still evaluates the submission"):
        chosen = kind or detect_kind(path)
        if chosen not in ("masks", "run", "worker"):
            raise InvalidInput(f"--kind: expected masks, run or worker, got {kind}")
        submission = send_submission(
            challenge,
            path,
            kind=chosen,
            name=name,
            segmenter=segmenter,
            note=note,
            wait_s=_LONGEST_WAIT_S if wait else 0.0,
            on_change=lambda info: typer.echo(_state_text(info)),
            on_notice=lambda line: typer.secho(line, fg="yellow", err=True),
        )
    for fault in submission.faults:
        typer.secho(f"  {fault}", fg="red", err=True)
    for line in submission.standing:
        typer.echo(line)
    if submission.state in ("refused", "dead"):
        raise typer.Exit(FAILURES)


def _state_text(submission: SubmissionInfo) -> str:
    if submission.state == "refused":
        return f"{submission.id}: rejected; it does not count as a run. Problems:"
    if submission.state == "dead":
        return f"{submission.id}: the check failed; it does not count as a run"
    if submission.run_state == "over":
        state = "judged"
    elif submission.run:
        state = f"accepted as run {submission.run}"
    else:
        state = "received"
    queue = submission.queue
    waiting = ""
    if queue:
        waiting = f"; {queue.phase}, {queue.place} ahead of it, about {queue.estimate_s:.0f} s"
    return f"{submission.id}: {state}{waiting}"
