"""Worker processes forked from a process that has imported everything, because imports take each over a second.

Spawned processes with their own imports are tested in `tests/work`, and with each server that a
test starts as a command.
"""

import multiprocessing
import os
from contextlib import contextmanager

import pytest

from segarena.registry import plugin_kinds, plugins_by_name
from segarena.work import worker_handle, worker_process


@contextmanager
def workers_are_forked():
    """Fork worker processes of this one within the block."""
    plugins = {
        factory.__module__ for kind in plugin_kinds() for factory in plugins_by_name(kind).values()
    }
    ours = sorted(name for name in plugins if name.startswith("segarena."))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [*ours, "segarena_server.extensions.job_kinds", "segarena_server.challenges.evaluator"]
    )
    first = context.Process(target=int)  # no test waits for the imports
    first.start()
    first.join()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_handle, "multiprocessing", _Forking(context))
        yield


class _Forking:
    """The part of `multiprocessing` that `segarena.work.worker_handle` uses."""

    def __init__(self, context):
        self._context = context

    def get_context(self, _):
        return self

    def __getattr__(self, name):
        return getattr(self._context, name)

    def Process(self, *, target, args, daemon):
        assert target is worker_process.run_worker
        return self._context.Process(
            target=live, args=(dict(os.environ), os.getpid(), *args), daemon=daemon
        )


def live(environment, parent_id, *args):
    """Behave like a spawned process, with the current environment instead of that of the first fork."""
    os.environ.clear()
    os.environ.update(environment)
    forking = os.getppid()
    worker_process.die_with = lambda said: die_with(forking if said == parent_id else said)
    worker_process.run_worker(*args)


die_with = worker_process.die_with
