"""Connection to a Ray cluster: an existing one, or one that runs on this machine only during the work."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput, WorkersInvalid

THIS_NODE = "auto"
"""Address that denotes the cluster on this machine."""

_ANSWER_S = 5.0
_STORE_BYTES = 100 << 20
"""Bytes of the object store of a local cluster, which only stores results, and these are small."""

_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)
"""HTTP/2 connection preface with an empty SETTINGS frame; a server answers with SETTINGS as well (RFC 9113)."""


@contextmanager
def connect_ray(address: str, workers: int) -> Generator[Any]:
    """Yield the connected module `ray`; disconnect after the block, unless the program was connected before.

    Args:
        address: address of the cluster, "host:port" or "auto"; "" starts one on this machine,
            unreachable for others.
        workers: number of CPUs of a cluster on this machine.

    Raises:
        WorkersInvalid: no cluster answers at the address, or it rejects this program.
    """
    # By default, Ray reports usage statistics to its developers.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray reads the next two variables on import.
    if not address:
        # With 0, a local cluster listens only on its loopback address.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    elif _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    ray: Any = importlib.import_module("ray")
    if address:
        own = {"address": _answering(address, ray)}
    else:
        own = _cluster_of_this_machine(workers)
    if ray.is_initialized():
        connected = ray.get_runtime_context().gcs_address
        if address and own["address"] != connected:
            raise WorkersInvalid(
                f"this program is connected to the Ray cluster at {connected}, not at {address}"
            )
        yield ray
        return
    # Ray would intercept SIGTERM, which stops a job like Ctrl-C, and duplicate its logs on stdout.
    ray._private.utils.set_sigterm_handler = ray._private.worker.print_to_stdstream = _do_nothing
    try:
        with _without_stderr():
            ray.init(**own, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = f"at {address}" if address else "on this machine"
        raise WorkersInvalid(f"no Ray cluster is available {where}: {_why(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def check_address(address: str) -> None:
    """Validate the address of a cluster.

    Raises:
        InvalidInput: the address is neither "host:port" nor "auto".
    """
    host, _, port = address.rpartition(":")
    if address != THIS_NODE and not (host and port.isdecimal() and "/" not in address):
        raise InvalidInput(f"cluster address: expected host:port or {THIS_NODE}, got {address!r}")


def _cluster_of_this_machine(workers: int) -> dict[str, Any]:
    # Start without the dashboard, which would let anyone who reaches it run code.
    room = {"num_cpus": workers, "object_store_memory": _STORE_BYTES}
    return {"address": "local", "include_dashboard": False, **room}


def _has_token() -> bool:
    """Return whether Ray will find an authentication token."""
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    return named or (Path.home() / ".ray" / "auth_token").is_file()


def _why(error: BaseException) -> str:
    """Return the message of an error's root cause, in one line."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    text = " ".join(str(error).split())
    if "AuthToken" in text or "Unauthenticated" in text:
        return "it requires a token; set RAY_AUTH_TOKEN, or put it into ~/.ray/auth_token, as on its other nodes"
    return text


def _answering(address: str, ray: Any) -> str:
    """Resolve "auto", check that a Ray server answers at the address, and return the address.

    Without this check, Ray itself would wait for a minute.
    """
    found = ray._private.services.canonicalize_bootstrap_address(address)
    if found is None:
        raise WorkersInvalid(f"this machine is not a node of a Ray cluster; {_HOW}")
    host, _, port = found.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S) as connection:
            connection.settimeout(_ANSWER_S)
            connection.sendall(_HELLO)
            # A frame header has 9 bytes, of which the fourth is the type; 4 means SETTINGS.
            header = connection.recv(9)
    except OSError as error:
        why = error.strerror or "no answer"
        raise WorkersInvalid(f"no Ray cluster answers at {found} ({why}); {_HOW}") from error
    if header[3:4] != b"\4":
        raise WorkersInvalid(f"the server at {found} is not a Ray cluster; {_HOW}")
    return found


_HOW = "start one with `ray start --head`, which prints its address, or omit --address to use only this machine"


def _do_nothing(*_: Any, **__: Any) -> None:
    pass


@contextmanager
def _without_stderr() -> Generator[None]:
    """Hide the messages of Ray's compiled code about each connection attempt; failures still raise errors."""
    sys.stderr.flush()
    before = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(null)
