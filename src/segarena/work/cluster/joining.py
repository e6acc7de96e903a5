"""Connecting to a cluster of Ray, or to one of this machine that lasts as long as the work."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from segarena.errors import InvalidInput, WorkersInvalid

HERE = "auto"
"""The address of the cluster that this machine is a node of."""

_ANSWER_S = 5.0
_STORE_BYTES = 100 << 20
"""For what Ray keeps in memory of a cluster of this machine: results, which are small."""

_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)
"""How a conversation over HTTP/2 begins, with an empty frame of settings. Who speaks it answers with settings too."""


@contextmanager
def joined(address: str, workers: int) -> Generator[Any]:
    """Give the module `ray`, connected while the block runs; a connection that the program has already is kept.

    Args:
        address: of the cluster, "host:port" or "auto"; "" starts one on this machine, which others cannot reach.
        workers: for how many that one has room.

    Raises:
        WorkersInvalid: no cluster answers there, or it refuses this program.
    """
    if address:
        _check_answer(address)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is reported to anybody
    if not address:
        # Read when Ray is imported: a cluster of this machine then listens on its loopback address alone.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray: Any = importlib.import_module("ray")
    if ray.is_initialized():
        yield ray
        return
    own = {"address": address} if address else _cluster_of_this_machine(workers)
    with _signals_as_they_are():
        try:
            ray.init(**own, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            where = f"at {address}" if address else "on this machine"
            raise WorkersInvalid(f"no cluster of Ray to be had {where}: {' '.join(str(error).split())}") from error
    # What Ray says of workers that die would stand among our own lines, on stdout; it is in its logs too.
    ray._private.worker.print_to_stdstream = _say_nothing
    try:
        yield ray
    finally:
        ray.shutdown()


def check_address(address: str) -> None:
    """Refuse what is no address of a cluster.

    Raises:
        InvalidInput: it is neither "host:port" nor "auto".
    """
    host, _, port = address.rpartition(":")
    if address != HERE and not (host and port.isdecimal() and "/" not in address):
        raise InvalidInput(f"address of a cluster: expected host:port or {HERE}, got {address!r}")


def _cluster_of_this_machine(workers: int) -> dict[str, Any]:
    # No dashboard: whoever reaches it may run anything.
    room = {"num_cpus": workers, "object_store_memory": _STORE_BYTES}
    return {"address": "local", "include_dashboard": False, **room}


def _check_answer(address: str) -> None:
    """Refuse an address where nobody speaks as Ray does; Ray itself would wait for most of a minute."""
    if address == HERE:
        return
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S) as connection:
            connection.settimeout(_ANSWER_S)
            connection.sendall(_HELLO)
            heard = connection.recv(9)
    except OSError as error:
        why = error.strerror or "no answer"
        raise WorkersInvalid(f"no cluster of Ray answers at {address} ({why}); {_HOW}") from error
    if heard[3:4] != b"\4":
        raise WorkersInvalid(f"what answers at {address} is no cluster of Ray; {_HOW}")


_HOW = "start one with `ray start --head`, which says its address, or leave --address out to use this machine alone"


def _say_nothing(*_: Any, **__: Any) -> None:
    pass


@contextmanager
def _signals_as_they_are() -> Generator[None]:
    """Undo that Ray takes SIGTERM, which ends our work as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
