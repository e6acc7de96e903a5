"""`segarena login`: keep a token, so that no command and no run needs it."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

from segarena.terminal.exits import one_line_errors


def login(
    server: Annotated[str, typer.Argument(help="Address of the server, or of one of its challenges.")],
    forget: Annotated[bool, typer.Option("--forget", help="Forget the token instead.")] = False,
) -> None:
    """Keep the token that a challenge's server gave you, for `segarena run --challenge`.

    It is asked for without being shown, or read from a pipe, and kept in a file that only you can read. The environment
    variable SEGARENA_TOKEN goes before it.

        segarena login https://lab.example
    """
    from segarena.client.address import read_server
    from segarena.client.connection import Connection
    from segarena.client.tokens import checked, forget_token, keep_token

    with one_line_errors():
        address = read_server(server.partition("/challenges")[0])
        if forget:
            typer.echo(f"{address}: {'forgotten' if forget_token(address) else 'there was no token'}")
            return
        given = typer.prompt("token", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
        with closing(Connection(address, checked(given), patience_s=10.0)) as connection:
            connection.ask("GET", "/challenges")
        typer.echo(f"{address}: the token is right; kept in {keep_token(address, given)}")
